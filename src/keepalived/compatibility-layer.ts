/**
 * keepalived's interfaces to the programs around it, for a daemon that runs from keepalived's file: the dumps on SIGUSR1
 * and SIGUSR2, the pid files, the socket that takes `reload` and `stop` (docs/adr/0030). Nothing in this file stops the
 * engine or makes it wait: a failure is a line in the log. The text of a dump is in dump.ts, the socket in socket.ts; a
 * reload is the caller's.
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
  /** File for the pid of the process that takes the signals. */
  readonly pidFile: string | undefined
  /** File for the pid of the engine. */
  readonly vrrpPidFile: string | undefined
  /** Path of the command socket. `undefined`: none is opened. */
  readonly socket: string | undefined
}

/** `Answer`: result of a reload, passed through. */
export type CompatibilityPorts<Answer> = {
  readonly recorder: Pick<Recorder, 'log' | 'logLimited'>
  readonly dump: (order: DumpOrder) => Promise<void>
  readonly dumped: () => DumpOrder['dumped']
  readonly reload: (trigger: string) => Promise<Answer>
  /** Releases every address until the next reload. */
  readonly standDown: (trigger: string) => Promise<void>
  readonly peerOf: (socket: Socket) => ControlPeer | undefined
  /** A client without the right to command has been refused. */
  readonly onRefused: () => void
  /** Process that takes the signals: the guardian, or the engine without a guardian. */
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

  /** `folder`: for the dumps; keepalived writes them into TMPDIR. */
  constructor(options: CompatibilityOptions, ports: CompatibilityPorts<Answer>, folder = process.env.TMPDIR ?? '/tmp') {
    this.#options = options
    this.#ports = ports
    this.#folder = folder
  }

  /** Writes one dump of a kind at a time. A request during a dump leads to one more dump, so its data is newer than the request. */
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

  /** Reloads; ends an earlier stop, also when the reload was not requested over the socket. */
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

  /** Closes the socket and removes the pid files: after our end the same pid may belong to another process. */
  async close(): Promise<void> {
    this.#server?.close()
    for (const { file, text } of this.#written) {
      try {
        // The next daemon may have written its pid already.
        if ((await readFile(file, 'utf8')) === text) await rm(file)
      } catch {
        // The file is gone already.
      }
    }
  }

  /** Runs the orders one after another, in the order of their arrival: each writes or removes the same file. */
  #inTurn<T>(order: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(order)
    this.#turn = turn.catch(() => {})
    return turn
  }

  /** Writes the mark before it releases the addresses: a restarted container must find the mark and stay idle. */
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
      // Removes the file of an earlier run, or a link that another user has put there: a link is not followed.
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

/** Returns the path of the mark that says "stopped"; the script of the OpenShift pod uses the same path. */
const markOf = (socket: string): string => join(dirname(socket), 'stopped')

/** Returns whether an earlier run was stopped over this socket and not reloaded since. */
export function wasStopped(socket: string | undefined): boolean {
  try {
    return socket !== undefined && statSync(markOf(socket)).size > 0
  } catch {
    return false
  }
}
