/**
 * Whether a queue of advertisements may hide one that no router was stepped for (ground rule 2): it still waits, or the
 * kernel may have dropped it. Decides that from the results of its drains. Refuses to know sockets, and what follows.
 */
import type { DrainResult } from '../ports.ts'

/**
 * Packets of up to 1 500 bytes that fit into the receive buffer, 4 MiB that the kernel doubles: a queue of which fewer
 * were read since it was empty was never full.
 */
const FITS = 2_048

export class Backlog {
  #unread = false
  #dropped = false
  #wasEmpty = true
  #sinceEmpty = 0

  /** Takes the result of every drain, in order. */
  note({ empty, lost, packets }: DrainResult): void {
    this.#sinceEmpty += packets
    this.#unread = !empty
    // The kernel reports a drop only with a packet queued after it. So a queue that may have been full hides its last
    // ones, and only a packet out of a queue that was empty before proves that there are none.
    if (lost > 0 || this.#sinceEmpty >= FITS) this.#dropped = true
    else if (this.#wasEmpty && empty && packets > 0) this.#dropped = false
    if (empty) this.#sinceEmpty = 0
    this.#wasEmpty = empty
  }

  get mayHide(): boolean {
    return this.#unread || this.#dropped
  }
}
