/**
 * Watches which unicast peers the kernel can reach on one interface. A packet to an unreachable peer waits in the
 * kernel. The kernel sends the packet when the peer answers, and no question of ours comes right before it
 * (docs/adr/0022). This file decides when a peer counts as reachable again. This file knows nothing about states, and
 * the consequences.
 */
import { LOG } from '../../log/log.ts'
import type { Address, Family } from '../../wire/address.ts'
import type { Failure, Link, NeighborResolution, NeighborWatch, SocketPort } from '../ports.ts'
import type { Recorder } from '../telemetry/recorder.ts'

export type PeerWatchContext = {
  readonly sockets: Pick<SocketPort, 'openNeighborWatch'>
  readonly recorder: Recorder
  readonly onFailure: (failure: Failure) => void
  readonly isPeer: (address: Address) => boolean
  readonly onReached: (peer: Address) => void
}

export class PeerWatch {
  readonly #family: Family
  readonly #link: () => Link
  readonly #context: PeerWatchContext
  /** For each peer, whether the kernel last reported it as reachable; no entry before the first report. */
  readonly #reached = new Map<Address, boolean>()
  #on = false
  #watch: NeighborWatch | undefined

  constructor(family: Family, link: () => Link, context: PeerWatchContext) {
    this.#family = family
    this.#link = link
    this.#context = context
  }

  /**
   * Starts or stops the watch. May be called again. If the socket cannot be opened, the failure is logged, and only ARP
   * or NDP answers show that a peer is reachable.
   */
  watch(wanted: boolean): void {
    if (wanted === this.#on) return
    this.close()
    if (!wanted) return
    this.#on = true
    const { index: interfaceIndex, name: interfaceName } = this.#link()
    const opened = this.#context.sockets.openNeighborWatch({
      interfaceIndex,
      interfaceName,
      family: this.#family,
      onNeighbor: (address, resolution) => this.#hear(address, resolution),
      onLost: () => this.#suspect(),
      onFailure: this.#context.onFailure,
    })
    if (!('code' in opened)) this.#watch = opened
    else
      this.#context.recorder.log(LOG.peerWatchNotOpened, opened.message, {
        interface: interfaceName,
        code: opened.code,
      })
  }

  close(): void {
    this.#watch?.close()
    this.#watch = undefined
    this.#on = false
    this.#reached.clear()
  }

  /**
   * Handles lost notifications of the kernel, which may have reported that a peer is reachable again. For unreachable
   * peers, the kernel will notify again.
   */
  #suspect(): void {
    const unreached = [...this.#reached].filter(([, reached]) => !reached)
    this.#reached.clear()
    for (const [peer] of unreached) this.#context.onReached(peer)
  }

  /**
   * Handles a report of the kernel about a peer. The kernel does not report a new entry that is unresolved. For this
   * reason the first report of a peer may be the end of a network split. An announcement too many is better than one
   * too few. A peer that the kernel only checks was reachable before.
   */
  #hear(address: Address, resolution: NeighborResolution): void {
    if (!this.#context.isPeer(address)) return
    const before = this.#reached.get(address)
    this.#reached.set(address, resolution !== 'unresolved')
    const again = before === false ? resolution !== 'unresolved' : before === undefined && resolution === 'resolved'
    if (again) this.#context.onReached(address)
  }
}
