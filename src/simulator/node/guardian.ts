/**
 * Models the guardian (native/guardian): the engine's words in shared memory, its cleanup plans and their deadlines,
 * the renewal of address lifetimes, and the execution of plans. A simulated guardian may be stopped and killed, too. A
 * full channel and a busy word are not modelled.
 */
import type { CleanupPlan, GuardianPort } from '../../daemon/ports.ts'
import { type Millis, millis } from '../../wire/units.ts'
import type { Cancel } from '../virtual-time.ts'
import type { Carried } from '../wire.ts'
import type { Kernel } from './kernel.ts'
import type { LocalClock, Timers } from './local-clock.ts'

const RENEWALS = 3

export type GuardianContext = {
  readonly clock: LocalClock
  readonly timers: Timers
  readonly kernel: Kernel
  readonly send: (carried: Carried) => void
  readonly note: (text: string) => void
  /** True if the guardian executes cleanup plans. False: the guardian only renews address lifetimes. */
  readonly executes: boolean
}

type Unit = {
  plan: CleanupPlan | undefined
  word: 'withdrawn' | 'armed' | 'executed'
  deadline: number | undefined
}

export class Guardian {
  readonly #context: GuardianContext
  readonly #units = new Map<number, Unit>()
  #alive = true
  #stoppedAt: number | undefined
  #executions = 0
  #onCall: () => void = () => {}
  #look: Cancel | undefined
  #renewal: Cancel | undefined
  #period: number | undefined

  constructor(context: GuardianContext) {
    this.#context = context
  }

  get alive(): boolean {
    return this.#alive
  }

  stop(): void {
    this.#stoppedAt ??= this.#context.clock.now()
    this.#context.timers.hold()
  }

  goOn(): void {
    this.#stoppedAt = undefined
    this.#context.timers.release()
    if (this.#alive && this.#context.executes) this.#keepDeadlines()
  }

  get running(): boolean {
    return this.#alive && this.#stoppedAt === undefined
  }

  /** Kills the guardian. A running engine notices the death. */
  kill(): void {
    this.#alive = false
    this.#context.timers.clear()
    this.#onCall()
  }

  /** Wakes the engine after a suspension of the machine, with the guardian's next beat. `wait`: ms until that beat. */
  callAfterSleep(wait: number): void {
    if (this.#alive) this.#context.timers.after(wait, () => this.#onCall())
  }

  /** Ends the guardian after it has executed the cleanup plans of an engine that has ended. */
  leave(): void {
    this.#alive = false
    this.#context.timers.clear()
  }

  /**
   * Executes the cleanup plans of all units, because the engine has ended: first removes the addresses of all units,
   * then sends packets. A unit that had left already sends no second priority 0.
   */
  engineGone(): void {
    if (!this.#alive || !this.#context.executes) return this.leave()
    const speaking = [...this.#units.values()].filter(({ word }) => word === 'armed')
    for (const unit of this.#units.values()) if (unit.word !== 'executed') this.#takeOff(unit)
    for (const unit of speaking) this.#release(unit)
    this.leave()
  }

  port(): GuardianPort {
    const unitOf = (unit: number): Unit => {
      const known = this.#units.get(unit) ?? { plan: undefined, word: 'withdrawn', deadline: undefined }
      this.#units.set(unit, known)
      return known
    }
    const stepDown = (unit: number) => {
      const known = unitOf(unit)
      const executed = known.word === 'executed'
      known.word = 'withdrawn'
      known.deadline = undefined
      return { executed, late: false }
    }
    const isAlive = () => this.#alive
    const executions = () => this.#executions
    return {
      arm: (plan) => {
        const known = unitOf(plan.unit)
        if (known.word === 'executed') return false
        known.word = 'armed'
        known.plan = plan
        if (plan.guard?.absentAt !== undefined) known.deadline = plan.guard.absentAt
        this.#setLook()
        this.#setRenewal()
        return true
      },
      stepDown,
      withdraw: (unit) => {
        stepDown(unit)
        this.#units.delete(unit)
      },
      sent: (unit, at) => {
        const known = unitOf(unit)
        if (known.word !== 'armed') return
        const nearer = known.deadline === undefined || at < known.deadline
        known.deadline = at
        if (nearer) this.#setLook()
      },
      state: (unit) => unitOf(unit).word,
      acknowledge: (unit) => {
        unitOf(unit).word = 'withdrawn'
        return true
      },
      get executions() {
        return executions()
      },
      listen: (onCall) => {
        this.#onCall = onCall
        return true
      },
      beat: (now) => (this.#alive ? { silent: this.#silentAt(now), isChanging: false } : undefined),
      get guarded() {
        return isAlive()
      },
      get armed() {
        return isAlive()
      },
    }
  }

  #silentAt(now: Millis): Millis {
    return millis(this.#stoppedAt === undefined ? 0 : now - this.#stoppedAt)
  }

  /**
   * Plans the guardian's next look at the cleanup plan. If a deadline has been moved to a later time, the look has no
   * effect.
   */
  #setLook(): void {
    this.#look?.()
    this.#look = undefined
    if (!this.#alive || !this.#context.executes) return
    let nearest: number | undefined
    for (const { word, deadline } of this.#units.values())
      if (word === 'armed' && deadline !== undefined && (nearest === undefined || deadline < nearest))
        nearest = deadline
    if (nearest === undefined) return
    const { clock, timers } = this.#context
    this.#look = timers.after(Math.max(0, nearest - clock.now()), () => this.#keepDeadlines())
  }

  #keepDeadlines(): void {
    const now = this.#context.clock.now()
    const late = [...this.#units.values()].filter(
      ({ word, deadline }) => word === 'armed' && deadline !== undefined && deadline <= now,
    )
    for (const unit of late) {
      unit.word = 'executed'
      this.#executions++
      this.#takeOff(unit)
    }
    for (const unit of late) {
      const until = (unit.deadline ?? 0) + (unit.plan?.guard?.grace ?? 0)
      unit.deadline = undefined
      if (now <= until) this.#release(unit)
    }
    this.#setLook()
  }

  #takeOff({ plan }: Unit): void {
    if (plan === undefined) return
    this.#context.note(`its guardian executes the cleanup plan of ${plan.name}`)
    for (const wanted of plan.remove) this.#context.kernel.remove(wanted)
  }

  #release({ plan }: Unit): void {
    if (!this.#context.kernel.carrier) return
    for (const { datagrams, family, source } of plan?.packets ?? [])
      for (const { bytes, destination, ttl = 255 } of datagrams)
        this.#context.send({ kind: 'vrrp', family, source, destination, ttl, bytes: bytes.slice() })
  }

  get #renewals() {
    return [...this.#units.values()].flatMap(({ word, plan }) =>
      word === 'armed' ? (plan?.guard?.renew.map((one) => ({ ...one, unit: plan.unit })) ?? []) : [],
    )
  }

  #setRenewal(): void {
    const lifetimes = this.#renewals.flatMap(({ lifetime }) => lifetime ?? [])
    const period = lifetimes.length === 0 ? undefined : (Math.min(...lifetimes) * 1_000) / RENEWALS
    if (period === this.#period && this.#renewal !== undefined) return
    this.#period = period
    this.#renewal?.()
    this.#renewal = period === undefined ? undefined : this.#context.timers.after(period, () => this.#renew())
  }

  #renew(): void {
    this.#renewal = undefined
    for (const { lifetime, ...wanted } of this.#renewals) this.#context.kernel.put(wanted, lifetime)
    this.#period = undefined
    this.#setRenewal()
  }
}
