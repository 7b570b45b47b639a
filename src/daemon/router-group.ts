/**
 * Virtual routers that move together: a sync group, or one router alone, which is the same with one member. Every event
 * goes through here, because what one member hears decides for all; so does an absence that the guardian or our own clock
 * has noticed. What to decide is vrrp/extensions/sync-group.ts; how a member does it is router.ts; what the guardian has been told is
 * group-will.ts.
 */
import type { Absence, Event } from '../vrrp/event.ts'
import { isLingering } from '../vrrp/extensions/grace-period.ts'
import type { StartReason } from '../vrrp/extensions/group-agreement.ts'
import { wasSilentTooLong } from '../vrrp/extensions/returning.ts'
import { type GroupStep, settleGroup, stepGroup } from '../vrrp/extensions/sync-group.ts'
import { isOwner } from '../vrrp/parameters.ts'
import { enterBackup } from '../vrrp/transition.ts'
import { type Millis, plus } from '../wire/units.ts'
import type { EffectRunner } from './effect-runner.ts'
import { GroupWill } from './guard/group-will.ts'
import type { LastWillPort } from './ports.ts'
import { holdsIn, type Router } from './router.ts'
import type { Recorder } from './telemetry/recorder.ts'

export type RouterGroupContext = {
  readonly recorder: Recorder
  readonly runner: EffectRunner
  readonly will: LastWillPort
}

export class RouterGroup {
  /** Undefined: a router alone. */
  readonly name: string | undefined
  readonly will: GroupWill
  readonly #recorder: Recorder
  #members: readonly Router[] = []

  constructor(name: string | undefined, unit: number, { recorder, runner, will }: RouterGroupContext) {
    this.name = name
    this.#recorder = recorder
    this.will = new GroupWill(unit, {
      name: () => name ?? this.#members[0]?.name ?? '',
      members: () => this.#members,
      runner,
      will,
    })
  }

  get members(): readonly Router[] {
    return this.#members
  }

  join(member: Router): void {
    this.#members = [...this.#members, member]
  }

  /** Its part in the will stays until arm() or withdraw(). */
  leave(member: Router): void {
    this.#members = this.#members.filter((each) => each !== member)
  }

  /** Steps for one fact that happened to `member`; the effects run at the end of the turn. */
  post(member: Router, event: Event, now: Millis): void {
    this.#take(stepGroup(this.#members, this.#members.indexOf(member), event, now), now)
    // Lifetime and grace follow from it.
    if (event.kind === 'priorityChanged' && member.holds) this.will.armLater()
  }

  /** Its members came together while they were running: brings them to where a group can be. */
  settle(now: Millis, reason?: StartReason): void {
    this.#take(settleGroup(this.#members, now, reason), now)
  }

  /**
   * An owner that installs begins with its last fault, whose end comes only once and has no deadline: it starts as anybody
   * else, and asks when its deadline comes. Undefined: who begins has a deadline.
   */
  #listenFirst(steps: readonly GroupStep[], now: Millis): readonly GroupStep[] | undefined {
    const starts = steps.map(({ state }, i) => state.name === 'Active' && this.#members[i]?.state.name === 'Initialize')
    if (!starts.includes(true)) return undefined
    return steps.map((one, i) => {
      const member = this.#members[i]
      if (member === undefined || !starts[i]) return one
      const { advertisementInterval: activeAdverInterval } = member.parameters
      const entry = { from: 'Initialize', reason: 'faultCleared', active: undefined, activeAdverInterval } as const
      const [state, effects] = enterBackup(member.parameters, now, { ...entry, ownerChanged: false })
      return { state, effects }
    })
  }

  #take(steps: readonly GroupStep[], now: Millis): void {
    const begins = steps.some(({ state }, i) => holdsIn(state) && this.#members[i]?.holds === false)
    // A guardian that is held up while it executes: the same deadline asks again.
    if (begins && !this.will.mayBegin()) {
      const listening = this.#listenFirst(steps, now)
      if (listening !== undefined) this.#take(listening, now)
      return
    }
    let ends = false
    for (const [i, { state, effects }] of steps.entries()) {
      const member = this.#members[i]
      // Most events mean nothing for the others, who may be 254.
      if (member === undefined || (state === member.state && effects.length === 0)) continue
      const { holds, parameters, presence, state: before } = member
      const left = state.name === 'Leaving' && before.name === 'Active'
      const lost = isLingering(state) && before.name === 'Active'
      const risen = state.name === 'Active' && before.name !== 'Active'
      member.take(state, effects)
      if (effects.some(({ kind }) => kind === 'removeAddresses')) this.will.letsGo = true
      // Also after Leaving: from now on only what it advertises says that it is there.
      if (risen) presence.begin(parameters.advertisementInterval, now)
      if (left) presence.leave(parameters.advertisementInterval, now)
      if (left) this.will.promiseLater()
      if (lost) {
        presence.linger(parameters.advertisementInterval, now)
        // Nearer, and without a word: whoever has lost has nothing to release.
        this.will.armLater()
      }
      if (!holds || member.holds) continue
      presence.end()
      ends = true
    }
    // The will comes before the first address, so that there is no moment in which a crash leaves one behind.
    if (begins) this.will.arm()
    if (ends) this.will.settleLater()
  }

  // Absence: ours, as our guardian or our own clock sees it -----------------------------------------------------------

  /** One member that was silent for too long was so with all of them. `slept`: as long as the machine was suspended. */
  noticeStall(now: Millis, slept = 0): void {
    const at = plus(now, slept)
    const stalled = this.#members.find(({ parameters, state }) => wasSilentTooLong(state, parameters, at))
    if (stalled === undefined) return
    const silentMs = Math.round(at - (stalled.presence.spokeAt ?? at))
    this.#recorder.chronicle.record({ kind: 'absence', router: stalled.name, cause: 'stalled', silentMs })
    this.#postAbsence(stalled, 'stalled', now)
  }

  /**
   * The guardian has acted for us: whoever held an address is told, once, and before he reads that it is gone. True when
   * that was so.
   */
  noticeExecution(now: Millis): boolean {
    if (!this.will.noticeExecution()) return false
    this.takeExecution(now)
    return true
  }

  /** Of its own will, or of the one that its members came from while the guardian was at it. */
  takeExecution(now: Millis): void {
    const holders = this.#members.filter(({ holds }) => holds)
    for (const holder of holders) holder.willsExecuted++
    this.#tellExecution(holders, now)
    this.will.lapse()
    // Notifications of renewals from before are still on their way, and are nobody else's.
    for (const member of this.#members) member.keeper.doubtRemoval(now)
    const [first] = holders
    if (first !== undefined) this.#postAbsence(first, 'willExecuted', now)
    // Their deadline is over: armed with it, they would be executed once more before they have said that they are back.
    for (const { holds, parameters, presence } of holders) {
      if (holds) presence.begin(parameters.advertisementInterval, now)
    }
    this.will.stepDown(now)
    // Owners go on at once; the others when they have listened.
    if (this.will.owes) this.will.arm()
  }

  #postAbsence(member: Router, cause: Absence, now: Millis): void {
    // What happened to the links meanwhile is read next, and becomes a fault.
    const linkWasUp = this.#members.every(({ io }) => io?.canSend === true)
    this.post(member, { kind: 'absenceNoticed', cause, linkWasUp }, now)
  }

  #tellExecution(holders: readonly Router[], now: Millis): void {
    const [first] = holders
    if (first === undefined) return
    // The turn may have begun before it: whoever was held up in the middle of one finds out with the time of its beginning.
    const { absentAt } = this.will
    const at = Math.max(now, absentAt ?? now)
    const ago = Math.round(at - (absentAt ?? at))
    const silent = Math.round(at - Math.min(...holders.map(({ presence }) => presence.spokeAt ?? at)))
    const title = this.name === undefined ? first.name : `sync group ${this.name}`
    const absence = { cause: 'willExecuted', agoMs: ago, silentMs: silent } as const
    this.#recorder.chronicle.record({ kind: 'absence', router: first.name, ...absence })
    this.#recorder.log(
      'warn',
      `${title}: the guardian took the addresses off ${ago} ms ago: this engine had not advertised for ${silent} ms`,
      {
        router: first.name,
        ...(this.name === undefined ? {} : { group: this.name }),
        unit: this.will.unit,
        ago,
        silent,
      },
    )
  }

  shutDown(now: Millis): void {
    const [first] = this.#members
    if (first !== undefined) this.post(first, { kind: 'shutdown' }, now)
  }

  /** All members step aside until then, with priority 1. Of members that do so already, only the end changes. Returns why not. */
  yield(until: Millis, now: Millis): string | undefined {
    if (this.#members.every(isAside)) {
      for (const member of this.#members) member.priority.yieldUntil(until)
      return undefined
    }
    for (const member of this.#members) {
      const reason = reasonToStay(member)
      if (reason !== undefined) return `${member.name} ${reason}`
    }
    const [first] = this.#members
    if (first !== undefined)
      this.#recorder.chronicle.record({ kind: 'yieldOrdered', router: first.name, forMs: Math.round(until - now) })
    for (const member of this.#members) member.priority.lowerUntil(until)
    if (first !== undefined) this.post(first, { kind: 'yield' }, now)
    return undefined
  }

  /** All members have their own priority again. Returns why not. */
  endYield(now: Millis): string | undefined {
    const yielding = this.#members.filter(({ priority }) => priority.yieldingUntil !== undefined)
    if (yielding.length === 0) return `${this.name ?? this.#members[0]?.name} does not yield`
    for (const { priority } of yielding) {
      priority.yieldUntil(now)
      priority.endYield(now)
    }
    return undefined
  }
}

/** There is nothing that it could hand over, and another end to give it: an operator who has finished earlier. */
const isAside = ({ priority, state }: Router): boolean =>
  state.name === 'Backup' && priority.yieldingUntil !== undefined

/** After the name of the router. */
function reasonToStay({ state, parameters }: Router): string | undefined {
  const { transport } = parameters
  if (isOwner(parameters)) return 'owns its addresses (priority 255)'
  if (state.name === 'Leaving') return 'is leaving already'
  if (state.name === 'Returning') return 'is returning after an absence, not Active'
  if (state.name === 'Backup') {
    return state.active === undefined
      ? 'is Backup here, and has heard no Active'
      : `is Backup here; run yield on the Active, ${state.active.source}`
  }
  if (state.name === 'Initialize') return `is not Active here: ${state.faults.join(', ') || 'it is stopped'}`
  if (transport.mode === 'unicast' && transport.peers.length === 0) return 'has no unicast peer that could take over'
  return undefined
}
