/**
 * A cut that heals at a given frame instead of a given time. The bridge drops everything from and to a host until that
 * host sends the first frame of a kind, and passes that one. So a rare order of packets at a heal happens every time.
 * This file decides the nftables rules at the host's port. This file does not know what follows.
 */
import { run } from './command.ts'
import { nft } from './ip.ts'
import type { Host, Lab } from './lab.ts'

/** Frames that open the gate, as nftables matches them on the way into the bridge. */
export const ADVERTISEMENT = { ipv4: 'ip protocol 112', ipv6: 'ip6 nexthdr 112' } as const

/** An ARP probe: its sender has no address. */
export const PROBE = 'arp saddr ip 0.0.0.0'

export class Gate {
  readonly #lab: Lab
  readonly #table: string
  readonly #host: Host

  constructor(lab: Lab, host: Host) {
    this.#lab = lab
    this.#host = host
    this.#table = `netdev gate-${host.name}`
  }

  /** Drops all frames between the host and the LAN, in both directions. */
  shut(): void {
    this.#load('', '')
  }

  /** From the first such frame on, everything passes in both directions, except `lost` on its way from the host. */
  opensWith(frame: string, lost?: string): void {
    this.#load(`${frame} update @open { meta mark } accept`, lost === undefined ? '' : `${lost} drop`)
  }

  get isOpen(): boolean {
    const argv = ['nft', 'list', 'set', ...this.#table.split(' '), 'open']
    return run(['ip', 'netns', 'exec', this.#lab.bridge, ...argv]).includes('elements')
  }

  /** Removes the rules: the cable is as before the cut. */
  remove(): void {
    this.#nft(`table ${this.#table}\ndelete table ${this.#table}\n`)
  }

  #load(opening: string, losing: string): void {
    const { port } = this.#host
    // No frame has a mark here. The set says whether the gate is open.
    this.#nft(`table ${this.#table}
delete table ${this.#table}
table ${this.#table} {
  set open {
    type mark
    flags dynamic
    size 4
  }
  chain from {
    type filter hook ingress device "${port}" priority 0; policy accept;
    ${losing}
    meta mark @open accept
    ${opening}
    drop
  }
  chain to {
    type filter hook egress device "${port}" priority 0; policy accept;
    meta mark @open accept
    drop
  }
}
`)
  }

  #nft(text: string): void {
    nft(this.#lab.bridge, text)
  }
}
