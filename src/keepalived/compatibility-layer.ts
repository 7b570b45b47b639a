/**
 * keepalived's interfaces to the programs around it, for a daemon that runs from keepalived's file: the dumps on
 * SIGUSR1 and SIGUSR2, the pid files, the socket that takes `reload` and `stop` (docs/adr/0030). No function here stops
 * the engine or makes it wait: a failure causes a log line. The text of a dump is made in dump.ts, the socket is in
 * socket.ts, and the caller reloads.
 */

import { statSync } from 'node:fs'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import type { Server, Socket } from 'node:net'
import { dirname, join } from 'node:path'
import { messageOf } from '../base/message-of.ts'
import type { Recorder } from '../daemon/telemetry/recorder.ts'
import type { ControlPeer } from '../files/private-socket.ts'
import { LOG } from '../log/log.ts'
import type { DumpKind, DumpOrder } from './dump.ts'

export type CompatibilityOptions = {
  /** Path of the file with the process id of the process that takes the signals; `undefined`: no file. */
  readonly pidFile: string | undefined
  /** Path of the file with the process id of the engine; `undefined`: no file. */
  readonly vrrpPidFile: string | undefined
  /** Path of keepalived's command socket. `undefined`: no socket is opened. */
  readonly socket: string | undefined
}

/** Functions of the daemon. `Answer` is the type of the answer to a reload, which is passed through. */
export type CompatibilityPorts<Answer> = {
  readonly recorder: Pick<Recorder, 'log' | 'logLimited'>
  readonly dump: (order: DumpOrder) => Promise<void>
  readonly dumped: () => DumpOrder['dumped']
  readonly reload: (trigger: string) => Promise<Answer>
  /** Releases every address until the next reload. */
  readonly standDown: (trigger: string) => Promise<void>
  readonly peerOf: (socket: Socket) => ControlPeer | undefined
  /** Called when a client of the socket without permission was refused. */
  readonly onRefused: () => void
  /** Process id of the process that takes the signals: the guardian, or the engine without a guardian. */
  readonly pid: number
}

const SOCKET = "keepalived's socket"

export class CompatibilityLayer<Answer> {
  readonly #options: CompatibilityOptions
  readonly #ports: CompatibilityPorts<Answer>
  readonly #folder: string
  readonly #dumps = new Map<DumpKind, { again: boolean }>()
  readonly #written: { readonly file: string; readonly text: string }[] = []
  #server: Server | undefined
  #turn: Promise<unknown> = Promise.resolve()

  /** Creates the compatibility layer. `folder` is the folder of the dumps; keepalived writes them into TMPDIR. */
  constructor(options: CompatibilityOptions, ports: CompatibilityPorts<Answer>, folder = process.env.TMPDIR ?? '/tmp') {
    this.#options = options
    this.#ports = ports
    this.#folder = folder
  }

  /**
   * Writes one dump of a kind at a time. A request during a dump causes one more dump, so the data is newer than the
   * request.
   */
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
      recorder.log(LOG.dumpWritten, `Wrote ${file}`, { file })
    } catch (error) {
      recorder.logLimited(`dump ${file}`, LOG.dumpNotWritten, messageOf(error), { file })
    }
  }

  /**
   * Reloads the configuration. A reload also ends an earlier stop, even if it was not requested over keepalived's
   * socket.
   */
  reload(trigger: string): Promise<Answer> {
    const { socket } = this.#options
    const { reload } = this.#ports
    if (socket === undefined) return reload(trigger)
    return this.#inTurn(async () => {
      await rm(markOf(socket), { force: true }).catch((error) => this.#warn(error))
      return reload(trigger)
    })
  }

  /** Writes the pid files and opens the socket. Never rejects. */
  async open(): Promise<void> {
    const { pidFile, vrrpPidFile, socket } = this.#options
    await this.#writePid(pidFile, this.#ports.pid)
    await this.#writePid(vrrpPidFile, process.pid)
    if (socket === undefined) return
    const { recorder, peerOf, onRefused } = this.#ports
    try {
      const { openKeepalivedSocket } = await import('./socket.ts')
      this.#server = await openKeepalivedSocket(socket, {
        peerOf,
        onCommand: (command) => void (command === 'reload' ? this.reload(`${SOCKET}: reload`) : this.#stop(socket)),
        onRefused: (peer) => {
          onRefused()
          const who = peer === undefined ? 'a client of unknown user' : `user ${peer.uid} (pid ${peer.pid})`
          recorder.logLimited(`${SOCKET} ${peer?.uid}`, LOG.keepalivedClientRefused, `Refused ${who} on ${SOCKET}`, {
            ...peer,
          })
        },
        onProblem: (message) => recorder.logLimited(message, LOG.keepalivedSocketProblem, message, { socket }),
      })
      recorder.log(LOG.keepalivedSocketOpened, `${SOCKET} is ${socket}: it accepts reload and stop`, { socket })
    } catch (error) {
      recorder.log(LOG.keepalivedSocketNotOpened, messageOf(error), { socket })
    }
  }

  /**
   * Closes the socket and removes the pid files, because after the end of the daemon another process may get the same
   * pid.
   */
  async close(): Promise<void> {
    this.#server?.close()
    for (const { file, text } of this.#written) {
      try {
        // The next daemon may have written its process id to the file already.
        if ((await readFile(file, 'utf8')) === text) await rm(file)
      } catch {
        // The pid file has already been removed.
      }
    }
  }

  /** Runs the orders one after another, in the order of their arrival, because each writes or removes the same file. */
  #inTurn<T>(order: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(order)
    this.#turn = turn.catch(() => {})
    return turn
  }

  /**
   * Writes the mark before the addresses are released, because a restarted container must find the mark and stay idle.
   */
  #stop(socket: string): Promise<void> {
    return this.#inTurn(async () => {
      await writeFile(markOf(socket), `${SOCKET}: stop\n`, { mode: 0o644 }).catch((error) => this.#warn(error))
      await this.#ports.standDown(`${SOCKET}: stop`)
    })
  }

  async #writePid(file: string | undefined, pid: number): Promise<void> {
    if (file === undefined) return
    const text = `${pid}\n`
    try {
      await mkdir(dirname(file), { recursive: true })
      // Removes the pid file of an earlier run, or a symbolic link that another user has made, because a link must not
      // be followed.
      await rm(file, { force: true })
      await writeFile(file, text, { mode: 0o644, flag: 'wx' })
      this.#written.push({ file, text })
    } catch (error) {
      this.#warn(error)
    }
  }

  #warn(error: unknown): void {
    this.#ports.recorder.log(LOG.keepalivedFilesProblem, messageOf(error))
  }
}

/** Returns the path of the file that marks a stopped keepalived. The script of the OpenShift pod uses the same path. */
const markOf = (socket: string): string => join(dirname(socket), 'stopped')

/** Tells whether an earlier run was stopped over this socket and not reloaded since. */
export function wasStopped(socket: string | undefined): boolean {
  try {
    return socket !== undefined && statSync(markOf(socket)).size > 0
  } catch {
    return false
  }
}
