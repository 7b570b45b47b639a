/**
 * What whoever starts a daemon has settled for it, where its configuration is handed to it by somebody who does not know
 * where its sockets are (docs/adr/0051). Decided here: the command line counts, whatever the configuration says. Pure.
 * Refuses to know which command it was.
 */
import type { ApiOverride } from './api-options.ts'
import { type Config, inRunDirectory } from './config.ts'

export type NodeSettings = {
  readonly runDirectory?: string | undefined
  readonly api?: ApiOverride | undefined
}

/** What the configuration puts into its own run directory moves with it. */
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
