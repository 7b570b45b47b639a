/**
 * Opens the parts of a daemon that the first advertisement does not need, when the engine already runs: the log, the
 * journal file, the control socket, the HTTP port, keepalived's files and socket, and the rehearsal. This file decides
 * the order of opening. A part that cannot be opened does not stop the engine.
 */
import { LOG } from '../log/log.ts'
import type { EngineProcess } from './compose.ts'
import type { Memory } from './configuration/managed.ts'
import { type Listeners, openListeners } from './listeners.ts'
import type { Log } from './log/log.ts'
import { startRehearsal } from './rehearsal.ts'

export type Facilities = { readonly log: Log; readonly listeners: Listeners }

/** Opens all these parts. `memory` is set if the configuration is handed over to this engine. */
export async function openFacilities(engine: EngineProcess, memory: Memory | undefined): Promise<Facilities> {
  const { compatibility, config, daemon, guardian, journal, live, recorder } = engine
  const { attachLog } = await import('./log/log.ts')
  const log = attachLog(recorder, daemon.config.log)
  live.onApplied((inForce) => log.set(inForce.log))
  journal.open(config.journal, guardian.restart?.inherited?.isUpgrade === true)
  const listeners = await openListeners(config.api, engine, memory !== undefined)
  live.begin()
  await compatibility?.open()
  startRehearsal(recorder, () => {
    recorder.log(LOG.rehearsed, 'Loaded and rehearsed')
    daemon.warm()
  })
  return { log, listeners }
}
