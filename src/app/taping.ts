/**
 * `holdfast run --record FILE`: wiring of engine, tape and file. Decided here: a recording is worth less than the daemon, so
 * that one which cannot be made, or has to end, is a line in the log and nothing else. Refuses to know lines.
 */
import { messageOf } from '../base/message-of.ts'
import type { Config } from '../config/config.ts'
import { Daemon, type DaemonPorts } from '../daemon/daemon.ts'
import { Recorder } from '../daemon/telemetry/recorder.ts'
import type { RecordingFile } from '../recording/recording-file.ts'
import type { OrderedDaemon } from '../recording/taped-daemon.ts'
import { VERSION } from './version.ts'

/** For what waits when the daemon has left. */
const LAST_LINES = 1_000

export type RecordOrder = {
  readonly path: string
  /** Octets. */
  readonly limit: number
}

/** How an engine is made, whether or not it is recorded. */
export type Taping = {
  /** Of the engine, and of all who log or write into its journal. */
  readonly recorder: Recorder
  made(config: Config, ports: DaemonPorts): OrderedDaemon
  /** The engine has left: resolves when that is written, or soon. */
  finish(): Promise<void>
  /** It ends with a bug: what waits is written before this returns. */
  writeNow(): void
}

/** Never rejects. What cannot be recorded is logged. */
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
  const onEnd = (words: string) => {
    tape.off()
    recorder.log('warn', words, { recording: path })
  }
  return {
    recorder,
    // Not before: a start that is refused must not put the recording of the life before it aside.
    made(config, ports) {
      try {
        file = RecordingFile.open({ ...order, version: VERSION, onEnd })
      } catch (error) {
        tape.off()
        const why = messageOf(error)
        recorder.log('error', `${why}; the daemon runs without a recording`, { recording: path })
        return untaped(recorder).made(config, ports)
      }
      recorder.log('info', `Records in ${path} what the engine is told and does`, { recording: path })
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
