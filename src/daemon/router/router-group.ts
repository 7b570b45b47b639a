/**
 * A group of virtual routers: a sync group, or one router alone, which is a group of one. An advertisement to one
 * member decides for all, so the group returns a step for each member. RouterGroup also posts an absence that the
 * guardian or our clock has shown. `vrrp/extensions/sync-group/sync-group.ts` decides, router.ts applies a step, and
 * guard/cleanup.ts informs the guardian.
 */
import { defined } from '../../base/defined.ts'
import { LOG } from '../../log/log.ts'
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
      readClocks: () => {
        for (const member of this.#members) member.readClock()
      },
    })
  }

  get members(): readonly Router[] {
    return this.#members
  }

  join(member: Router): void {
    this.#members = [...this.#members, member]
  }

  /** Removes a member from the group. The member's part of the cleanup plan stays until arm() or withdraw(). */
  leave(member: Router): void {
    this.#members = this.#members.filter((each) => each !== member)
  }

  withdrawClocks(): void {
    for (const member of this.#members) {
      member.endClock()
      member.endWatch()
    }
  }

  step(member: Router, event: Event, now: Millis): readonly GroupStep[] {
    // Lifetime and grace of the cleanup plan depend on the priority.
    if (event.kind === 'priorityChanged' && member.holds) this.cleanup.armLater()
    return this.#permitted(stepGroup(this.#members, this.#members.indexOf(member), event, now), now)
  }

  /** Brings members that joined the group while running to consistent states. */
  settle(now: Millis, reason?: StartReason): void {
    this.withdrawClocks()
    applySteps(this, this.#permitted(settleGroup(this.#members, now, reason), now), now)
  }

  shutDown(now: Millis): void {
    const [first] = this.#members
    if (first !== undefined) postEvent(first, { kind: 'shutdown' }, now)
  }

  /**
   * Returns the steps that may be taken now. No member may install addresses while the guardian is delayed in an
   * execution. After such a delay the deadline expires again.
   */
  #permitted(steps: readonly GroupStep[], now: Millis): readonly GroupStep[] {
    const begins = steps.some(({ state }, i) => holdsIn(state) && this.#members[i]?.holds === false)
    if (!begins || this.cleanup.mayBegin()) return steps
    const listening = this.#listenFirst(steps, now)
    return listening === undefined ? NONE : this.#permitted(listening, now)
  }

  /**
   * Makes an address owner that installs its addresses start like any other router: it listens, and decides at its
   * deadline. Without this rule the owner would start at the end of its last fault, which comes only once and has no
   * deadline. Returns `undefined` if every starting member has a deadline.
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

  // Absence: ours, as our guardian or our own clock sees it
  // ------------------------------------------------------------

  /**
   * Posts a stall. If one member was silent for too long, so were all. `slept` is the time in milliseconds for which
   * the machine was suspended.
   */
  noticeStall(now: Millis, slept = 0): void {
    const at = plus(now, slept)
    for (const member of this.#members) member.readClock()
    const stalled = this.#members.find(({ parameters, state }) => wasSilentTooLong(state, parameters, at))
    if (stalled === undefined) return
    const silentMs = Math.round(at - (stalled.absence.advertisedAt ?? at))
    this.#recorder.chronicle.record({ kind: 'absence', router: stalled.name, cause: 'stalled', silentMs })
    this.#postAbsence(stalled, 'stalled', now)
  }

  /**
   * Posts once that the guardian has executed the cleanup plan, before the members read that their addresses are gone.
   * Returns true if this call has posted it.
   */
  noticeExecution(now: Millis): boolean {
    if (!this.cleanup.noticeExecution()) return false
    this.takeExecution(now)
    return true
  }

  /**
   * Handles the execution of the group's cleanup plan, or of the plan of a former group that was executed while its
   * members moved to this group.
   */
  takeExecution(now: Millis): void {
    this.withdrawClocks()
    const holders = this.#members.filter(({ holds }) => holds)
    for (const { counters } of holders) counters.countExecutedPlan()
    this.#tellExecution(holders, now)
    this.cleanup.expire()
    // Notifications of earlier renewals may still arrive, and are not changes by another program.
    for (const { keeper } of this.#members) keeper.doubtRemoval(now)
    const [first] = holders
    if (first !== undefined) this.#postAbsence(first, 'willExecuted', now)
    // The old deadline of the plan has passed. A plan with that deadline would be executed again before the members
    // have advertised.
    for (const { absence, holds, parameters } of holders) {
      if (holds) absence.begin(parameters.advertisementInterval, now)
    }
    this.cleanup.stepDown(now)
    // Address owners continue immediately; the other members listen first.
    if (this.cleanup.isNeeded) this.cleanup.arm()
  }

  #postAbsence(member: Router, cause: Absence, now: Millis): void {
    // Link changes during the absence are read next, and become faults.
    const linkWasUp = this.#members.every(({ io }) => io?.canSend === true)
    postEvent(member, { kind: 'absenceNoticed', cause, linkWasUp }, now)
  }

  #tellExecution(holders: readonly Router[], now: Millis): void {
    const [first] = holders
    if (first === undefined) return
    // The turn may have begun before the execution. An engine that was delayed inside a turn only knows the time at
    // which the turn began.
    const { absentAt, unit } = this.cleanup
    const at = Math.max(now, absentAt ?? now)
    const ago = Math.round(at - (absentAt ?? at))
    const silent = Math.round(at - Math.min(...holders.map(({ absence }) => absence.advertisedAt ?? at)))
    const title = this.name === undefined ? first.name : `sync group ${this.name}`
    const absence = { cause: 'willExecuted', agoMs: ago, silentMs: silent } as const
    this.#recorder.chronicle.record({ kind: 'absence', router: first.name, ...absence })
    this.#recorder.log(
      LOG.addressesRemovedByGuardian,
      `${title}: the guardian removed the addresses ${ago} ms ago, because this engine had not advertised for ${silent} ms`,
      { router: first.name, ...defined({ group: this.name }), unit, ago, silent },
    )
  }
}
