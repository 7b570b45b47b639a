/**
 * The cleanup plan of a sync group, or of a router alone: one for all members that hold addresses, with the earliest of their
 * deadlines, because an engine that is absent for one is absent for all. Decided here: when the guardian gets a plan, a
 * deadline, or the end of it. Refuses to know what is in a plan (cleanup-plan.ts), and what the members do after the
 * guardian has executed one.
 */
import { isInGracePeriod } from '../../vrrp/extensions/grace-period.ts'
import type { GroupStep } from '../../vrrp/extensions/sync-group/sync-group.ts'
import { ownsAddresses } from '../../vrrp/parameters.ts'
import type { State } from '../../vrrp/state.ts'
import { type Millis, millis } from '../../wire/units.ts'
import type { EffectRunner } from '../effect-runner.ts'
import type { GuardianPort } from '../ports.ts'
import { holdsIn } from '../router/held-state.ts'
import { type Claimant, cleanupPlanOf, planPartOf } from './cleanup-plan.ts'

export type CleanupContext = {
  /** Name of the plan in the log of the guardian. */
  readonly name: () => string
  readonly members: () => readonly Claimant[]
  readonly runner: Pick<EffectRunner, 'afterSending' | 'afterwards'>
  readonly guardian: GuardianPort
}

export class Cleanup {
  readonly unit: number
  /** There is no guardian any more: an address that the kernel drops is not put back. */
  guardianLost = false
  readonly #context: CleanupContext
  /** Members whose part is in the plan that the guardian has. */
  #planned = ''
  /** The guardian would act by the plan. */
  #armed = false
  /** Deadline that the guardian has. */
  #absentAt: Millis | undefined
  /** The members know of an execution that the guardian has not finished. */
  #unacknowledged = false
  /** Some member is about to remove addresses. */
  #removes = false

  constructor(unit: number, context: CleanupContext) {
    this.unit = unit
    this.#context = context
  }

  /** A guardian keeps deadlines and renews lifetimes. */
  get guarded(): boolean {
    return this.#context.guardian.guarded && !this.guardianLost
  }

  /** A crash would leave addresses behind. */
  get isNeeded(): boolean {
    return this.#claimants() !== ''
  }

  get absentAt(): Millis | undefined {
    return this.#absentAt
  }

  get #members(): readonly Claimant[] {
    return this.#context.members()
  }

  /** Returns false while a guardian is held up in an execution; the same deadline asks again. */
  mayBegin(): boolean {
    const { guardian } = this.#context
    // Addresses of the node come with their link, only once; the guardian removes none of them.
    if (this.#members.every(({ parameters }) => ownsAddresses(parameters))) return true
    if (guardian.state(this.unit) !== 'executed') return true
    return guardian.acknowledge(this.unit)
  }

  /** Returns true once for each execution by the guardian. */
  noticeExecution(): boolean {
    if (this.#unacknowledged || this.#context.guardian.state(this.unit) !== 'executed') return false
    this.#unacknowledged = true
    return true
  }

  /** The plan was executed and has no effect any more. */
  expire(): void {
    this.#armed = false
  }

  /** Gives the guardian a plan for what the members hold now. */
  arm(): void {
    const { name, guardian } = this.#context
    const parts = this.#members.flatMap((member) => planPartOf(member) ?? [])
    this.#planned = this.#claimants()
    if (this.#unacknowledged) this.#unacknowledged = !guardian.acknowledge(this.unit)
    const { guarded, unit } = this
    const absentAt = this.#earliest()
    this.#armed = guardian.arm(cleanupPlanOf({ unit, name: name(), guarded, absentAt }, parts))
    this.#absentAt = this.#armed ? absentAt : undefined
  }

  /** Arms again once in this turn, after all its effects. */
  armLater(): void {
    this.#context.runner.afterwards(this.#armAgain)
  }

  /** A member has really advertised. */
  advertised({ absence, parameters }: Claimant, priority: number, now: Millis): void {
    // Too late: the guardian has acted on the silence before it, and that is what the members will be told.
    if (this.#armed && this.#context.guardian.state(this.unit) === 'executed') return
    absence.advertised(priority, parameters.advertisementInterval, now)
    // Before the addresses: on a busy node a takeover of many takes longer than the rest of the deadline.
    this.#context.runner.afterSending(this.#moveDeadline)
  }

  /** A member in Leaving advertises nothing, and is alive. */
  stayAlive({ absence, parameters }: Claimant, now: Millis): void {
    absence.leave(parameters.advertisementInterval, now)
    this.moveDeadlineLater()
  }

  /** A deadline has changed: the guardian gets it once in this turn, after all effects. */
  moveDeadlineLater(): void {
    this.#context.runner.afterwards(this.#moveDeadline)
  }

  /** A member has applied a step: what its peers believe from now on, and when the guardian hears of it. */
  follow({ absence, parameters }: Claimant, before: State, { effects, state }: GroupStep, now: Millis): void {
    const interval = parameters.advertisementInterval
    if (effects.some(({ kind }) => kind === 'removeAddresses')) this.#removes = true
    // Also after Leaving: from now on only its advertisements show that it is there.
    if (state.name === 'Active' && before.name !== 'Active') absence.begin(interval, now)
    if (state.name === 'Leaving' && before.name === 'Active') {
      absence.leave(interval, now)
      this.moveDeadlineLater()
    }
    if (isInGracePeriod(state) && before.name === 'Active') {
      absence.linger(interval, now)
      // A nearer deadline, and no priority 0: a router that has lost has nothing to release.
      this.armLater()
    }
    if (holdsIn(before) && !holdsIn(state)) absence.end()
  }

  /** Before the first address is removed: what is removed is renewed no longer. */
  beforeRemoval(now: Millis): void {
    if (!this.#removes) return
    this.#removes = false
    if (this.#members.some(({ holds }) => holds)) this.arm()
    else this.stepDown(now)
  }

  /**
   * Other groups have taken over the members. Gives the guardian an empty plan before it withdraws: a guardian that is
   * renewing and finds the plan withdrawn removes what it may have brought back. Returns false if the guardian has executed
   * the plan meanwhile.
   */
  handOver(): boolean {
    const { guarded, unit } = this
    const guard = guarded ? { renew: [], grace: millis(0) } : undefined
    const name = this.#context.name()
    const isEmpty = this.#planned === '' || this.#unacknowledged
    const isOurs = isEmpty || this.#context.guardian.arm({ unit, name, remove: [], packets: [], guard })
    this.withdraw()
    return isOurs
  }

  /** No member has addresses any more. */
  withdraw(): void {
    if (this.#planned === '') return
    this.#planned = ''
    this.#armed = false
    this.#absentAt = undefined
    this.#context.guardian.withdraw(this.unit)
  }

  /** After addresses were removed, or could not be: brings the plan in line once in this turn, after all effects. */
  settleLater(): void {
    this.#context.runner.afterwards(this.#settle)
  }

  stepDown(now: Millis): void {
    const { guardian } = this.#context
    const { late } = guardian.stepDown(this.unit)
    this.#armed = false
    this.#absentAt = undefined
    this.#unacknowledged = this.#unacknowledged && guardian.state(this.unit) === 'executed'
    if (late) for (const member of this.#members) member.keeper.doubtRemoval(now)
  }

  readonly #armAgain = (): void => {
    if (this.#planned === '') return
    // All members may have ended in the same turn: nothing else would withdraw a plan without claimants.
    if (this.#claimants() === '') this.withdraw()
    else this.arm()
  }

  readonly #moveDeadline = (): void => {
    if (!this.#armed) {
      // The guardian had not finished the last execution.
      if (this.#unacknowledged) this.#armAgain()
      return
    }
    const earliest = this.#earliest()
    if (earliest === undefined || earliest === this.#absentAt) return
    this.#absentAt = earliest
    this.#context.guardian.sent(this.unit, earliest)
  }

  #earliest(): Millis | undefined {
    let earliest: Millis | undefined
    for (const { absence } of this.#members) {
      const { absentAt } = absence
      if (absentAt !== undefined && (earliest === undefined || absentAt < earliest)) earliest = absentAt
    }
    return earliest
  }

  readonly #settle = (): void => {
    const claimants = this.#claimants()
    if (claimants === this.#planned) return
    if (claimants !== '') return this.arm()
    this.withdraw()
  }

  /** Names of the members that hold addresses, or could not remove them. */
  #claimants(): string {
    return this.#members
      .filter((member) => member.holds || member.keeper.stuck)
      .map((member) => (member.holds ? member.name : `${member.name} (stuck)`))
      .join(' ')
  }
}
