/**
 * One router's addresses as a target state: brings the kernel to what is wanted, tries again what failed, and undoes
 * what another program did. Decided here: when there is another try, and what a failed one means. Refuses to know
 * states, advertisements and the cleanup plan; the router names what is wanted.
 */
import type { EventOf } from '../../events/event.ts'
import type { Address } from '../../wire/address.ts'
import { type Millis, plus } from '../../wire/units.ts'
import type { AddressOutcome, AddressStep, PresentAddress, WantedAddress } from '../ports.ts'
import { Counters, type Recorder } from '../telemetry/recorder.ts'
import { RATES, suppressedField, TokenBucket } from '../telemetry/token-bucket.ts'
import { addressFlags } from './address-flags.ts'
import type { Base } from './address-places.ts'
import { isOurs, reconcile } from './reconcile.ts'
import { MOST_RESTORATIONS, type Pause, RestorationLimit } from './restoration-limit.ts'

export type AddressIo = Base & {
  where(address: Address): readonly PresentAddress[]
  apply(steps: readonly AddressStep[]): readonly AddressOutcome[]
  /** Returns the name of an interface for a sentence. */
  nameOf(interfaceIndex: number): string
}

export type AddressTarget = {
  readonly io: AddressIo
  /** Addresses that the router adds and removes. */
  readonly managed: readonly Address[]
  /** Those of them that should be here now. */
  readonly wanted: readonly WantedAddress[]
  /** Returns the place of an address when it is here; `undefined`: nowhere. */
  readonly placeOf: (address: Address) => WantedAddress | undefined
  /** Seconds after which the kernel drops an added address, unless the guardian renews it; `undefined` = never. */
  readonly lifetime: number | undefined
  /** False: no guardian renews addresses any more. What the kernel has dropped then stays off. */
  readonly mayAdd: boolean
}

/** Milliseconds. Ground rule 6: one retry. A removal is tried for ever. */
const REPAIR_AFTER = 10
const REPAIR_AGAIN = 1_000
/**
 * Milliseconds in which a guardian that was held up for longer than its renewal lasts reads the word and undoes its
 * work itself.
 */
const AFTERTHOUGHT = 50
/** Milliseconds in which an address that appears does not count as added by another program. */
const DOUBT = 1_000

export class AddressKeeper {
  readonly foreignChanges = new Counters()
  readonly #router: string
  readonly #recorder: Recorder
  #repairAt: Millis | undefined
  #stuck = false
  #afterthoughtAt: Millis | undefined
  #doubtedUntil: Millis | undefined
  readonly #limit = new RestorationLimit()
  readonly #bucket = new TokenBucket(RATES.foreignChange)

  constructor(router: string, recorder: Recorder) {
    this.#router = router
    this.#recorder = recorder
  }

  /** Time of the next try, while the addresses are not as they should be. */
  get repairAt(): Millis | undefined {
    return this.#repairAt
  }

  /** Time at which removed addresses are removed once more, unseen. */
  get afterthoughtAt(): Millis | undefined {
    return this.#afterthoughtAt
  }

  /** A late guardian may have put an address back: looks again a moment from now, even without a notification. */
  doubtRemoval(now: Millis): void {
    this.#afterthoughtAt = plus(now, AFTERTHOUGHT)
    this.#doubtedUntil = plus(now, DOUBT)
  }

  /** Returns true once when the second removal is due. */
  takeAfterthought(now: Millis): boolean {
    if (this.#afterthoughtAt === undefined || now < this.#afterthoughtAt) return false
    this.#afterthoughtAt = undefined
    return true
  }

  /** An address could not be removed: the cleanup plan must stay with the guardian until it is gone. */
  get stuck(): boolean {
    return this.#stuck
  }

  /** Another program removes addresses faster than it makes sense to put them back. */
  get restorationsPaused(): Pause | undefined {
    return this.#limit.pause
  }

  /** Returns true once when the pause is over. */
  takePauseEnd(now: Millis): boolean {
    return this.#limit.takeEnd(now)
  }

  /** Returns true once when the try is due. */
  takeRepair(now: Millis): boolean {
    if (this.#repairAt === undefined || now < this.#repairAt) return false
    this.#repairAt = undefined
    return true
  }

  /** Adds every address, also those that the view has already: a router that advertises must not be mistaken. */
  installSteps(target: AddressTarget): readonly AddressStep[] {
    const removals = stepsTo(target).filter(({ action }) => action === 'remove')
    const { lifetime } = target
    return [...removals, ...target.wanted.map((wanted): AddressStep => ({ action: 'add', ...wanted, lifetime }))]
  }

  /** Takes the outcomes of installSteps(). */
  installed(outcomes: readonly AddressOutcome[], now: Millis, mayRetry: boolean): 'installed' | 'retrying' | 'failed' {
    if (this.#failedOf(outcomes).length === 0) {
      this.#stuck = false
      return 'installed'
    }
    if (!mayRetry) return 'failed'
    this.#repairAt = plus(now, REPAIR_AFTER)
    return 'retrying'
  }

  /** Removes unconditionally: what the kernel has counts, not what the view has. */
  removalSteps({ placeOf }: AddressTarget, addresses: readonly Address[]): readonly AddressStep[] {
    return addresses.flatMap((address) => {
      const place = placeOf(address)
      return place === undefined ? [] : { action: 'remove', ...place }
    })
  }

  /** Takes the outcomes of removalSteps(). */
  removed(outcomes: readonly AddressOutcome[], now: Millis): void {
    if (this.#failedOf(outcomes).length === 0) return
    this.#stuck = true
    this.#repairAt = plus(now, REPAIR_AFTER)
  }

  /**
   * Removes what is left: two hosts that answer are worse than any number of retries (ground rule 4). Returns true when
   * nothing is left.
   */
  finishRemoval(target: AddressTarget, now: Millis): boolean {
    if (!this.#reach(target)) {
      this.#repairAt = plus(now, REPAIR_AGAIN)
      return false
    }
    this.#stuck = false
    return true
  }

  /**
   * Undoes, counts and reports a foreign change. Restored: an address was put back, so the LAN must hear of it. Paused:
   * an address that should be here is not, and is not put back.
   */
  restore(target: AddressTarget, state: string, now: Millis): 'unchanged' | 'restored' | 'paused' {
    const due = stepsTo(target)
    if (due.length === 0) return 'unchanged'
    const steps = due.filter(({ action, address }) => action === 'remove' || this.#limit.allow(address, now))
    const isLate = state !== 'Active' && this.#doubtedUntil !== undefined && now < this.#doubtedUntil
    for (const step of due) if (!isLate) this.#tell(target.io, step, { state, done: steps.includes(step), now })
    const failed = this.#apply(target.io, steps)
    // Ground rule 6 holds for a restoration as for a takeover.
    if (failed.length > 0) this.#repairAt = plus(now, REPAIR_AFTER)
    if (steps.length < due.length) return 'paused'
    return steps.some((step) => step.action === 'add' && !failed.includes(step)) ? 'restored' : 'unchanged'
  }

  /** Netlink reports what was done and where, not which program did it. */
  #tell(
    io: AddressIo,
    { action, address, interfaceIndex, prefixLength }: AddressStep,
    { done, now, state }: { readonly state: string; readonly done: boolean; readonly now: Millis },
  ) {
    const kind = action === 'add' ? 'removed' : 'added'
    this.foreignChanges.add(kind)
    const interfaceName = io.nameOf(interfaceIndex)
    const flags = io.where(address).find((present) => present.interfaceIndex === interfaceIndex)?.flags
    const fields = {
      router: this.#router,
      address,
      prefixLength,
      interface: interfaceName,
      change: kind,
      state,
      ...(flags === undefined ? {} : { flags: addressFlags(flags) }),
    }
    this.#record({ router: this.#router, address, interface: interfaceName, change: kind }, done, now)
    const where = `${address}/${prefixLength} ${action === 'add' ? 'from' : 'to'} "${interfaceName}"`
    const answer = action === 'remove' ? 'removing it' : done ? 'adding it again' : 'not added again'
    this.#recorder.logLimited(
      `${this.#router} foreign ${kind} ${address} ${done}`,
      'warn',
      `${this.#router}: somebody else ${kind} ${where}: ${answer}`,
      fields,
    )
    if (done || this.#limit.pause === undefined) return
    this.#recorder.logLimited(
      `${this.#router} paused ${this.#limit.pause.until}`,
      'error',
      `${this.#router}: ${address} was removed more than ${MOST_RESTORATIONS} times in a minute: resigning for a while`,
      { ...fields, restorationsPausedUntilMs: this.#limit.pause.until },
    )
  }

  #record(
    what: Pick<EventOf<'foreignChange'>, 'router' | 'address' | 'interface' | 'change'>,
    done: boolean,
    now: Millis,
  ) {
    const refused = this.#bucket.take(now)
    if (refused === undefined) return
    const answer = what.change === 'added' ? 'removedAgain' : done ? 'addedAgain' : 'left'
    this.#recorder.chronicle.record({ kind: 'foreignChange', ...what, answer, ...suppressedField(refused) })
  }

  #reach(target: AddressTarget): boolean {
    return this.#apply(target.io, stepsTo(target)).length === 0
  }

  #apply(io: AddressIo, steps: readonly AddressStep[]): readonly AddressStep[] {
    return this.#failedOf(io.apply(steps))
  }

  /** Returns the steps that failed, each logged. */
  #failedOf(outcomes: readonly AddressOutcome[]): readonly AddressStep[] {
    return outcomes.flatMap((outcome) => {
      if (outcome.ok) return []
      const { code, message } = outcome.failure
      const { address, action } = outcome.step
      const key = `${this.#router} address ${action} ${address} ${code}`
      this.#recorder.logLimited(key, 'error', `${this.#router}: ${message}`, { router: this.#router, address, code })
      return [outcome.step]
    })
  }
}

function stepsTo({ io, lifetime, managed, mayAdd, placeOf, wanted }: AddressTarget): readonly AddressStep[] {
  const present = managed.flatMap((address) => {
    const interfaceIndex = placeOf(address)?.interfaceIndex ?? io.interfaceIndex
    return io.where(address).filter((each) => isOurs(each, interfaceIndex, io.nameOf(each.interfaceIndex)))
  })
  const steps = reconcile({ wanted, managed: new Set(managed), present })
  return steps.flatMap((step): readonly AddressStep[] =>
    step.action === 'remove' ? [step] : mayAdd ? [{ ...step, lifetime }] : [],
  )
}
