/**
 * Tells whether a queue of advertisements may contain one that no router has processed (ground rule 2): it still waits,
 * or the kernel has dropped it. The decision uses the results of the drains. This file does not know sockets, or the
 * consequences.
 */
import type { DrainResult } from '../ports.ts'

/**
 * Number of packets of up to 1 500 octets that fit into the receive buffer of 4 MiB, which the kernel doubles. If fewer
 * packets were read since the queue was empty, the queue was never full.
 */
const FITS = 2_048

export class Backlog {
  #unread = false
  #dropped = false
  #wasEmpty = true
  #sinceEmpty = 0

  /** Notes the result of every drain, in order. */
  note({ empty, lost, packets }: DrainResult): void {
    this.#sinceEmpty += packets
    this.#unread = !empty
    // The kernel reports a drop only with a packet that is queued after it. So a queue that may have been full hides
    // its last drops. Only a packet from a queue that was empty before shows that no drop is hidden.
    if (lost > 0 || this.#sinceEmpty >= FITS) this.#dropped = true
    else if (this.#wasEmpty && empty && packets > 0) this.#dropped = false
    if (empty) this.#sinceEmpty = 0
    this.#wasEmpty = empty
  }

  get mayHide(): boolean {
    return this.#unread || this.#dropped
  }
}
