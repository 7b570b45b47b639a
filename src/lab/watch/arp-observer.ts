/**
 * A client that has no neighbour entry, over and over: asks every 10 ms who has the address and keeps every MAC that
 * answered. Decides how long two answered; refuses to know who should have.
 */

import type { Host } from '../lab.ts'
import type { Site } from '../namespaces.ts'
import { numberOf, ProbeProcess } from './probe.ts'

/** From `at` on, these answer. */
export type Claim = { readonly at: number; readonly macs: readonly string[] }
export type Announcement = { readonly at: number; readonly mac: string }

export class ArpObserver {
  readonly claims: Claim[] = []
  /** Gratuitous ARP for the address, as it came by. */
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

  /** Milliseconds of the window in which two or more answered, to the 10 ms of a round. */
  overlap(from: number, to: number): number {
    let sum = 0
    for (const [i, { at, macs }] of this.claims.entries()) {
      const until = Math.min(this.claims[i + 1]?.at ?? to, to)
      if (macs.length > 1) sum += Math.max(0, until - Math.max(at, from))
    }
    return sum
  }

  /** Milliseconds of the window in which nobody answered. */
  silence(from: number, to: number): number {
    let sum = 0
    for (const [i, { at, macs }] of this.claims.entries()) {
      const until = Math.min(this.claims[i + 1]?.at ?? to, to)
      if (macs.length === 0) sum += Math.max(0, until - Math.max(at, from))
    }
    return sum
  }

  stop(): Promise<void> {
    return this.#process.stop()
  }
}
