/**
 * The sockets from which this process reads advertisements. The guardian's clock may go on only while all of them are
 * empty (docs/adr/0086). This file decides that each change of the list is reported. This file does not know what is
 * read.
 */
import type { NativeSocket } from '../native.ts'

/** A socket, or the timer of its watches. */
type Readable = Pick<NativeSocket, 'close'>

export class ReadSockets {
  readonly #sockets = new Set<Readable>()
  #onChange: (() => void) | undefined

  get all(): readonly Readable[] {
    return [...this.#sockets]
  }

  add(socket: Readable): void {
    this.#sockets.add(socket)
    this.#onChange?.()
  }

  /** Removes a socket that is about to be closed. */
  remove(socket: Readable): void {
    if (this.#sockets.delete(socket)) this.#onChange?.()
  }

  /** Calls `onChange` now and after each change. */
  follow(onChange: () => void): void {
    this.#onChange = onChange
    onChange()
  }
}
