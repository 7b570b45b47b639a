/**
 * Keeps the addresses of one router in a target state: changes the kernel, repeats changes that failed, and undoes
 * changes by other programs. This file decides when to try again, and what a failed change means. This file knows
 * nothing about states, advertisements and the cleanup plan. The router sets the target state.
 */
import type { EventOf } from '../../events/event.ts'
import { LOG } from '../../log/log.ts'
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
  /** Returns the name of an interface for a log message. */
  nameOf(interfaceIndex: number): string
}

export type AddressTarget = {
  readonly io: AddressIo
  /** All addresses that this router adds and removes. */
  readonly managed: readonly Address[]
  /** Addresses of `managed` that should be installed at present. */
  readonly wanted: readonly WantedAddress[]
  /** Returns interface and prefix length for an address; `undefined` if the interface does not exist. */
  readonly placeOf: (address: Address) => WantedAddress | undefined
  /** Seconds after which the kernel removes an address that the guardian does not renew; `undefined`: never. */
  readonly lifetime: number | undefined
  /** False if no guardian renews addresses. Addresses that the kernel has removed are then not installed again. */
  readonly mayAdd: boolean
}

/**
 * Milliseconds until the retry of a failed change (ground rule 6: addresses within 10 ms, or priority 0), and between
 * further attempts to remove an address.
 */
const REPAIR_AFTER = 10
const REPAIR_AGAIN = 1_000
/**
 * Milliseconds after which removed addresses are removed once more. A guardian whose renewal was delayed has by then
 * noticed that its plan was withdrawn. A guardian with a withdrawn plan has removed the addresses that it renewed.
 */
const AFTERTHOUGHT = 50
/** Milliseconds in which a reappearing address does not count as a change by another program. */
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

  /**
   * Time of the next attempt to change the kernel, while the addresses are not in the target state; otherwise
   * `undefined`.
   */
  get repairAt(): Millis | undefined {
    return this.#repairAt
  }

  /** Time at which removed addresses are removed once more; `undefined` if no second removal is planned. */
  get afterthoughtAt(): Millis | undefined {
    return this.#afterthoughtAt
  }

  /** Schedules a second removal, because a late guardian may have installed an address again. */
  doubtRemoval(now: Millis): void {
    this.#afterthoughtAt = plus(now, AFTERTHOUGHT)
    this.#doubtedUntil = plus(now, DOUBT)
  }

  /** Returns true once when the second removal of the addresses is due (see doubtRemoval()). */
  takeAfterthought(now: Millis): boolean {
    if (this.#afterthoughtAt === undefined || now < this.#afterthoughtAt) return false
    this.#afterthoughtAt = undefined
    return true
  }

  /** True if an address could not be removed. The guardian then keeps the cleanup plan until the address is gone. */
  get stuck(): boolean {
    return this.#stuck
  }

  /**
   * Pause in which the daemon does not install addresses, because another program removes them repeatedly; `undefined`
   * outside of a pause.
   */
  get restorationsPaused(): Pause | undefined {
    return this.#limit.pause
  }

  /** Returns true once when the pause of restorations is over. */
  takePauseEnd(now: Millis): boolean {
    return this.#limit.takeEnd(now)
  }

  /** Returns true once when the next attempt to change the kernel is due. */
  takeRepair(now: Millis): boolean {
    if (this.#repairAt === undefined || now < this.#repairAt) return false
    this.#repairAt = undefined
    return true
  }

  /**
   * Returns requests that add every address, even addresses that seem to be installed already. A router that advertises
   * must be certain.
   */
  installSteps(target: AddressTarget): readonly AddressStep[] {
    const removals = stepsTo(target).filter(({ action }) => action === 'remove')
    const { lifetime } = target
    return [...removals, ...target.wanted.map((wanted): AddressStep => ({ action: 'add', ...wanted, lifetime }))]
  }

  /** Handles the outcomes of the requests from installSteps(). */
  installed(outcomes: readonly AddressOutcome[], now: Millis, mayRetry: boolean): 'installed' | 'retrying' | 'failed' {
    if (this.#failedOf(outcomes).length === 0) {
      this.#stuck = false
      return 'installed'
    }
    if (!mayRetry) return 'failed'
    this.#repairAt = plus(now, REPAIR_AFTER)
    return 'retrying'
  }

  /**
   * Returns requests that remove the addresses, even addresses that seem to be removed already, because only the
   * kernel's state counts.
   */
  removalSteps({ placeOf }: AddressTarget, addresses: readonly Address[]): readonly AddressStep[] {
    return addresses.flatMap((address) => {
      const place = placeOf(address)
      return place === undefined ? [] : { action: 'remove', ...place }
    })
  }

  /** Handles the outcomes of the requests from removalSteps(). */
  removed(outcomes: readonly AddressOutcome[], now: Millis): void {
    if (this.#failedOf(outcomes).length === 0) return
    this.#stuck = true
    this.#repairAt = plus(now, REPAIR_AFTER)
  }

  /**
   * Removes the remaining addresses, because two hosts that answer are worse than any number of attempts (ground rule
   * 4: no VIP outlives its holder). Returns true if no address is left.
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
   * Undoes, counts and reports a change of the router's addresses by another program. Returns `restored` if an address
   * was installed again and must be announced. Returns `paused` if an address is missing and is not installed again.
   */
  restore(target: AddressTarget, state: string, now: Millis): 'unchanged' | 'restored' | 'paused' {
    const due = stepsTo(target)
    if (due.length === 0) return 'unchanged'
    const steps = due.filter(({ action, address }) => action === 'remove' || this.#limit.allow(address, now))
    const isLate = state !== 'Active' && this.#doubtedUntil !== undefined && now < this.#doubtedUntil
    for (const step of due) if (!isLate) this.#tell(target.io, step, { state, done: steps.includes(step), now })
    const failed = this.#apply(target.io, steps)
    // Ground rule 6 applies to a restored address as to a takeover.
    if (failed.length > 0) this.#repairAt = plus(now, REPAIR_AFTER)
    if (steps.length < due.length) return 'paused'
    return steps.some((step) => step.action === 'add' && !failed.includes(step)) ? 'restored' : 'unchanged'
  }

  /** Logs that another program changed an address. Netlink does not report which program. */
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
      LOG.foreignChange,
      `${this.#router}: another program ${kind} ${where}: ${answer}`,
      fields,
    )
    if (done || this.#limit.pause === undefined) return
    this.#recorder.logLimited(
      `${this.#router} paused ${this.#limit.pause.until}`,
      LOG.restorationsPaused,
      `${this.#router}: ${address} was removed more than ${MOST_RESTORATIONS} times in a minute by another program: the router gives its addresses up for a while`,
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

  /** Returns the address changes that failed, and logs each of them. */
  #failedOf(outcomes: readonly AddressOutcome[]): readonly AddressStep[] {
    return outcomes.flatMap((outcome) => {
      if (outcome.ok) return []
      const { code, message } = outcome.failure
      const { address, action } = outcome.step
      const key = `${this.#router} address ${action} ${address} ${code}`
      this.#recorder.logLimited(key, LOG.addressChangeFailed, `${this.#router}: ${message}`, {
        router: this.#router,
        address,
        code,
      })
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
