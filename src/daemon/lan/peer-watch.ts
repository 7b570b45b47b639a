/**
 * Unicast peers that the kernel reaches, on one interface. A packet to a peer that it does not reach waits in the
 * kernel and goes out when the peer answers, without a question right before it (docs/adr/0022). Decided here: when a
 * peer counts as reached again. Refuses to know states, and what follows.
 */
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
  /** As last reported; no entry: the kernel has not reported the peer yet. */
  readonly #reached = new Map<Address, boolean>()
  #on = false
  #watch: NeighborWatch | undefined

  constructor(family: Family, link: () => Link, context: PeerWatchContext) {
    this.#family = family
    this.#link = link
    this.#context = context
  }

  /** Idempotent. A socket that cannot be opened is logged, and the questions have to do. */
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
    else this.#context.recorder.log('warn', opened.message, { interface: interfaceName, code: opened.code })
  }

  close(): void {
    this.#watch?.close()
    this.#watch = undefined
    this.#on = false
    this.#reached.clear()
  }

  /** The lost notifications may have reported that a peer is reached again; the next ones report the others. */
  #suspect(): void {
    const unreached = [...this.#reached].filter(([, reached]) => !reached)
    this.#reached.clear()
    for (const [peer] of unreached) this.#context.onReached(peer)
  }

  /**
   * The kernel does not report an entry that is new and not resolved yet, so the first report may be the end of a cut:
   * one announcement too many is better. Not where the kernel only makes sure: it reached that peer before.
   */
  #hear(address: Address, resolution: NeighborResolution): void {
    if (!this.#context.isPeer(address)) return
    const before = this.#reached.get(address)
    this.#reached.set(address, resolution !== 'unresolved')
    const again = before === false ? resolution !== 'unresolved' : before === undefined && resolution === 'resolved'
    if (again) this.#context.onReached(address)
  }
}
