/**
 * Handles the kernel's reports of links and addresses: routers get another interface or source address, and addresses
 * are restored or swept. A report that only confirms a change by this daemon is ignored. This file knows nothing about
 * packets, deadlines, and how a turn ends.
 */
import type { Config } from '../../config/config.ts'
import { LOG } from '../../log/log.ts'
import { type Address, familyOf } from '../../wire/address.ts'
import type { Millis } from '../../wire/units.ts'
import type { Placement } from '../placement.ts'
import type { Link, NetworkEvent, NetworkPort } from '../ports.ts'
import type { Registry } from '../router/registry.ts'
import type { Recorder } from '../telemetry/recorder.ts'
import { RATES, TokenBucket } from '../telemetry/token-bucket.ts'
import { isSameLink, type NetworkView } from './network-view.ts'
import type { OwnChanges } from './own-changes.ts'
import type { StaleAddresses } from './stale-addresses.ts'
import { virtualAddresses } from './sweep.ts'

export type NetworkEventsContext = {
  readonly network: NetworkPort
  readonly view: NetworkView
  readonly recorder: Recorder
  readonly ownChanges: OwnChanges
  /** Returns the configuration in force. */
  readonly config: () => Config
  readonly placement: Placement
  readonly registry: Registry
  readonly stale: StaleAddresses
}

export class NetworkEvents {
  readonly #context: NetworkEventsContext
  readonly #linkBucket = new TokenBucket(RATES.link)
  #vips: { readonly of: Config | undefined; readonly addresses: ReadonlySet<Address> } = {
    of: undefined,
    addresses: new Set(),
  }

  constructor(context: NetworkEventsContext) {
    this.#context = context
  }

  /**
   * Tells whether an event brings nothing new: the view has it already, or had it before we removed the address. The
   * guardian renews the lifetimes of up to 255 addresses in one batch, and the kernel reports each renewal.
   */
  isOld(event: NetworkEvent): boolean {
    if (event.kind !== 'addressAdded') return false
    const { ownChanges, view } = this.#context
    return view.knows(event.present) || ownChanges.isOutdated(event.kind, event.present)
  }

  /**
   * Handles a notification of the kernel. Returns false if the notification cannot have changed a deadline or the work
   * of a router.
   */
  take(event: NetworkEvent, now: Millis): boolean {
    switch (event.kind) {
      case 'resync':
        this.#lookAgain(now)
        return true
      case 'addressAdded':
      case 'addressRemoved':
        return this.#takeAddress(event, now)
      default:
        return this.#takeLink(event, now)
    }
  }

  #lookAgain(now: Millis): void {
    const { network, ownChanges, recorder, registry, stale, view } = this.#context
    const config = this.#context.config()
    const vips = virtualAddresses(config)
    recorder.log(LOG.networkReadAgain, 'Network notifications were lost; reading all links and addresses again')
    view.load(network)
    ownChanges.clear()
    this.#place(now)
    for (const { duty } of registry.all) duty.restore(now)
    stale.sweepHomeless(config, vips)
  }

  #place(now: Millis): void {
    const { placement, registry } = this.#context
    placement.refresh(registry.routers, now)
    placement.strand(registry.departing, now)
  }

  #takeAddress(event: Extract<NetworkEvent, { kind: 'addressAdded' | 'addressRemoved' }>, now: Millis): boolean {
    const { network, ownChanges, placement, registry, view } = this.#context
    const { address, interfaceIndex } = event.present
    // The view adopts every notification, even about a change by this daemon: notifications come in the kernel's order,
    // and the last one is right.
    view.apply(event)
    if (ownChanges.isEcho(event.kind, event.present)) {
      // An announcement may have waited for this report. The kernel sends the report a moment before the route of the
      // address exists.
      if (event.kind !== 'addressAdded' || familyOf(address) !== 'ipv6') return false
      network.settle(interfaceIndex)
      return true
    }
    if (this.#isVirtual(address)) this.#restore(address, now)
    else if (placement.matters(view.link(interfaceIndex)?.name, address)) placement.refresh(registry.routers, now)
    return true
  }

  #takeLink(
    event: Exclude<NetworkEvent, { kind: 'addressAdded' | 'addressRemoved' | 'resync' }>,
    now: Millis,
  ): boolean {
    const { placement, view } = this.#context
    const index = event.kind === 'link' ? event.link.index : event.index
    const before = view.link(index)
    view.apply(event)
    const after = view.link(index)
    if (isSameLink(before, after)) return false
    if (placement.matters(before?.name) || placement.matters(after?.name)) {
      this.#record(before, after, now)
      this.#place(now)
    }
    return true
  }

  #record(before: Link | undefined, after: Link | undefined, now: Millis): void {
    const name = (after ?? before)?.name
    const changed = before?.up !== after?.up || before?.running !== after?.running
    if (name === undefined || !changed || this.#linkBucket.take(now) === undefined) return
    const { running: carrier = false, up = false } = after ?? {}
    const exists = after !== undefined
    this.#context.recorder.chronicle.record({ kind: 'linkChanged', interface: name, exists, up, carrier })
  }

  /**
   * Tells whether an address is a VIP. The function runs for each of up to 255 notifications, so the set of VIPs is
   * stored.
   */
  #isVirtual(address: Address): boolean {
    const config = this.#context.config()
    if (this.#vips.of !== config) this.#vips = { of: config, addresses: virtualAddresses(config) }
    return this.#vips.addresses.has(address)
  }

  #restore(address: Address, now: Millis): void {
    const { config, registry, stale } = this.#context
    let isPlaced = false
    for (const router of registry.all) {
      if (!router.parameters.addresses.includes(address)) continue
      router.duty.restore(now)
      isPlaced ||= router.io !== undefined
    }
    if (!isPlaced) stale.sweepHomeless(config(), [address])
  }
}
