/**
 * Log records as JSON lines on standard output, by pino. Asynchronous and bounded (docs/architecture.md): a reader that stops
 * costs log lines, which are counted, never the engine's time. Loaded after the engine runs.
 */
import { pino } from 'pino'
import type { Recorder } from '../../daemon/telemetry/recorder.ts'
import { LogOutput } from './log-output.ts'

const FLUSH_LIMIT = 200

export type Log = { flush(): Promise<void> }

export function attachLog(recorder: Recorder, level: string, descriptor = 1): Log {
  const output = new LogOutput(descriptor, () => {
    recorder.lost++
  })
  const logger = pino({ level, base: { name: 'holdfast', pid: process.pid }, timestamp: false }, output)
  // A line takes a millisecond the first time.
  recorder.attach(({ time, level: at, message, fields }) => logger[at]({ time, ...fields }, message))
  return {
    flush: () => {
      recorder.flush()
      return output.flush(FLUSH_LIMIT)
    },
  }
}
