/**
 * Tells whether an advertisement may exist that no router has processed (ground rule 2: a waiting packet counts): it
 * still waits in the queue, or the kernel has dropped it. The decision uses the numbers that each drain of the socket
 * returned. This file knows nothing about sockets, and the consequences.
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

  /** Notes the numbers that a drain of the socket returned. Every drain must be noted, in order. */
  note({ empty, lost, packets }: DrainResult): void {
    this.#sinceEmpty += packets
    this.#unread = !empty
    // The kernel reports a dropped packet only with a packet that is queued later. For this reason a queue that may
    // have been full hides its last drops. Only a packet from a queue that was empty before shows that no drop is
    // hidden.
    if (lost > 0 || this.#sinceEmpty >= FITS) this.#dropped = true
    else if (this.#wasEmpty && empty && packets > 0) this.#dropped = false
    if (empty) this.#sinceEmpty = 0
    this.#wasEmpty = empty
  }

  get mayHide(): boolean {
    return this.#unread || this.#dropped
  }
}
