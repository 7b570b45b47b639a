/**
 * The engine's log records as lines on standard output. Asynchronous and bounded (docs/architecture.md): a reader that stops
 * costs log lines, which are counted, never the engine's time. Loaded after the engine runs. Level and format may change at
 * any time.
 */
import type { Config } from '../../config/config.ts'
import type { Recorder } from '../../daemon/telemetry/recorder.ts'
import { LEVELS } from './log-format.ts'
import { LogLines } from './log-lines.ts'
import { LogOutput } from './log-output.ts'

const FLUSH_LIMIT = 200

/** As in the configuration. No `format`: the one that fits the descriptor. */
export type LogSettings = Config['log']
export type Log = {
  set(settings: LogSettings): void
  flush(): Promise<void>
}

/** Returns the number of pino's below which no record is written. */
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
  // A line takes a millisecond the first time.
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
