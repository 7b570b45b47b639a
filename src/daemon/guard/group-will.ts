/**
 * The last will of a sync group, or of a router alone: one for all members that hold addresses, with the earliest of their
 * deadlines, because who is absent for one is so for all (docs/architecture.md). Decided here: when the guardian is told what. Refuses to
 * know what a will says (last-will.ts), and what the members do about an execution.
 */
import { ownsAddresses } from '../../vrrp/parameters.ts'
import { type Millis, millis } from '../../wire/units.ts'
import type { EffectRunner } from '../effect-runner.ts'
import type { LastWillPort } from '../ports.ts'
import type { Router } from '../router.ts'
import { bequestOf, lastWillOf } from './last-will.ts'

export type GroupWillContext = {
  /** In the log of the guardian. */
  readonly name: () => string
  readonly members: () => readonly Router[]
  readonly runner: EffectRunner
  readonly will: LastWillPort
}

export class GroupWill {
  readonly unit: number
  /** There is no guardian any more: what the kernel drops is not put back. */
  forsaken = false
  /** Some member has to take addresses off. */
  letsGo = false
  readonly #context: GroupWillContext
  /** Whose part is in the will that the guardian has. */
  #willed = ''
  /** The guardian would act by it. */
  #armed = false
  /** A deadline that the guardian has been told. */
  #absentAt: Millis | undefined
  /** An execution that the members know of, and the guardian has not finished. */
  #unacknowledged = false

  constructor(unit: number, context: GroupWillContext) {
    this.unit = unit
    this.#context = context
  }

  /** Somebody keeps deadlines and renews lifetimes. */
  get guarded(): boolean {
    return this.#context.will.guarded && !this.forsaken
  }

  /** A crash would leave something behind. */
  get owes(): boolean {
    return this.#heirs() !== ''
  }

  get absentAt(): Millis | undefined {
    return this.#absentAt
  }

  get #members(): readonly Router[] {
    return this.#context.members()
  }

  /** False: a guardian that is held up while it executes; the same deadline asks again. */
  mayBegin(): boolean {
    const { will } = this.#context
    // They begin with their link, which comes back only once; the guardian takes nothing off them.
    if (this.#members.every(({ parameters }) => ownsAddresses(parameters))) return true
    if (will.state(this.unit) !== 'executed') return true
    return will.acknowledge(this.unit)
  }

  /** True, once: the guardian has acted. */
  noticeExecution(): boolean {
    if (this.#unacknowledged || this.#context.will.state(this.unit) !== 'executed') return false
    this.#unacknowledged = true
    return true
  }

  /** It was executed: nobody acts by it any more. */
  lapse(): void {
    this.#armed = false
  }

  /** What was promised to the guardian must follow what a member has. */
  arm(): void {
    const { name, will } = this.#context
    const owed = this.#members.flatMap((member) => bequestOf(member) ?? [])
    this.#willed = this.#heirs()
    if (this.#unacknowledged) this.#unacknowledged = !will.acknowledge(this.unit)
    const { guarded, unit } = this
    const absentAt = this.#earliest()
    this.#armed = will.arm(lastWillOf({ unit, name: name(), guarded, absentAt }, owed))
    this.#absentAt = this.#armed ? absentAt : undefined
  }

  /** Once in this turn, when everything else is done. */
  armLater(): void {
    this.#context.runner.afterwards(this.#armAgain)
  }

  /** The member has really advertised. */
  heardOf(member: Router, priority: number, now: Millis): void {
    // Said too late: what the guardian has acted upon is the silence before it, and that is what will be told.
    if (this.#armed && this.#context.will.state(this.unit) === 'executed') return
    member.presence.advertised(priority, member.parameters.advertisementInterval, now)
    // At once: on a busy node a takeover of many takes longer than the deadline of an interval that was nearly over.
    this.#context.runner.afterSending(this.#promise)
  }

  /** A member that leaves says nothing more, and lives all the same. */
  stayAlive(member: Router, now: Millis): void {
    member.presence.leave(member.parameters.advertisementInterval, now)
    this.promiseLater()
  }

  /** A deadline has changed: once in this turn, when everything else is done. */
  promiseLater(): void {
    this.#context.runner.afterwards(this.#promise)
  }

  /** Before the first address goes: what is taken off is no longer renewed. */
  letGo(now: Millis): void {
    if (!this.letsGo) return
    this.letsGo = false
    if (this.#members.some(({ holds }) => holds)) this.arm()
    else this.stepDown(now)
  }

  /**
   * Others have taken over what it owed. It owes nothing before it withdraws: a guardian that is renewing and finds the word
   * withdrawn takes off what it may have brought back. False: the guardian has executed it meanwhile.
   */
  handOver(): boolean {
    const { guarded, unit } = this
    const guard = guarded ? { renew: [], grace: millis(0) } : undefined
    const name = this.#context.name()
    const owesNothing = this.#willed === '' || this.#unacknowledged
    const isOurs = owesNothing || this.#context.will.arm({ unit, name, remove: [], packets: [], guard })
    this.withdraw()
    return isOurs
  }

  /** Nobody answers on its behalf any more. */
  withdraw(): void {
    if (this.#willed === '') return
    this.#willed = ''
    this.#armed = false
    this.#absentAt = undefined
    this.#context.will.withdraw(this.unit)
  }

  /** After the addresses are off, or could not be taken off. */
  settleLater(): void {
    this.#context.runner.afterwards(this.#settle)
  }

  stepDown(now: Millis): void {
    const { will } = this.#context
    const { late } = will.stepDown(this.unit)
    this.#armed = false
    this.#absentAt = undefined
    this.#unacknowledged = this.#unacknowledged && will.state(this.unit) === 'executed'
    if (late) for (const member of this.#members) member.keeper.doubtRemoval(now)
  }

  readonly #armAgain = (): void => {
    if (this.#willed === '') return
    // All of them ended in the same turn: a will without heirs would stay with the guardian, and nobody would withdraw it.
    if (this.#heirs() === '') this.withdraw()
    else this.arm()
  }

  readonly #promise = (): void => {
    if (!this.#armed) {
      // The guardian was not done with the execution before.
      if (this.#unacknowledged) this.#armAgain()
      return
    }
    const earliest = this.#earliest()
    if (earliest === undefined || earliest === this.#absentAt) return
    this.#absentAt = earliest
    this.#context.will.sent(this.unit, earliest)
  }

  #earliest(): Millis | undefined {
    let earliest: Millis | undefined
    for (const { presence } of this.#members) {
      const { absentAt } = presence
      if (absentAt !== undefined && (earliest === undefined || absentAt < earliest)) earliest = absentAt
    }
    return earliest
  }

  readonly #settle = (): void => {
    const heirs = this.#heirs()
    if (heirs === this.#willed) return
    if (heirs !== '') return this.arm()
    this.withdraw()
  }

  /** Members that hold addresses, or could not take them off. */
  #heirs(): string {
    return this.#members
      .filter((member) => member.holds || member.keeper.stuck)
      .map((member) => (member.holds ? member.name : `${member.name} (stuck)`))
      .join(' ')
  }
}
