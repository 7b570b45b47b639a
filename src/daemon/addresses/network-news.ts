/**
 * What the kernel says about links and addresses, and what that means for the routers: looked at again, restored, swept
 * or, if it is only the echo of our own request, nothing. Also the other direction, because both share what is expected
 * to come back: address steps go to the kernel here. Refuses to know packets, deadlines and how a turn ends.
 */
import type { Config } from '../../config/config.ts'
import { type Address, familyOf } from '../../wire/address.ts'
import type { Millis } from '../../wire/units.ts'
import type { Placement } from '../placement.ts'
import type { AddressOutcome, AddressStep, Link, NetworkEvent, NetworkPort } from '../ports.ts'
import type { Roster } from '../roster.ts'
import type { Recorder } from '../telemetry/recorder.ts'
import { RATES, TokenBucket } from '../telemetry/token-bucket.ts'
import { isSameLink, type NetworkView } from './network-view.ts'
import { OwnChanges } from './own-changes.ts'
import type { StaleAddresses } from './stale-addresses.ts'
import { virtualAddresses } from './sweep.ts'

/** Who is told of it. */
export type NewsReaders = {
  readonly config: Config
  readonly placement: Placement
  readonly roster: Roster
  readonly stale: StaleAddresses
}

export class NetworkNews {
  readonly #network: NetworkPort
  readonly #view: NetworkView
  readonly #recorder: Recorder
  readonly #ownChanges = new OwnChanges()
  readonly #linkBucket = new TokenBucket(RATES.link)
  #vips: { readonly of: Config | undefined; readonly addresses: ReadonlySet<Address> } = {
    of: undefined,
    addresses: new Set(),
  }

  constructor(network: NetworkPort, view: NetworkView, recorder: Recorder) {
    this.#network = network
    this.#view = view
    this.#recorder = recorder
  }

  /**
   * What we know already, or what was so before we took it off: the guardian renews lifetimes, of 255 addresses in one
   * batch, and the kernel tells of each.
   */
  isOld(event: NetworkEvent): boolean {
    if (event.kind !== 'addressAdded') return false
    return this.#view.knows(event.present) || this.#ownChanges.isOutdated(event.kind, event.present)
  }

  /** False: nothing of it can have moved a deadline or given anybody something to do. */
  take(event: NetworkEvent, readers: NewsReaders, now: Millis): boolean {
    switch (event.kind) {
      case 'resync':
        this.#lookAgain(readers, now)
        return true
      case 'addressAdded':
      case 'addressRemoved':
        return this.#takeAddress(event, readers, now)
      default:
        return this.#takeLink(event, readers, now)
    }
  }

  #lookAgain({ config, placement, roster, stale }: NewsReaders, now: Millis): void {
    const vips = virtualAddresses(config)
    this.#recorder.log('warn', 'Network notifications were lost: looking again at links and addresses')
    this.#view.load(this.#network)
    this.#ownChanges.clear()
    placement.refresh(roster.routers, now)
    placement.strand(roster.departing, now)
    for (const router of roster.all) router.restoreAddresses(now)
    stale.sweepHomeless(config, vips)
  }

  #takeAddress(
    event: Extract<NetworkEvent, { kind: 'addressAdded' | 'addressRemoved' }>,
    readers: NewsReaders,
    now: Millis,
  ): boolean {
    const { config, placement, roster } = readers
    const { address, interfaceIndex } = event.present
    // Also an echo: the order of notifications is the kernel's, and the last one is how things are.
    this.#view.apply(event)
    if (this.#ownChanges.isEcho(event.kind, event.present)) {
      // An announcement may have waited for it. The news goes out a moment before the route is there.
      if (event.kind !== 'addressAdded' || familyOf(address) !== 'ipv6') return false
      this.#network.settle(interfaceIndex)
      return true
    }
    if (this.#isVirtual(address, config)) this.#restore(address, readers, now)
    else if (placement.matters(this.#view.link(interfaceIndex)?.name, address)) placement.refresh(roster.routers, now)
    return true
  }

  #takeLink(
    event: Exclude<NetworkEvent, { kind: 'addressAdded' | 'addressRemoved' | 'resync' }>,
    { placement, roster }: NewsReaders,
    now: Millis,
  ): boolean {
    const index = event.kind === 'link' ? event.link.index : event.index
    const before = this.#view.link(index)
    this.#view.apply(event)
    const after = this.#view.link(index)
    if (isSameLink(before, after)) return false
    if (placement.matters(before?.name) || placement.matters(after?.name)) {
      this.#record(before, after, now)
      placement.refresh(roster.routers, now)
      placement.strand(roster.departing, now)
    }
    return true
  }

  #record(before: Link | undefined, after: Link | undefined, now: Millis): void {
    const name = (after ?? before)?.name
    const changed = before?.up !== after?.up || before?.running !== after?.running
    if (name === undefined || !changed || this.#linkBucket.take(now) === undefined) return
    const { running: carrier = false, up = false } = after ?? {}
    const exists = after !== undefined
    this.#recorder.chronicle.record({ kind: 'linkChanged', interface: name, exists, up, carrier })
  }

  /** Asked for each of 255 notifications. */
  #isVirtual(address: Address, config: Config): boolean {
    if (this.#vips.of !== config) this.#vips = { of: config, addresses: virtualAddresses(config) }
    return this.#vips.addresses.has(address)
  }

  #restore(address: Address, { config, roster, stale }: NewsReaders, now: Millis): void {
    let placed = false
    for (const router of roster.all) {
      if (!router.parameters.addresses.includes(address)) continue
      router.restoreAddresses(now)
      placed ||= router.io !== undefined
    }
    if (!placed) stale.sweepHomeless(config, [address])
  }

  /** Sends the steps, and remembers which notifications they will cause. */
  apply(steps: readonly AddressStep[]): readonly AddressOutcome[] {
    if (steps.length === 0) return []
    const outcomes = this.#network.apply(steps, (index) => this.#view.link(index)?.name)
    for (const outcome of outcomes) {
      if (!outcome.ok) continue
      const { action, interfaceIndex, address, prefixLength } = outcome.step
      if (outcome.changed) this.#ownChanges.expect(outcome.step)
      // It was there: what the kernel has said of it, flags and all, is better than what we could say.
      else if (action === 'add' && this.#view.has(outcome.step)) continue
      // Until the notification comes, for whoever asks within this turn.
      const kind = action === 'add' ? 'addressAdded' : 'addressRemoved'
      // An IPv6 address is not reached before the kernel tells of it (announcer.ts).
      const tentative = action === 'add' && outcome.changed && familyOf(address) === 'ipv6'
      this.#view.apply({ kind, present: { interfaceIndex, address, prefixLength, tentative } })
    }
    return outcomes
  }
}
