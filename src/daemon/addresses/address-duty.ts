/**
 * What a router owes its addresses: which of them should be here in its present state, where they were when it left
 * them, and when a failure to keep them is a fault of the router, and for how long (ground rule 6). Refuses to know
 * packets, groups' decisions and how the kernel is brought to a target, which is address-keeper.ts's.
 */
import { ownsAddresses, type Parameters } from '../../vrrp/parameters.ts'
import type { Address } from '../../wire/address.ts'
import { type Millis, plus, sooner } from '../../wire/units.ts'
import type { Act } from '../effect-runner.ts'
import { hasAnEnd } from '../guard/last-will.ts'
import type { AddressStep, WantedAddress } from '../ports.ts'
import type { Router } from '../router.ts'
import type { AddressIo, AddressKeeper, AddressTarget } from './address-keeper.ts'
import { lifetimeOf } from './lifetime.ts'

/** Where the addresses are, and which: of the moment of a decision. */
type Place = { readonly io: AddressIo | undefined; readonly parameters: Parameters }

/** Ground rule 6: after the retry, FAULT with a backoff. */
const BACKOFF_FIRST = 10_000
const BACKOFF_LAST = 300_000

export class AddressDuty {
  readonly #router: Router
  readonly #keeper: AddressKeeper
  #faultClearAt: Millis | undefined
  #backoff = BACKOFF_FIRST
  /** Where addresses were last taken off. */
  #removedFrom: Place | undefined

  constructor(router: Router, keeper: AddressKeeper) {
    this.#router = router
    this.#keeper = keeper
  }

  /** Asked of every router at the end of every turn, as all deadlines are: it makes nothing that has to be collected. */
  get nextAt(): Millis | undefined {
    const { afterthoughtAt, restorationsPaused, repairAt } = this.#keeper
    return sooner(sooner(repairAt, afterthoughtAt), sooner(this.#faultClearAt, restorationsPaused?.until))
  }

  /** What is to be done with the others' effects of this turn, if a try is due. */
  takeRepair(now: Millis): (() => Act | undefined) | undefined {
    if (this.#keeper.takeAfterthought(now) && !this.#router.holds) return () => this.#removeAgain()
    if (!this.#keeper.takeRepair(now)) return undefined
    if (this.#router.state.name === 'Active') return () => this.#install(this.#target(), false, now)
    this.#finishRemoval(now)
    return undefined
  }

  /** Those whose time is over. */
  endFaults(now: Millis): void {
    if (this.#keeper.takePauseEnd(now)) this.#router.setFault('restorationsPaused', false, false, now)
    if (this.#faultClearAt !== undefined && now >= this.#faultClearAt) {
      this.#faultClearAt = undefined
      this.#router.setFault('addressInstallFailed', false, false, now)
    }
  }

  /** As if nothing had failed so far. */
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

  /** Somebody else changed one. */
  restore(now: Millis): void {
    const target = this.#target()
    if (target === undefined) return
    const router = this.#router
    // It was our guardian that took them off: then they must not come back (ground rule 3).
    if (router.group.noticeExecution(now)) return
    // With an end that they should not have: the guardian takes it away.
    const ending = target.lifetime === undefined && router.group.will.guarded
    if (ending && target.wanted.some((wanted) => target.io.where(wanted.address).some((is) => hasAnEnd(is, wanted)))) {
      router.group.will.armLater()
    }
    const outcome = this.#keeper.restore(target, router.state.name, now)
    if (router.group.noticeExecution(now)) return
    if (router.state.name !== 'Active') return
    // Ground rule 6: whoever advertises has its addresses. Somebody else may be able to keep them.
    if (outcome === 'paused') router.setFault('restorationsPaused', true, true, now)
    else if (outcome === 'restored') router.io?.announce(router, 'rival', now)
  }

  /** The addresses that the router answers for in its present state. */
  #wanted(): readonly WantedAddress[] {
    const { io, held, places } = this.#router
    return io === undefined ? [] : places.all(held, io)
  }

  /** Undefined: there is nothing to keep, because the addresses are the node's own (255) or there is no interface. */
  #target({ io, parameters }: Place = this.#router): AddressTarget | undefined {
    if (io === undefined || ownsAddresses(parameters)) return undefined
    const { group, places, spec } = this.#router
    const placeOf = (address: Address) => places.at(address, io)
    const lifetime = group.will.guarded ? lifetimeOf(spec.lifetime, parameters) : undefined
    return {
      io,
      managed: parameters.addresses,
      placeOf,
      wanted: this.#wanted(),
      lifetime,
      mayAdd: !group.will.forsaken,
    }
  }

  /** A reload wants these elsewhere or under another label: a label cannot be changed in place. */
  reform(renamed: readonly Address[], now: Millis): Act | undefined {
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
    // Before and after: what was added meanwhile is taken off on the way to Returning.
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

  /** A renewal was under way when they were taken off, and may have brought them back. */
  #removeAgain(): Act | undefined {
    const place = this.#router.io === undefined ? this.#removedFrom : this.#router
    const target = place === undefined ? undefined : this.#target(place)
    if (target === undefined || this.#router.holds) return undefined
    const items = this.#keeper.removalSteps(target, target.managed)
    return { kind: 'apply', items, done: (outcomes, now) => this.#keeper.removed(outcomes, now) }
  }

  #finishRemoval(now: Millis): void {
    // Nowhere any more: what could not be taken off where it was may be gone with its interface, and may not.
    const target = this.#target() ?? this.#target(this.#removedFrom)
    if (target === undefined) return
    if (this.#keeper.finishRemoval(target, now)) this.#router.group.will.settleLater()
  }
}
