/**
 * The sockets from which this process reads advertisements. The guardian's clock may go on only while all of them are
 * empty (docs/adr/0086). This file decides that each change of the list is reported. This file does not know what is
 * read.
 */
import type { NativeSocket } from '../native.ts'

export class ReadSockets {
  readonly #sockets = new Set<NativeSocket>()
  #onChange: (() => void) | undefined

  get all(): readonly NativeSocket[] {
    return [...this.#sockets]
  }

  add(socket: NativeSocket): void {
    this.#sockets.add(socket)
    this.#onChange?.()
  }

  /** Removes a socket that is about to be closed. */
  remove(socket: NativeSocket): void {
    if (this.#sockets.delete(socket)) this.#onChange?.()
  }

  /** Calls `onChange` now and after each change. */
  follow(onChange: () => void): void {
    this.#onChange = onChange
    onChange()
  }
}
