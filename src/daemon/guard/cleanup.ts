/**
 * The cleanup plan of a sync group, or of a router without one. A cleanup plan is one plan for all members that have
 * addresses, with the earliest of their deadlines. An engine that is absent for one member is absent for all. This file
 * decides when the guardian gets a plan, a deadline or the end of the plan. This file does not know the content of a
 * plan (cleanup-plan.ts), or what the members do after an execution.
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
  /** Returns the name of the cleanup plan in the guardian's log. */
  readonly name: () => string
  readonly members: () => readonly Claimant[]
  readonly runner: Pick<EffectRunner, 'afterSending' | 'afterwards'>
  readonly guardian: GuardianPort
  /** Extends the members' deadlines by the advertisements that the guardian's clock has sent. */
  readonly readClocks: () => void
}

export class Cleanup {
  readonly unit: number
  /** True if the guardian is lost. An address that the kernel removes is then not installed again. */
  guardianLost = false
  readonly #context: CleanupContext
  /** Names of the members in the plan that the guardian has; empty if it has none. */
  #planned = ''
  /** True if the guardian has a plan that it executes when the engine dies. */
  #armed = false
  /**
   * Time by which the engine must advertise for this group, as the guardian has it; `undefined` if the guardian watches
   * none.
   */
  #absentAt: Millis | undefined
  /** True if the members know that the guardian executes their plan, and the guardian has not finished. */
  #unacknowledged = false
  /** True if a member of the group is about to remove addresses. */
  #removes = false

  constructor(unit: number, context: CleanupContext) {
    this.unit = unit
    this.#context = context
  }

  /** True if a guardian checks deadlines and renews lifetimes. */
  get guarded(): boolean {
    return this.#context.guardian.guarded && !this.guardianLost
  }

  /** True if a crash would leave addresses behind. */
  get isNeeded(): boolean {
    return this.#claimants() !== ''
  }

  /** True if the guardian would execute the plan when the engine dies, and has not executed it yet. */
  get isArmed(): boolean {
    return this.#armed && this.#context.guardian.state(this.unit) === 'armed'
  }

  /** Deadline that the guardian watches, with the rounds of the clock; `undefined` if the guardian watches none. */
  get absentAt(): Millis | undefined {
    return this.#absentAt === undefined ? undefined : this.#earliest()
  }

  get #members(): readonly Claimant[] {
    return this.#context.members()
  }

  /**
   * Tells whether members may install addresses. Returns false while the guardian is delayed in an execution; the
   * caller asks again at the same deadline.
   */
  mayBegin(): boolean {
    const { guardian } = this.#context
    // The VIPs of these address owners are the node's own addresses. The guardian removes no such address, so the group
    // needs no plan.
    if (this.#members.every(({ parameters }) => ownsAddresses(parameters))) return true
    if (guardian.state(this.unit) !== 'executed') return true
    return guardian.acknowledge(this.unit)
  }

  /** Returns true once for each execution of the plan by the guardian. */
  noticeExecution(): boolean {
    if (this.#unacknowledged || this.#context.guardian.state(this.unit) !== 'executed') return false
    this.#unacknowledged = true
    return true
  }

  /** Marks the cleanup plan as executed, so that the plan has no further effect. */
  expire(): void {
    this.#armed = false
  }

  /** Gives the guardian a plan for the present addresses of the members. */
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

  /** Gives the guardian the new plan once, at the end of this turn, after all effects of the turn. */
  armLater(): void {
    this.#context.runner.afterwards(this.#armAgain)
  }

  /** Extends the deadline after a member has advertised. */
  advertised({ absence, parameters }: Claimant, priority: number, now: Millis): void {
    // The advertisement is too late: the guardian has acted because earlier advertisements were missing, and the
    // members will be informed.
    if (this.#armed && this.#context.guardian.state(this.unit) === 'executed') return
    absence.advertised(priority, parameters.advertisementInterval, now)
    // The deadline moves before the addresses are installed. On a busy node, many installations take longer than the
    // rest of the deadline.
    this.#context.runner.afterSending(this.#moveDeadline)
  }

  /** Extends the deadline of a member in Leaving, which sends no advertisements but is alive. */
  stayAlive({ absence, parameters }: Claimant, now: Millis): void {
    absence.leave(parameters.advertisementInterval, now)
    this.moveDeadlineLater()
  }

  /** Gives a changed deadline to the guardian once, at the end of this turn, after all effects of the turn. */
  moveDeadlineLater(): void {
    this.#context.runner.afterwards(this.#moveDeadline)
  }

  /** Updates the deadline after a member has made a transition. */
  follow({ absence, parameters }: Claimant, before: State, { effects, state }: GroupStep, now: Millis): void {
    const interval = parameters.advertisementInterval
    if (effects.some(({ kind }) => kind === 'removeAddresses')) this.#removes = true
    // A router that becomes Active, also after Leaving, starts its deadline. From now on only its advertisements show
    // that the router is alive.
    if (state.name === 'Active' && before.name !== 'Active') absence.begin(interval, now)
    if (state.name === 'Leaving' && before.name === 'Active') {
      absence.leave(interval, now)
      this.moveDeadlineLater()
    }
    if (isInGracePeriod(state) && before.name === 'Active') {
      absence.beginGracePeriod(interval, now)
      // The plan gets an earlier deadline and no priority 0, because a router that has lost has nothing to release.
      this.armLater()
    }
    if (holdsIn(before) && !holdsIn(state)) absence.end()
  }

  /** Changes the plan before the first address is removed, so that a removed address is not renewed. */
  beforeRemoval(now: Millis): void {
    if (!this.#removes) return
    this.#removes = false
    if (this.#members.some(({ holds }) => holds)) this.arm()
    else this.stepDown(now)
  }

  /**
   * Ends the plan after its members moved to other groups. The guardian gets an empty plan first. Without the empty
   * plan, a guardian that renews while the plan is withdrawn would remove addresses that belong to the new groups.
   * Returns false if the guardian has executed the plan in the meantime.
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

  /** Takes the cleanup plan back from the guardian, because no member has addresses any longer. */
  withdraw(): void {
    if (this.#planned === '') return
    this.#planned = ''
    this.#armed = false
    this.#absentAt = undefined
    this.#context.guardian.withdraw(this.unit)
  }

  /** Updates the plan once in this turn, after all effects, when addresses were removed or could not be. */
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
    // All members may have ended in the same turn. No other code would withdraw a plan without claimants.
    if (this.#claimants() === '') this.withdraw()
    else this.arm()
  }

  readonly #moveDeadline = (): void => {
    if (!this.#armed) {
      // The guardian had not finished the last execution of the plan.
      if (this.#unacknowledged) this.#armAgain()
      return
    }
    const earliest = this.#earliest()
    if (earliest === undefined || earliest === this.#absentAt) return
    this.#absentAt = earliest
    this.#context.guardian.sent(this.unit, earliest)
  }

  #earliest(): Millis | undefined {
    this.#context.readClocks()
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

  /** Returns the names of the members that have addresses, or could not remove their addresses. */
  #claimants(): string {
    return this.#members
      .filter((member) => member.holds || member.keeper.stuck)
      .map((member) => (member.holds ? member.name : `${member.name} (stuck)`))
      .join(' ')
  }
}
