/**
 * A cut that heals at a given frame instead of at a given moment: the bridge drops everything from and to a host until
 * that host sends the first frame of a kind, and lets this one pass. So an order of packets that a heal brings about
 * once in a hundred times comes every time. Decides how (nftables at the host's port); refuses to know what follows.
 */
import { run } from './command.ts'
import { nft } from './ip.ts'
import type { Host, Lab } from './lab.ts'

/** What opens the gate, as nftables matches it on the way into the bridge. */
export const ADVERTISEMENT = { ipv4: 'ip protocol 112', ipv6: 'ip6 nexthdr 112' } as const

/** Of a sender without an address: the question who has one. */
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

  /** Everything is dropped, both ways. */
  shut(): void {
    this.#load('', '')
  }

  /** From its first such frame on, everything passes both ways, but what is `lost` on its way from the host. */
  opensWith(frame: string, lost?: string): void {
    this.#load(`${frame} update @open { meta mark } accept`, lost === undefined ? '' : `${lost} drop`)
  }

  get isOpen(): boolean {
    const argv = ['nft', 'list', 'set', ...this.#table.split(' '), 'open']
    return run(['ip', 'netns', 'exec', this.#lab.bridge, ...argv]).includes('elements')
  }

  /** The cable is as if it had never been cut. */
  remove(): void {
    this.#nft(`table ${this.#table}\ndelete table ${this.#table}\n`)
  }

  #load(opening: string, losing: string): void {
    const { port } = this.#host
    // No frame has a mark here: what is looked up is whether the gate is open.
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
