/**
 * Log records as JSON lines on standard output, by pino. Asynchronous and bounded (design.md §2): a reader that stops
 * costs log lines, which are counted, never the engine's time. Loaded after the engine runs.
 */
import { pino } from 'pino'
import type { LogRecord, Recorder } from '../daemon/recorder.ts'

/** About a thousand lines. */
const MOST_BUFFERED = 256 * 1024
const FLUSH_LIMIT = 200

export type Log = { flush(): Promise<void> }

export function attachLog(recorder: Recorder, level: string): Log {
  const destination = pino.destination({ fd: 1, sync: false, maxLength: MOST_BUFFERED })
  destination.on('drop', () => {
    recorder.lost++
  })
  // EPIPE and the like: whoever read the log is gone; the daemon is not.
  destination.on('error', () => {
    recorder.lost++
  })
  const logger = pino({ level, base: { name: 'holdfast', pid: process.pid }, timestamp: false }, destination)
  recorder.attach(({ time, level: at, message, fields }: LogRecord) => logger[at]({ time, ...fields }, message))
  return {
    flush: () =>
      new Promise((resolve) => {
        const timer = setTimeout(resolve, FLUSH_LIMIT)
        destination.flush(() => {
          clearTimeout(timer)
          resolve()
        })
      }),
  }
}
