/**
 * Observes the LAN as a client without a neighbour entry: asks by ARP every 10 ms which hosts have the virtual address,
 * and stores the MAC address of every answer. This file decides for how long two hosts answered. This file does not
 * know which node should have the address.
 */

import type { Host } from '../lab.ts'
import type { Site } from '../namespaces.ts'
import { type Span, spansIn, sumOf } from './history.ts'
import { numberOf, ProbeProcess } from './probe.ts'

/** MAC addresses that answer for the virtual address from the time `at` on. */
export type Claim = { readonly at: number; readonly macs: readonly string[] }
export type Announcement = { readonly at: number; readonly mac: string }

export class ArpObserver {
  readonly claims: Claim[] = []
  /** Gratuitous ARP packets that announced the virtual address. */
  readonly announcements: Announcement[] = []
  readonly #process: ProbeProcess

  constructor(site: Site, host: Host | string, address: string) {
    const argv = ['arp', 'eth0', address, '--interval-ms', '10', '--fifo']
    this.#process = new ProbeProcess(site, host, argv, (fields) => {
      const at = numberOf(fields, 't')
      if (fields.event === 'claim' && Array.isArray(fields.macs))
        this.claims.push({ at, macs: fields.macs.map(String) })
      if (fields.event === 'announce') this.announcements.push({ at, mac: String(fields.mac) })
    })
  }

  /**
   * Returns the milliseconds of the window in which two or more MAC addresses answered, exact to the 10 ms between two
   * questions.
   */
  overlap(from: number, to: number): number {
    return this.#sum((count) => count > 1, { from, to })
  }

  /** Returns the milliseconds of the window in which no host answered. */
  silence(from: number, to: number): number {
    return this.#sum((count) => count === 0, { from, to })
  }

  #sum(wanted: (count: number) => boolean, window: Span): number {
    const changes = this.claims.map(({ at, macs }) => ({ at, holders: macs }))
    return sumOf(spansIn(changes, wanted, window))
  }

  stop(): Promise<void> {
    return this.#process.stop()
  }
}
