/**
 * One router's addresses as a target state (design.md §2): brings the kernel to what is wanted, tries again what
 * failed, and undoes what somebody else did. Decided here: when there is another try, and what a failed one means.
 * Refuses to know states, advertisements and the last will; the router tells it what is wanted.
 */
import type { Address } from '../wire/address.ts'
import { type Millis, plus } from '../wire/units.ts'
import type { AddressOutcome, AddressStep, PresentAddress, WantedAddress } from './ports.ts'
import { reconcile } from './reconcile.ts'
import { Counters, type Recorder } from './recorder.ts'

export type AddressIo = {
  readonly interfaceIndex: number
  where(address: Address): readonly PresentAddress[]
  apply(steps: readonly AddressStep[]): readonly AddressOutcome[]
}

export type AddressTarget = {
  readonly io: AddressIo
  /** Ours to add and remove. */
  readonly managed: readonly Address[]
  /** Those of them that should be here now. */
  readonly wanted: readonly WantedAddress[]
}

/** Ground rule 6: one retry. A removal is tried on for ever. */
const REPAIR_AFTER = 10
const REPAIR_AGAIN = 1_000

/** A VIP is a host address: anything shorter could become another address's primary, or the node's source. */
export const hostPrefix = (address: Address): number => (address.includes(':') ? 128 : 32)

export class AddressKeeper {
  readonly foreignChanges = new Counters()
  readonly #router: string
  readonly #recorder: Recorder
  #repairAt: Millis | undefined
  #stuck = false

  constructor(router: string, recorder: Recorder) {
    this.#router = router
    this.#recorder = recorder
  }

  /** The addresses are not as they should be; the next try. */
  get repairAt(): Millis | undefined {
    return this.#repairAt
  }

  /** An address could not be removed: its last will must stay with the guardian until it is gone. */
  get stuck(): boolean {
    return this.#stuck
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
    return [...removals, ...target.wanted.map((wanted): AddressStep => ({ action: 'add', ...wanted }))]
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
  removalSteps({ io }: AddressTarget, addresses: readonly Address[]): readonly AddressStep[] {
    const { interfaceIndex } = io
    return addresses.map((address) => ({
      action: 'remove',
      interfaceIndex,
      address,
      prefixLength: hostPrefix(address),
    }))
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

  /** Undoes, counts and tells a foreign change. True when an address was put back, so that the LAN must hear of it. */
  restore(target: AddressTarget, state: string, now: Millis): boolean {
    const steps = stepsTo(target)
    if (steps.length === 0) return false
    for (const { action, address } of steps) {
      this.foreignChanges.add(action === 'add' ? 'removed' : 'added')
      const done = action === 'add' ? ['removed', 'adding it again'] : ['added', 'removing it']
      this.#recorder.log('warn', `${this.#router}: somebody else ${done[0]} ${address}: ${done[1]}`, {
        router: this.#router,
        address,
        state,
      })
    }
    const failed = this.#apply(target.io, steps)
    // Ground rule 6 holds for a restoration as for a takeover.
    if (failed.length > 0) this.#repairAt = plus(now, REPAIR_AFTER)
    return steps.some((step) => step.action === 'add' && !failed.includes(step))
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

function stepsTo({ io, managed, wanted }: AddressTarget): readonly AddressStep[] {
  return reconcile({ wanted, managed: new Set(managed), present: managed.flatMap((address) => io.where(address)) })
}
