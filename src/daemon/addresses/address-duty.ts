/**
 * Keeps the addresses of a router installed. This class decides which addresses should be on this node in the present
 * state of the router, and where the router last removed addresses. AddressDuty also decides when a failed installation
 * is a fault of the router, and for how long (ground rule 6: addresses within 10 ms, or priority 0). AddressDuty does
 * not know packets, decisions of sync groups, or how the kernel gets an address (`address-keeper.ts`).
 */
import type { Fault } from '../../vrrp/event.ts'
import { ownsAddresses, type Parameters } from '../../vrrp/parameters.ts'
import type { State } from '../../vrrp/state.ts'
import type { Address } from '../../wire/address.ts'
import { type Millis, plus, sooner } from '../../wire/units.ts'
import type { Act, Order } from '../effect-runner.ts'
import type { Cleanup } from '../guard/cleanup.ts'
import type { AddressStep, WantedAddress } from '../ports.ts'
import type { AddressIo, AddressKeeper, AddressTarget } from './address-keeper.ts'
import type { AddressPlaces } from './address-places.ts'
import { hasAnEnd, type LifetimeOption, lifetimeOf } from './lifetime.ts'

/** Interface and parameters of a router at the time of a decision. */
type Place = { readonly io: AddressIo | undefined; readonly parameters: Parameters }

/** The fields of a virtual router that address handling uses. */
export type AddressHolder = Place & {
  readonly state: State
  readonly spec: { readonly lifetime: LifetimeOption }
  readonly places: AddressPlaces
  /** True if the router has addresses in the kernel. */
  readonly holds: boolean
  readonly held: readonly Address[]
  readonly group: {
    readonly cleanup: Pick<Cleanup, 'armLater' | 'guarded' | 'guardianLost' | 'settleLater'>
    noticeExecution(now: Millis): boolean
  }
  setFault(fault: Fault, present: boolean, canSend: boolean, now: Millis): void
  readonly takeover: { installed(): void }
  /** Announces a VIP again, because the router installed it again after another program had removed it. */
  announceAgain(now: Millis): void
}

/**
 * Milliseconds for which the fault lasts after the retry of an installation failed (ground rule 6: addresses within 10
 * ms, or priority 0).
 */
const BACKOFF_FIRST = 10_000
const BACKOFF_LAST = 300_000

export class AddressDuty {
  readonly #router: AddressHolder
  readonly #keeper: AddressKeeper
  #faultClearAt: Millis | undefined
  #backoff = BACKOFF_FIRST
  /**
   * Interface and source address with which the router last removed its addresses; `undefined` if the router has
   * removed none.
   */
  #removedFrom: Place | undefined

  constructor(router: AddressHolder, keeper: AddressKeeper) {
    this.#router = router
    this.#keeper = keeper
  }

  /**
   * Time at which the router's addresses next need work; `undefined` if no work is planned. Every turn reads this for
   * every router, so it allocates no memory.
   */
  get nextAt(): Millis | undefined {
    const { afterthoughtAt, restorationsPaused, repairAt } = this.#keeper
    return sooner(sooner(repairAt, afterthoughtAt), sooner(this.#faultClearAt, restorationsPaused?.until))
  }

  /**
   * Returns the installation of the router's missing addresses that is due in this turn; `undefined` if nothing is due.
   */
  takeRepair(now: Millis): (() => Act | undefined) | undefined {
    if (this.#keeper.takeAfterthought(now) && !this.#router.holds) return () => this.#removeAgain()
    if (!this.#keeper.takeRepair(now)) return undefined
    if (this.#router.state.name === 'Active') return () => this.#install(this.#target(), false, now)
    this.#finishRemoval(now)
    return undefined
  }

  /** Clears the router's address faults (`addressInstallFailed`, `restorationsPaused`) whose time is over. */
  endFaults(now: Millis): void {
    if (this.#keeper.takePauseEnd(now)) this.#router.setFault('restorationsPaused', false, false, now)
    if (this.#faultClearAt !== undefined && now >= this.#faultClearAt) {
      this.#faultClearAt = undefined
      this.#router.setFault('addressInstallFailed', false, false, now)
    }
  }

  /** Forgets earlier failed installations of the router's addresses, so that the next attempt is not delayed. */
  forgive(now: Millis): void {
    this.#faultClearAt = undefined
    this.#backoff = BACKOFF_FIRST
    this.#router.setFault('addressInstallFailed', false, false, now)
  }

  install(place: Place, now: Millis): Act | undefined {
    return this.#install(this.#target(place), true, now)
  }

  remove(place: Place, addresses: readonly Address[]): Act | undefined {
    const target = this.#target(place)
    if (target === undefined) return undefined
    this.#removedFrom = place
    const items = this.#keeper.removalSteps(target, addresses)
    return { kind: 'apply', items, done: (outcomes, now) => this.#keeper.removed(outcomes, now) }
  }

  /** Undoes a change of the router's addresses by another program. */
  restore(now: Millis): void {
    const target = this.#target()
    if (target === undefined) return
    const router = this.#router
    // Addresses that our guardian has removed must not return (ground rule 3: a node that was away listens first).
    if (router.group.noticeExecution(now)) return
    // A guardian removes the lifetime of an address that should have no lifetime.
    const ending = target.lifetime === undefined && router.group.cleanup.guarded
    if (ending && target.wanted.some((wanted) => target.io.where(wanted.address).some((is) => hasAnEnd(is, wanted)))) {
      router.group.cleanup.armLater()
    }
    const outcome = this.#keeper.restore(target, router.state.name, now)
    if (router.group.noticeExecution(now)) return
    if (router.state.name !== 'Active') return
    // Ground rule 6: a router that advertises has its addresses. If this router cannot keep its addresses, it goes into
    // fault, and another node takes over.
    if (outcome === 'paused') router.setFault('restorationsPaused', true, true, now)
    else if (outcome === 'restored') router.announceAgain(now)
  }

  /** Returns the addresses that the router answers for in its present state. */
  #wanted(): readonly WantedAddress[] {
    return this.placesOf(this.#router.held)
  }

  /**
   * Returns the target state of the router's addresses; `undefined` if the addresses are the node's own (priority 255),
   * or the interface does not exist.
   */
  #target({ io, parameters }: Place = this.#router): AddressTarget | undefined {
    if (io === undefined || ownsAddresses(parameters)) return undefined
    const { group, places, spec } = this.#router
    const placeOf = (address: Address) => places.at(address, io)
    const lifetime = group.cleanup.guarded ? lifetimeOf(spec.lifetime, parameters) : undefined
    return {
      io,
      managed: parameters.addresses,
      placeOf,
      wanted: this.#wanted(),
      lifetime,
      mayAdd: !group.cleanup.guardianLost,
    }
  }

  /** Returns interface, prefix length and label of these addresses in the kernel. */
  placesOf(addresses: readonly Address[]): readonly WantedAddress[] {
    const { io, places } = this.#router
    return io === undefined ? [] : places.all(addresses, io)
  }

  /**
   * Compares the installed addresses before and after a reload. `isMoved` is true if an address has another interface
   * or prefix length. `reform` changes the kernel; `undefined` if no address changed.
   */
  reformFrom(before: readonly WantedAddress[]): { readonly isMoved: boolean; readonly reform: Order | undefined } {
    if (ownsAddresses(this.#router.parameters)) return { isMoved: false, reform: undefined }
    let isMoved = false
    // The label of an address cannot be changed in the kernel, so the address is removed first.
    const renamed: Address[] = []
    for (const after of this.#wanted()) {
      const was = before.find(({ address }) => address === after.address)
      if (was === undefined) continue
      if (was.interfaceIndex !== after.interfaceIndex || was.prefixLength !== after.prefixLength) isMoved = true
      else if (was.label !== after.label) renamed.push(after.address)
    }
    const changed = isMoved || renamed.length > 0
    return { isMoved, reform: changed ? (now) => this.#reform(renamed, now) : undefined }
  }

  #reform(renamed: readonly Address[], now: Millis): Act | undefined {
    const target = this.#target()
    const before = target === undefined ? [] : this.#keeper.removalSteps(target, renamed)
    return this.#install(target, true, now, before)
  }

  #install(
    target: AddressTarget | undefined,
    mayRetry: boolean,
    at: Millis,
    before: readonly AddressStep[] = [],
  ): Act | undefined {
    const { group } = this.#router
    // This code looks before and after the addresses are installed whether the guardian executed the cleanup plan. If the
    // guardian did, the state Returning removes the addresses that were added in between.
    if (target === undefined || group.noticeExecution(at)) return undefined
    return {
      kind: 'apply',
      items: [...before, ...this.#keeper.installSteps(target)],
      done: (outcomes, now) => {
        const outcome = this.#keeper.installed(outcomes, now, mayRetry)
        if (group.noticeExecution(now)) return
        if (outcome === 'installed') {
          this.#backoff = BACKOFF_FIRST
          this.#router.takeover.installed()
        }
        if (outcome !== 'failed') return
        this.#faultClearAt = plus(now, this.#backoff)
        this.#backoff = Math.min(this.#backoff * 2, BACKOFF_LAST)
        this.#router.setFault('addressInstallFailed', true, true, now)
      },
    }
  }

  /** Removes the router's addresses once more, because the guardian may have renewed them during the first removal. */
  #removeAgain(): Act | undefined {
    const place = this.#router.io === undefined ? this.#removedFrom : this.#router
    const target = place === undefined ? undefined : this.#target(place)
    if (target === undefined || this.#router.holds) return undefined
    const items = this.#keeper.removalSteps(target, target.managed)
    return { kind: 'apply', items, done: (outcomes, now) => this.#keeper.removed(outcomes, now) }
  }

  #finishRemoval(now: Millis): void {
    // A router without an interface removes its addresses where it last removed them, because they may still be there.
    const target = this.#target() ?? this.#target(this.#removedFrom)
    if (target === undefined) return
    if (this.#keeper.finishRemoval(target, now)) this.#router.group.cleanup.settleLater()
  }
}
