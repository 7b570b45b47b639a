/**
 * Virtual routers that move together: a sync group, or one router alone, which is the same with one member. Returns a step
 * for each member, because what one member hears decides for all; and tells the members of an absence that the guardian or
 * our own clock has noticed. What to decide is vrrp/extensions/sync-group/sync-group.ts; how a member takes a step, router.ts; what the
 * guardian gets, guard/cleanup.ts.
 */
import type { Absence, Event } from '../../vrrp/event.ts'
import { wasSilentTooLong } from '../../vrrp/extensions/returning.ts'
import type { StartReason } from '../../vrrp/extensions/sync-group/agreement.ts'
import { type GroupStep, settleGroup, stepGroup } from '../../vrrp/extensions/sync-group/sync-group.ts'
import { enterBackup } from '../../vrrp/fsm.ts'
import { type Millis, plus } from '../../wire/units.ts'
import type { EffectRunner } from '../effect-runner.ts'
import { Cleanup } from '../guard/cleanup.ts'
import type { GuardianPort } from '../ports.ts'
import type { Recorder } from '../telemetry/recorder.ts'
import { holdsIn } from './held-state.ts'
import type { Membership } from './membership.ts'
import { applySteps, postEvent } from './post-event.ts'
import type { Router } from './router.ts'

export type RouterGroupContext = {
  readonly recorder: Recorder
  readonly runner: EffectRunner
  readonly guardian: GuardianPort
}

const NONE: readonly GroupStep[] = []

export class RouterGroup implements Membership<Router> {
  readonly name: string | undefined
  readonly cleanup: Cleanup
  readonly #recorder: Recorder
  #members: readonly Router[] = []

  constructor(name: string | undefined, unit: number, { recorder, runner, guardian }: RouterGroupContext) {
    this.name = name
    this.#recorder = recorder
    this.cleanup = new Cleanup(unit, {
      name: () => name ?? this.#members[0]?.name ?? '',
      members: () => this.#members,
      runner,
      guardian,
    })
  }

  get members(): readonly Router[] {
    return this.#members
  }

  join(member: Router): void {
    this.#members = [...this.#members, member]
  }

  /** Its part of the cleanup plan stays until arm() or withdraw(). */
  leave(member: Router): void {
    this.#members = this.#members.filter((each) => each !== member)
  }

  step(member: Router, event: Event, now: Millis): readonly GroupStep[] {
    // The lifetime and the grace of the plan follow from the priority.
    if (event.kind === 'priorityChanged' && member.holds) this.cleanup.armLater()
    return this.#permitted(stepGroup(this.#members, this.#members.indexOf(member), event, now), now)
  }

  /** Its members came together while they were running: brings them to where a group can be. */
  settle(now: Millis, reason?: StartReason): void {
    applySteps(this, this.#permitted(settleGroup(this.#members, now, reason), now), now)
  }

  shutDown(now: Millis): void {
    const [first] = this.#members
    if (first !== undefined) postEvent(first, { kind: 'shutdown' }, now)
  }

  /** No member may begin to hold addresses while the guardian is held up in an execution: the same deadline asks again. */
  #permitted(steps: readonly GroupStep[], now: Millis): readonly GroupStep[] {
    const begins = steps.some(({ state }, i) => holdsIn(state) && this.#members[i]?.holds === false)
    if (!begins || this.cleanup.mayBegin()) return steps
    const listening = this.#listenFirst(steps, now)
    return listening === undefined ? NONE : this.#permitted(listening, now)
  }

  /**
   * An owner that installs its addresses begins with its last fault, whose end comes only once and has no deadline: it
   * starts as any other router, and asks at its deadline. Returns `undefined` if every member that begins has a deadline.
   */
  #listenFirst(steps: readonly GroupStep[], now: Millis): readonly GroupStep[] | undefined {
    const starts = steps.map(({ state }, i) => state.name === 'Active' && this.#members[i]?.state.name === 'Initialize')
    if (!starts.includes(true)) return undefined
    return steps.map((one, i) => {
      const member = this.#members[i]
      if (member === undefined || !starts[i]) return one
      const { advertisementInterval: activeAdverInterval } = member.parameters
      const entry = { from: 'Initialize', reason: 'faultCleared', active: undefined, activeAdverInterval } as const
      const [state, effects] = enterBackup(member.parameters, now, { ...entry, holderChanged: false })
      return { state, effects }
    })
  }

  // Absence: ours, as our guardian or our own clock sees it ------------------------------------------------------------

  /** A member that was silent for too long was so with all of them. `slept`: milliseconds that the machine was suspended. */
  noticeStall(now: Millis, slept = 0): void {
    const at = plus(now, slept)
    const stalled = this.#members.find(({ parameters, state }) => wasSilentTooLong(state, parameters, at))
    if (stalled === undefined) return
    const silentMs = Math.round(at - (stalled.absence.spokeAt ?? at))
    this.#recorder.chronicle.record({ kind: 'absence', router: stalled.name, cause: 'stalled', silentMs })
    this.#postAbsence(stalled, 'stalled', now)
  }

  /**
   * The guardian has acted for this engine: each member that held an address hears of it once, before it reads that the address
   * is gone.
   */
  noticeExecution(now: Millis): boolean {
    if (!this.cleanup.noticeExecution()) return false
    this.takeExecution(now)
    return true
  }

  /** Of its own plan, or of that of the group that its members left while the guardian executed it. */
  takeExecution(now: Millis): void {
    const holders = this.#members.filter(({ holds }) => holds)
    for (const { counters } of holders) counters.countExecutedPlan()
    this.#tellExecution(holders, now)
    this.cleanup.expire()
    // Notifications of earlier renewals are still on their way, and no other program caused them.
    for (const { keeper } of this.#members) keeper.doubtRemoval(now)
    const [first] = holders
    if (first !== undefined) this.#postAbsence(first, 'willExecuted', now)
    // Their deadline is over: a plan with it would be executed once more before they have advertised again.
    for (const { absence, holds, parameters } of holders) {
      if (holds) absence.begin(parameters.advertisementInterval, now)
    }
    this.cleanup.stepDown(now)
    // Owners go on immediately; the others when they have listened.
    if (this.cleanup.isNeeded) this.cleanup.arm()
  }

  #postAbsence(member: Router, cause: Absence, now: Millis): void {
    // What happened to the links meanwhile is read next, and becomes a fault.
    const linkWasUp = this.#members.every(({ io }) => io?.canSend === true)
    postEvent(member, { kind: 'absenceNoticed', cause, linkWasUp }, now)
  }

  #tellExecution(holders: readonly Router[], now: Millis): void {
    const [first] = holders
    if (first === undefined) return
    // The turn may have begun before the execution: an engine that was held up inside a turn has only the time of its beginning.
    const { absentAt, unit } = this.cleanup
    const at = Math.max(now, absentAt ?? now)
    const ago = Math.round(at - (absentAt ?? at))
    const silent = Math.round(at - Math.min(...holders.map(({ absence }) => absence.spokeAt ?? at)))
    const title = this.name === undefined ? first.name : `sync group ${this.name}`
    const absence = { cause: 'willExecuted', agoMs: ago, silentMs: silent } as const
    this.#recorder.chronicle.record({ kind: 'absence', router: first.name, ...absence })
    this.#recorder.log(
      'warn',
      `${title}: the guardian took the addresses off ${ago} ms ago: this engine had not advertised for ${silent} ms`,
      { router: first.name, ...(this.name === undefined ? {} : { group: this.name }), unit, ago, silent },
    )
  }
}
