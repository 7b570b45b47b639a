/**
 * Whether this engine was away since it last looked (ground rule 3): its guardian has executed a will, the
 * machine was suspended, or the alarm came far too late. Decided here: when it is worth asking every group, because every
 * turn begins with this. What an absence is for a group is router-group.ts's, what it leads to vrrp/extensions/returning.ts's.
 */
import { LEAST_SILENCE } from '../../vrrp/extensions/returning.ts'
import type { Millis } from '../../wire/units.ts'
import type { Clock, LastWillPort } from '../ports.ts'
import type { Membership } from '../router/router.ts'

export type AbsenceContext = {
  readonly clock: Clock
  readonly will: LastWillPort
  readonly groups: () => Iterable<Membership>
}

export class AbsenceWatch {
  readonly #context: AbsenceContext
  /** Of the nearest alarm, as last set: whoever was late has one that is. */
  alarmAt: Millis | undefined
  /** As last seen. */
  #executions = 0
  #asleep: Millis

  constructor(context: AbsenceContext) {
    this.#context = context
    this.#asleep = context.clock.asleep()
  }

  /** A machine that was suspended goes on where it was: with a long interval the next alarm is far away. */
  get sleptUnnoticed(): boolean {
    const { clock } = this.#context
    clock.now()
    return clock.asleep() - this.#asleep > LEAST_SILENCE
  }

  /**
   * Whoever was away is told before anything that waited is read, a removal of its addresses by its guardian above all:
   * as an Active it would put them back. True when somebody was told: what he decided has to be done in this turn.
   */
  notice(now: Millis): boolean {
    const { clock, groups, will } = this.#context
    const { executions } = will
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
