/**
 * One router's addresses as a target state (docs/architecture.md): brings the kernel to what is wanted, tries again what
 * failed, and undoes what somebody else did. Decided here: when there is another try, and what a failed one means.
 * Refuses to know states, advertisements and the last will; the router tells it what is wanted.
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
  /** What to call an interface in a sentence. */
  nameOf(interfaceIndex: number): string
}

export type AddressTarget = {
  readonly io: AddressIo
  /** Ours to add and remove. */
  readonly managed: readonly Address[]
  /** Those of them that should be here now. */
  readonly wanted: readonly WantedAddress[]
  /** Where one of them is when it is here; undefined: nowhere. */
  readonly placeOf: (address: Address) => WantedAddress | undefined
  /** What is added is dropped by the kernel after so many seconds, unless the guardian renews it; undefined = never. */
  readonly lifetime: number | undefined
  /** False: there is nobody to renew any more. What the kernel has dropped then stays off. */
  readonly mayAdd: boolean
}

/** Ground rule 6: one retry. A removal is tried on for ever. */
const REPAIR_AFTER = 10
const REPAIR_AGAIN = 1_000
/** A guardian that was held up for longer than its renewal lasts looks at the word and takes its work back itself. */
const AFTERTHOUGHT = 50
/** So long an address that appears is not called somebody else's. */
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

  /** The addresses are not as they should be; the next try. */
  get repairAt(): Millis | undefined {
    return this.#repairAt
  }

  /** What was taken off is taken off once more, unseen; the next try. */
  get afterthoughtAt(): Millis | undefined {
    return this.#afterthoughtAt
  }

  /** Somebody who was late may have put an address back: also where no notification says so, a moment from now. */
  doubtRemoval(now: Millis): void {
    this.#afterthoughtAt = plus(now, AFTERTHOUGHT)
    this.#doubtedUntil = plus(now, DOUBT)
  }

  /** True when it is due; it is then the caller's. */
  takeAfterthought(now: Millis): boolean {
    if (this.#afterthoughtAt === undefined || now < this.#afterthoughtAt) return false
    this.#afterthoughtAt = undefined
    return true
  }

  /** An address could not be removed: its last will must stay with the guardian until it is gone. */
  get stuck(): boolean {
    return this.#stuck
  }

  /** Somebody else removes addresses faster than it makes sense to put them back. */
  get restorationsPaused(): Pause | undefined {
    return this.#limit.pause
  }

  /** True when the pause is over; it is then the caller's to go on. */
  takePauseEnd(now: Millis): boolean {
    return this.#limit.takeEnd(now)
  }

  /** True when the try is due; it is then the caller's. */
  takeRepair(now: Millis): boolean {
    if (this.#repairAt === undefined || now < this.#repairAt) return false
    this.#repairAt = undefined
    return true
  }

  /** Asks for every address, also for those that we believe to have: a router that advertises must not be mistaken. */
  installSteps(target: AddressTarget): readonly AddressStep[] {
    const removals = stepsTo(target).filter(({ action }) => action === 'remove')
    const { lifetime } = target
    return [...removals, ...target.wanted.map((wanted): AddressStep => ({ action: 'add', ...wanted, lifetime }))]
  }

  /** What came of installSteps(). */
  installed(outcomes: readonly AddressOutcome[], now: Millis, mayRetry: boolean): 'installed' | 'retrying' | 'failed' {
    if (this.#failedOf(outcomes).length === 0) {
      this.#stuck = false
      return 'installed'
    }
    if (!mayRetry) return 'failed'
    this.#repairAt = plus(now, REPAIR_AFTER)
    return 'retrying'
  }

  /** Unconditionally: what the kernel has counts, not what we believe it has. */
  removalSteps({ placeOf }: AddressTarget, addresses: readonly Address[]): readonly AddressStep[] {
    return addresses.flatMap((address) => {
      const place = placeOf(address)
      return place === undefined ? [] : { action: 'remove', ...place }
    })
  }

  /** What came of removalSteps(). */
  removed(outcomes: readonly AddressOutcome[], now: Millis): void {
    if (this.#failedOf(outcomes).length === 0) return
    this.#stuck = true
    this.#repairAt = plus(now, REPAIR_AFTER)
  }

  /** Two hosts that answer are worse than any number of retries (ground rule 4). True when nothing is left. */
  finishRemoval(target: AddressTarget, now: Millis): boolean {
    if (!this.#reach(target)) {
      this.#repairAt = plus(now, REPAIR_AGAIN)
      return false
    }
    this.#stuck = false
    return true
  }

  /**
   * Undoes, counts and tells a foreign change. Restored: an address was put back, so the LAN must hear of it. Paused:
   * one that should be here is not and is not put back.
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

  /** Netlink says what was done and where, not who did it. */
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

  /** Returns the steps that failed, each told. */
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
