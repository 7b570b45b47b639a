/**
 * Cuts a host off until the host sends a given kind of frame, instead of until a given time. Until this frame, the
 * bridge drops every frame from and to the host. The first frame of that kind passes, and so does every frame after it.
 * With the gate, a rare order of packets at the end of a cut happens every time. This file decides the nftables rules
 * at the host's bridge port. This file does not know what happens after the cut.
 */
import { run } from './command.ts'
import { nft } from './ip.ts'
import type { Host, Lab } from './lab.ts'

/** Frames that end the cut, as nftables matches them on their way into the bridge. */
export const ADVERTISEMENT = { ipv4: 'ip protocol 112', ipv6: 'ip6 nexthdr 112' } as const

/** An ARP probe, as nftables matches it: its sender address is 0.0.0.0. */
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

  /** Drops every frame from and to the host. */
  shut(): void {
    this.#load('', '')
  }

  /**
   * Waits for the first frame that matches `frame`. From that frame on, every frame passes in both directions, except
   * frames from the host that match `lost`.
   */
  opensWith(frame: string, lost?: string): void {
    this.#load(`${frame} update @open { meta mark } accept`, lost === undefined ? '' : `${lost} drop`)
  }

  get isOpen(): boolean {
    const argv = ['nft', 'list', 'set', ...this.#table.split(' '), 'open']
    return run(['ip', 'netns', 'exec', this.#lab.bridge, ...argv]).includes('elements')
  }

  /** Removes the nftables rules, so that the host's cable works as before the cut. */
  remove(): void {
    this.#nft(`table ${this.#table}\ndelete table ${this.#table}\n`)
  }

  #load(opening: string, losing: string): void {
    const { port } = this.#host
    // No frame has a packet mark here. The nftables set contains the mark 0 as soon as the gate is open.
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
