/**
 * Writes the engine's log records to standard output. Writing is asynchronous and bounded (docs/architecture.md): a
 * slow reader loses log lines, which are counted, but never delays the engine. The module is loaded when the engine
 * already runs. Level and format may change at any time.
 */
import type { Config } from '../../config/config.ts'
import type { Recorder } from '../../daemon/telemetry/recorder.ts'
import { LEVELS } from './log-format.ts'
import { LogLines } from './log-lines.ts'
import { LogOutput } from './log-output.ts'

const FLUSH_LIMIT = 200

/** Log settings of the configuration. Without `format`, the descriptor decides the format. */
export type LogSettings = Config['log']
export type Log = {
  set(settings: LogSettings): void
  flush(): Promise<void>
}

/** Returns pino's number of the lowest log level that is written. */
const leastOf = ({ level }: LogSettings): number => (level === 'trace' ? 0 : LEVELS[level].pino)

export function attachLog(recorder: Recorder, settings: LogSettings, descriptor = 1): Log {
  const output = new LogOutput(descriptor, () => {
    recorder.lost++
  })
  const lines = new LogLines('holdfast', output, descriptor)
  let least = 0
  const set = (next: LogSettings) => {
    least = leastOf(next)
    lines.setFormat(next.format)
  }
  set(settings)
  // The first log line takes a millisecond, because code is compiled.
  recorder.attach((record) => {
    if (LEVELS[record.level].pino >= least) lines.write(record)
  })
  return {
    set,
    flush: () => {
      recorder.flush()
      return output.flush(FLUSH_LIMIT)
    },
  }
}
