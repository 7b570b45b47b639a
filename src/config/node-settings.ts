/**
 * Settings of the command line that replace keys of the configuration. Such settings are needed if another program
 * hands over the configuration and does not know the paths of this node (docs/adr/0051). A setting of the command line
 * always replaces the key of the configuration.
 */
import type { ApiOverride } from './api-options.ts'
import { type Config, inRunDirectory } from './config.ts'

export type NodeSettings = {
  readonly runDirectory?: string | undefined
  readonly api?: ApiOverride | undefined
}

/**
 * Returns the configuration with the settings of the command line. Paths in the former run directory move to the new
 * run directory.
 */
export function withSettings(config: Config, { runDirectory = config.runDirectory, api }: NodeSettings): Config {
  const [before, after] = [inRunDirectory(config.runDirectory), inRunDirectory(runDirectory)]
  const { socket } = config.api
  const { file } = config.journal
  return {
    ...config,
    runDirectory,
    api: { ...config.api, socket: socket === before.socket ? after.socket : socket, ...api },
    journal: { ...config.journal, file: file === before.journal ? after.journal : file },
  }
}
