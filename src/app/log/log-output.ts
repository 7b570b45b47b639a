/**
 * Writes log lines to standard output. The daemon never waits for the reader of the log, neither while it runs nor at
 * its end. Lines that the reader does not take are buffered up to a limit, then dropped and counted. For pipes the
 * thread pool is not used, because a blocked write(2) in it would keep the process from exiting. This file knows
 * nothing about the content of lines.
 */
import { closeSync, constants, fstatSync, openSync, write as writeFile } from 'node:fs'
import { Socket } from 'node:net'

/** Limit of the buffer in octets, about a thousand lines. */
const MOST_BUFFERED = 256 * 1024
const TRY_AGAIN = 50

type Done = (error: Error | null) => void
/** Sends octets. Calls `done` once, when all octets were written or can never be written. */
type Send = (bytes: Uint8Array, done: Done) => void

export class LogOutput {
  readonly #send: Send
  readonly #onLost: () => void
  #waiting: string[] = []
  #buffered = 0
  #sending = false
  #dead = false
  #onEmpty: (() => void)[] = []

  constructor(descriptor: number, onLost: () => void) {
    this.#onLost = onLost
    this.#send = senderFor(descriptor)
  }

  write(line: string): void {
    const size = Buffer.byteLength(line)
    if (this.#dead || this.#buffered + size > MOST_BUFFERED) return this.#onLost()
    this.#waiting.push(line)
    this.#buffered += size
    this.#pump()
  }

  /** Resolves when all log lines are written, or after `limit` milliseconds. */
  flush(limit: number): Promise<void> {
    if (!this.#sending || this.#dead) return Promise.resolve()
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, limit)
      this.#onEmpty.push(() => {
        clearTimeout(timer)
        resolve()
      })
    })
  }

  #pump(): void {
    if (this.#sending) return
    const bytes = Buffer.from(this.#waiting.join(''))
    const lines = this.#waiting.length
    this.#waiting = []
    if (bytes.length === 0) {
      for (const resolve of this.#onEmpty.splice(0)) resolve()
      return
    }
    this.#sending = true
    this.#send(bytes, (error) => {
      this.#sending = false
      this.#buffered -= bytes.length
      if (error !== null) {
        // An error such as EPIPE means that the reader of the log has ended. The daemon goes on without a log.
        this.#dead = true
        for (let i = 0; i < lines + this.#waiting.length; i++) this.#onLost()
        this.#waiting = []
      }
      this.#pump()
    })
  }
}

function senderFor(descriptor: number): Send {
  const stat = fstatSync(descriptor)
  if (stat.isFIFO() || stat.isSocket()) return socketSender(descriptor)
  if (stat.isCharacterDevice()) {
    try {
      // The terminal is opened a second time, so that the shell's descriptor keeps its blocking mode.
      const path = `/proc/self/fd/${descriptor}`
      return fileSender(openSync(path, constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY))
    } catch {
      // The terminal belongs to another user (su). Writing to it may block, but then a person uses the terminal.
    }
  }
  return fileSender(descriptor)
}

function socketSender(fd: number): Send {
  const socket = new Socket({ fd, readable: false, writable: true })
  // The callback of each write also gets the error, so this listener has nothing to do.
  socket.on('error', () => {})
  return (bytes, done) => {
    socket.write(bytes, (error) => done(error ?? null))
  }
}

function fileSender(fd: number): Send {
  const send: Send = (bytes, done) => {
    writeFile(fd, bytes, (error, written) => {
      if (error?.code === 'EAGAIN') setTimeout(send, TRY_AGAIN, bytes, done)
      else if (error !== null) {
        if (fd > 2) closeSync(fd)
        done(error)
      } else if (written < bytes.length) send(bytes.subarray(written), done)
      else done(null)
    })
  }
  return send
}
