/**
 * Settings of the command line that replace keys of the configuration. They are used where another program hands over
 * the configuration and does not know the paths of this node (docs/adr/0051). The command line wins, whatever the
 * configuration says. This file does not know which command it was.
 */
import type { ApiOverride } from './api-options.ts'
import { type Config, inRunDirectory } from './config.ts'

export type NodeSettings = {
  readonly runDirectory?: string | undefined
  readonly api?: ApiOverride | undefined
}

/**
 * Returns the configuration with these settings. Paths in the run directory of the configuration move to the new one.
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
