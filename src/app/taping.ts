/**
 * `holdfast run --record FILE`: connects the engine, the tape and the file. This file decides that a recording must not
 * disturb the daemon. If it cannot be made or must end, that is only logged. The format of its lines is in
 * src/recording.
 */
import { messageOf } from '../base/message-of.ts'
import type { Config } from '../config/config.ts'
import { Daemon, type DaemonPorts } from '../daemon/daemon.ts'
import { Recorder } from '../daemon/telemetry/recorder.ts'
import { LOG } from '../log/log.ts'
import type { RecordingFile } from '../recording/recording-file.ts'
import type { OrderedDaemon } from '../recording/taped-daemon.ts'
import { VERSION } from './version.ts'

/** Milliseconds for writing the last lines when the daemon has stopped. */
const LAST_LINES = 1_000

export type RecordOrder = {
  readonly path: string
  /** Size at which the recording ends, in octets. */
  readonly limit: number
}

/** Makes an engine, with or without a recording. */
export type Taping = {
  /** Recorder of the engine and of all parts that log or write events. */
  readonly recorder: Recorder
  made(config: Config, ports: DaemonPorts): OrderedDaemon
  /** Ends the recording. Resolves when its last line is written, or after a short time. */
  finish(): Promise<void>
  /** Writes the buffered lines of the recording before this call returns. Used when the engine ends with a bug. */
  writeNow(): void
}

/** Returns how to make the engine. Never rejects; a recording that cannot be made is logged. */
export async function taping(order: RecordOrder | undefined): Promise<Taping> {
  if (order === undefined) return untaped(new Recorder())
  const { path } = order
  const [{ RecordingFile }, { Tape }, { tapedDaemon }] = await Promise.all([
    import('../recording/recording-file.ts'),
    import('../recording/tape.ts'),
    import('../recording/taped-daemon.ts'),
  ])
  let file: RecordingFile | undefined
  const tape = new Tape((line) => file?.write(line))
  const recorder = tape.recorder()
  const onEnd = (text: string) => {
    tape.off()
    recorder.log(LOG.recordingEnded, text, { recording: path })
  }
  return {
    recorder,
    // The file is opened late: a refused start must not replace the recording of the run before.
    made(config, ports) {
      try {
        file = RecordingFile.open({ ...order, version: VERSION, onEnd })
      } catch (error) {
        tape.off()
        const why = messageOf(error)
        recorder.log(LOG.recordingNotStarted, `${why}; the daemon runs without a recording`, { recording: path })
        return untaped(recorder).made(config, ports)
      }
      recorder.log(LOG.recordingStarted, `Recording inputs and outputs of the engine in ${path}`, { recording: path })
      return tapedDaemon(tape, config, ports)
    },
    async finish() {
      tape.end('the daemon has left')
      await file?.finish(LAST_LINES)
    },
    writeNow: () => file?.writeNow(),
  }
}

const untaped = (recorder: Recorder): Taping => ({
  recorder,
  made(config, ports) {
    const daemon = new Daemon(config, ports)
    return { daemon, orders: daemon }
  },
  finish: () => Promise.resolve(),
  writeNow: () => {},
})
