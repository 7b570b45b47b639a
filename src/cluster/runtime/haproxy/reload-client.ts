/**
 * Sends `reload` to the socket of HAProxy's container: that of HAProxy's own first process, or of upstream's script,
 * which reads the same line. The connection stays open, because upstream's script works as long as its client does;
 * HAProxy closes it after each order. An order that cannot be sent is sent again.
 */
import { createConnection, type Socket } from 'node:net'

const AGAIN = 1_000

export class ReloadClient {
  readonly #path: string
  readonly #onReload: (problem: string | undefined) => void
  #socket: Socket | undefined
  #timer: NodeJS.Timeout | undefined

  /** `onReload` is called after each attempt, with the reason if the order was not sent. */
  constructor(path: string, onReload: (problem: string | undefined) => void) {
    this.#path = path
    this.#onReload = onReload
  }

  reload(): void {
    clearTimeout(this.#timer)
    const socket = this.#socket ?? this.#connect()
    socket.write('reload\n', (error) => {
      if (error == null) this.#onReload(undefined)
    })
  }

  close(): void {
    clearTimeout(this.#timer)
    this.#socket?.destroy()
  }

  #connect(): Socket {
    const socket = createConnection(this.#path)
    this.#socket = socket
    let isOpen = false
    socket.once('connect', () => {
      isOpen = true
    })
    socket.resume()
    socket.on('error', ({ message }) => this.#onReload(message))
    socket.once('close', () => {
      this.#socket = undefined
      // The order was waiting for the connection.
      if (!isOpen) this.#timer = setTimeout(() => this.reload(), AGAIN)
    })
    return socket
  }
}
