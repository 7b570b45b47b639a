/**
 * Event source of http and tcp checks: an idle connection, by which the kernel reports the end of the server process.
 * The end of the connection triggers a run of the check and is never a failure itself. This file decides that an idle
 * connection is opened only after a successful run. The connection is renewed, because a reloaded server leaves old
 * connections with its old process. If the server closes the connection early, none is opened for a while.
 * `idle-connection.ts` does not know results.
 */
import type { Socket } from 'node:net'
import { type Millis, plus } from '../../wire/units.ts'
import { type EventSource, monotonicNow } from '../probe.ts'
import type { ProbeResult } from '../probe-result.ts'

/**
 * Milliseconds that an idle connection must live. A server that closes the connection sooner does not accept it, or
 * limits idle connections.
 */
const SHORT_LIFE = 5_000
const FIRST_PAUSE = 1_000
const LONGEST_PAUSE = 60_000
/**
 * Milliseconds after which the idle connection is renewed, so that it belongs to the server process that answers now.
 */
const RENEW_AFTER = 10_000
/**
 * Milliseconds without an idle connection after such a connection may have blocked a server. After each such block the
 * pause is four times as long.
 */
const FIRST_SUSPICION = 60_000
const LONGEST_SUSPICION = 3_600_000
const OPEN_TIMEOUT = 5_000
/** Limit of octets received on an idle connection. A greeting of the server is accepted, a stream is not. */
const MOST_RECEIVED = 65_536

export type Open = (signal: AbortSignal) => Promise<Socket>

export class IdleConnection implements EventSource {
  readonly #open: Open
  readonly #onEvent: () => void
  readonly #renewAfter: number
  #socket: Socket | undefined
  #openedAt: Millis | undefined
  #opening: AbortController | undefined
  #notBefore: Millis | undefined
  #pause = FIRST_PAUSE
  #suspected = false
  #suspicion = FIRST_SUSPICION

  constructor(open: Open, onEvent: () => void, renewAfter = RENEW_AFTER) {
    this.#renewAfter = renewAfter
    this.#open = open
    this.#onEvent = onEvent
  }

  get armed(): boolean {
    return this.#socket !== undefined
  }

  afterRun({ outcome, reason }: ProbeResult): void {
    const now = monotonicNow()
    if (outcome !== 'ok') {
      // The idle connection may block a server that serves one connection at a time. The next run is without an idle
      // connection and shows whether that is the cause.
      if (reason === 'timeout' && this.armed) {
        this.#suspected = true
        this.#let(this.#socket)
      }
      return
    }
    if (this.#suspected) {
      this.#suspected = false
      this.#notBefore = plus(now, this.#suspicion)
      this.#suspicion = Math.min(LONGEST_SUSPICION, this.#suspicion * 4)
    }
    if (this.#opening !== undefined || (this.#notBefore !== undefined && now < this.#notBefore)) return
    if (this.#openedAt !== undefined && now < this.#openedAt + this.#renewAfter) return
    const opening = new AbortController()
    this.#opening = opening
    const late = setTimeout(() => opening.abort(), OPEN_TIMEOUT)
    this.#open(opening.signal)
      .then(
        (socket) => (this.#opening === opening ? this.#keep(socket) : socket.destroy()),
        // A failure to connect is not reported by the idle connection: the next run of the check reports the problem.
        () => this.#opening === opening && this.#pauseFor(monotonicNow()),
      )
      .finally(() => {
        clearTimeout(late)
        if (this.#opening === opening) this.#opening = undefined
      })
  }

  close(): void {
    this.#opening?.abort()
    this.#opening = undefined
    this.#let(this.#socket)
  }

  #keep(socket: Socket): void {
    this.#let(this.#socket)
    this.#socket = socket
    this.#openedAt = monotonicNow()
    const ended = () => this.#ended(socket)
    socket.on('error', ended).on('end', ended).on('close', ended)
    socket.on('data', () => {
      if (socket.bytesRead <= MOST_RECEIVED) return
      this.#let(socket)
      this.#pauseFor(monotonicNow())
    })
    // The idle connection may have ended in the meantime.
    if (socket.destroyed || socket.readableEnded) ended()
  }

  #ended(socket: Socket): void {
    if (this.#socket !== socket) return
    const now = monotonicNow()
    const lived = this.#openedAt === undefined ? 0 : now - this.#openedAt
    this.#let(socket)
    if (lived < SHORT_LIFE) this.#pauseFor(now)
    else this.#pause = FIRST_PAUSE
    this.#onEvent()
  }

  #let(socket: Socket | undefined): void {
    if (socket === undefined) return
    if (this.#socket === socket) {
      this.#socket = undefined
      this.#openedAt = undefined
    }
    socket.destroy()
  }

  #pauseFor(now: Millis): void {
    this.#notBefore = plus(now, this.#pause)
    this.#pause = Math.min(LONGEST_PAUSE, this.#pause * 2)
  }
}
