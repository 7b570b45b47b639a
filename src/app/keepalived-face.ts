/**
 * What a daemon that runs from keepalived's file does besides, because those around it expect a keepalived: the dumps on
 * SIGUSR1 and SIGUSR2, the files with its pids, the socket that takes `reload` and `stop` (docs/adr/0030). Nothing in
 * here may stop the engine or keep it waiting: what does not work is a line in the log. Refuses to know the words of a
 * dump, and what a reload is.
 */
import { statSync } from 'node:fs'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import type { Server, Socket } from 'node:net'
import { dirname, join } from 'node:path'
import type { Recorder } from '../daemon/telemetry/recorder.ts'
import type { ControlPeer } from '../files/private-socket.ts'
import type { DumpKind, DumpOrder } from '../keepalived/dump.ts'
import type { ReloadAnswer } from './live-configuration.ts'

export type FaceOptions = {
  /** Of the process that takes the signals, and of the engine. */
  readonly pidFile: string | undefined
  readonly vrrpPidFile: string | undefined
  readonly socket: string | undefined
}

export type FacePorts = {
  readonly recorder: Recorder
  readonly dump: (order: DumpOrder) => Promise<void>
  readonly dumped: () => DumpOrder['dumped']
  readonly reload: (trigger: string) => Promise<ReloadAnswer>
  readonly standDown: (trigger: string) => Promise<void>
  readonly peerOf: (socket: Socket) => ControlPeer | undefined
  readonly onRefused: () => void
  /** Who takes the signals: the guardian, or ourselves without one. */
  readonly pid: number
}

const SOCKET = "keepalived's socket"

export class KeepalivedFace {
  readonly #options: FaceOptions
  readonly #ports: FacePorts
  readonly #folder: string
  readonly #dumps = new Map<DumpKind, { again: boolean }>()
  readonly #written: { readonly file: string; readonly text: string }[] = []
  #server: Server | undefined
  #turn: Promise<unknown> = Promise.resolve()

  /** `folder`: where the dumps go; keepalived puts them where TMPDIR says. */
  constructor(options: FaceOptions, ports: FacePorts, folder = process.env.TMPDIR ?? '/tmp') {
    this.#options = options
    this.#ports = ports
    this.#folder = folder
  }

  /** One at a time; whoever asks while one is written gets the next, which is as new as his question. */
  dump(kind: DumpKind): void {
    const running = this.#dumps.get(kind)
    if (running !== undefined) {
      running.again = true
      return
    }
    const turn = { again: false }
    this.#dumps.set(kind, turn)
    void this.#dumpOnce(kind).then(() => {
      this.#dumps.delete(kind)
      if (turn.again) this.dump(kind)
    })
  }

  async #dumpOnce(kind: DumpKind): Promise<void> {
    const { recorder, dump, dumped } = this.#ports
    const file = join(this.#folder, `keepalived.${kind}`)
    try {
      await dump({ kind, file, dumped: dumped() })
      recorder.log('debug', `Wrote ${file}`, { file })
    } catch (error) {
      recorder.logLimited(`dump ${file}`, 'error', wordsOf(error), { file })
    }
  }

  /** Ends a stop, whoever asks for it. */
  reload(trigger: string): Promise<ReloadAnswer> {
    const { socket } = this.#options
    const { reload } = this.#ports
    if (socket === undefined) return reload(trigger)
    return this.#inTurn(async () => {
      await rm(markOf(socket), { force: true }).catch((error) => this.#tell(error))
      return reload(trigger)
    })
  }

  async open(): Promise<void> {
    const { pidFile, vrrpPidFile, socket } = this.#options
    await this.#writePid(pidFile, this.#ports.pid)
    await this.#writePid(vrrpPidFile, process.pid)
    if (socket === undefined) return
    const { recorder, peerOf, onRefused } = this.#ports
    try {
      const { openKeepalivedSocket } = await import('../keepalived/socket.ts')
      this.#server = await openKeepalivedSocket(socket, {
        peerOf,
        onCommand: (command) => void (command === 'reload' ? this.reload(`${SOCKET}: reload`) : this.#stop(socket)),
        onRefused: (peer) => {
          onRefused()
          const who = peer === undefined ? 'somebody unknown' : `the user ${peer.uid} (pid ${peer.pid})`
          recorder.logLimited(`${SOCKET} ${peer?.uid}`, 'warn', `Refused ${who} at ${SOCKET}`, { ...peer })
        },
        onProblem: (message) => recorder.logLimited(message, 'warn', message, { socket }),
      })
      recorder.log('info', `${SOCKET} is ${socket}: it takes reload and stop`, { socket })
    } catch (error) {
      recorder.log('error', wordsOf(error), { socket })
    }
  }

  /** A pid that stays behind may be somebody else's tomorrow. */
  async close(): Promise<void> {
    this.#server?.close()
    for (const { file, text } of this.#written) {
      try {
        // The next daemon may have written its own.
        if ((await readFile(file, 'utf8')) === text) await rm(file)
      } catch {
        // It is gone: that was the purpose.
      }
    }
  }

  /** In the order in which they were said: each of them is about one file. */
  #inTurn<T>(order: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(order)
    this.#turn = turn.catch(() => {})
    return turn
  }

  /** The container is started again when its process ends, and must know then that it is not to take the addresses. */
  #stop(socket: string): Promise<void> {
    return this.#inTurn(async () => {
      await writeFile(markOf(socket), `${SOCKET}: stop\n`, { mode: 0o644 }).catch((error) => this.#tell(error))
      await this.#ports.standDown(`${SOCKET}: stop`)
    })
  }

  async #writePid(file: string | undefined, pid: number): Promise<void> {
    if (file === undefined) return
    const text = `${pid}\n`
    try {
      await mkdir(dirname(file), { recursive: true })
      // What an earlier life left, or a link that somebody has put there, is not written through.
      await rm(file, { force: true })
      await writeFile(file, text, { mode: 0o644, flag: 'wx' })
      this.#written.push({ file, text })
    } catch (error) {
      this.#tell(error)
    }
  }

  #tell(error: unknown): void {
    this.#ports.recorder.log('warn', wordsOf(error))
  }
}

/** Where the pod's own script writes that it was stopped, and looks for it. */
const markOf = (socket: string): string => join(dirname(socket), 'stopped')

/** An earlier life was stopped over this socket, and nobody has said reload since. */
export function wasStopped(socket: string | undefined): boolean {
  try {
    return socket !== undefined && statSync(markOf(socket)).size > 0
  } catch {
    return false
  }
}

const wordsOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
