/**
 * Whether this engine was away since it last looked (ground rule 3): its guardian has executed a plan, the machine was
 * suspended, or the alarm came far too late. Decided here: when it is worth asking every group, because every turn begins
 * with this. What an absence is for a group is router-group.ts's, what follows from it vrrp/extensions/returning.ts's.
 */
import { LEAST_SILENCE } from '../../vrrp/extensions/returning.ts'
import type { Millis } from '../../wire/units.ts'
import type { Clock, GuardianPort } from '../ports.ts'

/** A group of routers, as an absence concerns it. */
type AbsentGroup = {
  noticeExecution(now: Millis): boolean
  noticeStall(now: Millis, slept: number): void
}

export type AbsenceContext = {
  readonly clock: Clock
  readonly guardian: GuardianPort
  readonly groups: () => Iterable<AbsentGroup>
}

export class AbsenceWatch {
  readonly #context: AbsenceContext
  /** Time of the nearest alarm, as last set: an engine that was late has one. */
  alarmAt: Millis | undefined
  /** Executions that were seen so far. */
  #executions = 0
  #asleep: Millis

  constructor(context: AbsenceContext) {
    this.#context = context
    this.#asleep = context.clock.asleep()
  }

  /** The machine was suspended and no turn has noticed it: with a long interval the next alarm is far away. */
  get sleptUnnoticed(): boolean {
    const { clock } = this.#context
    clock.now()
    return clock.asleep() - this.#asleep > LEAST_SILENCE
  }

  /**
   * Tells the groups of an absence before anything that waited is read, a removal of their addresses by the guardian above all:
   * an Active would put them back. Returns true if a group was told: what it decided has to be done in this turn.
   */
  notice(now: Millis): boolean {
    const { clock, groups, guardian } = this.#context
    const { executions } = guardian
    const executed = executions !== this.#executions
    if (executed) {
      this.#executions = executions
      for (const group of groups()) group.noticeExecution(now)
    }
    const asleep = clock.asleep()
    const slept = asleep - this.#asleep
    this.#asleep = asleep
    const late = this.alarmAt === undefined ? 0 : now - this.alarmAt
    if (late + slept <= LEAST_SILENCE) return executed
    // Once, however much is read before the alarm is set again.
    this.alarmAt = undefined
    for (const group of groups()) group.noticeStall(now, slept)
    return true
  }
}
