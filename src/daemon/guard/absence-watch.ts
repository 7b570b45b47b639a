/**
 * Notices whether this engine was away since its last turn: the guardian has executed a plan, the machine was
 * suspended, or the alarm was far too late. A node that was away listens before it speaks (ground rule 3). Every turn
 * begins with this test. An absence is handled in router-group.ts, and vrrp/extensions/returning.ts decides how the
 * routers return.
 */
import { LEAST_SILENCE } from '../../vrrp/extensions/returning.ts'
import type { Millis } from '../../wire/units.ts'
import type { Clock, GuardianPort } from '../ports.ts'

/** The fields of a group that an absence uses. */
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
  /**
   * Time of the engine's next alarm; `undefined`: no alarm is set. A late engine has not yet handled a time that has
   * passed.
   */
  alarmAt: Millis | undefined
  /** Number of executed cleanup plans that were noticed so far. */
  #executions = 0
  #asleep: Millis

  constructor(context: AbsenceContext) {
    this.#context = context
    this.#asleep = context.clock.asleep()
  }

  /**
   * True if the machine was suspended and no turn has noticed that. With a long advertisement interval the next alarm
   * is far away.
   */
  get sleptUnnoticed(): boolean {
    const { clock } = this.#context
    clock.now()
    return clock.asleep() - this.#asleep > LEAST_SILENCE
  }

  /**
   * Posts an absence to the groups before any waiting packet or notification is read. If a packet were read first, an
   * Active would install addresses again that the guardian has removed. Returns true if the state of a group may have
   * changed, so that this turn must run the effects.
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
    // An absence is posted only once, even if more is read before the alarm is set again.
    this.alarmAt = undefined
    for (const group of groups()) group.noticeStall(now, slept)
    return true
  }
}
