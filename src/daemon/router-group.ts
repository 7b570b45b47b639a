/**
 * Virtual routers that move together: a sync group, or one router alone, which is the same with one member. Every event
 * goes through here, because what one member hears decides for all. Also the unit of the last will: one for all members
 * that hold addresses, with the earliest of their deadlines. What to decide is vrrp/sync-group.ts; how a member does it is router.ts.
 */
import type { Absence, Event } from '../vrrp/event.ts'
import type { StartReason } from '../vrrp/group-agreement.ts'
import { isOwner } from '../vrrp/parameters.ts'
import { wasSilentTooLong } from '../vrrp/returning.ts'
import { type GroupStep, settleGroup, stepGroup } from '../vrrp/sync-group.ts'
import { type Millis, millis, plus } from '../wire/units.ts'
import type { EffectRunner } from './effect-runner.ts'
import { bequestOf, lastWillOf } from './last-will.ts'
import type { LastWillPort } from './ports.ts'
import type { Recorder } from './recorder.ts'
import { holdsIn, type Router } from './router.ts'

export type RouterGroupContext = {
  readonly recorder: Recorder
  readonly runner: EffectRunner
  readonly will: LastWillPort
}

export class RouterGroup {
  /** Undefined: a router alone. */
  readonly name: string | undefined
  /** Of the last will. */
  readonly unit: number
  /** There is no guardian any more: what the kernel drops is not put back. */
  forsaken = false
  readonly #recorder: Recorder
  readonly #runner: EffectRunner
  readonly #will: LastWillPort
  #members: readonly Router[] = []
  /** Whose part is in the will that the guardian has. */
  #willed = ''
  /** The guardian would act by it. */
  #armed = false
  /** A deadline that the guardian has been told. */
  #absentAt: Millis | undefined
  /** Some member has to take addresses off. */
  #letsGo = false
  /** An execution that the members know of, and the guardian has not finished. */
  #unacknowledged = false

  constructor(name: string | undefined, unit: number, { recorder, runner, will }: RouterGroupContext) {
    this.name = name
    this.unit = unit
    this.#recorder = recorder
    this.#runner = runner
    this.#will = will
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
    if (event.kind === 'priorityChanged' && member.holds) this.armLater()
  }

  /** Its members came together while they were running: brings them to where a group can be. */
  settle(now: Millis, reason?: StartReason): void {
    this.#take(settleGroup(this.#members, now, reason), now)
  }

  #take(steps: readonly GroupStep[], now: Millis): void {
    const begins = steps.some(({ state }, i) => holdsIn(state) && this.#members[i]?.holds === false)
    // A guardian that is held up while it executes: the same deadline asks again.
    if (begins && !this.#mayBegin()) return
    let ends = false
    for (const [i, { state, effects }] of steps.entries()) {
      const member = this.#members[i]
      // Most events mean nothing for the others, who may be 254.
      if (member === undefined || (state === member.state && effects.length === 0)) continue
      const { holds, parameters, presence, state: before } = member
      const left = state.name === 'Leaving' && before.name === 'Active'
      const risen = state.name === 'Active' && before.name !== 'Active'
      member.take(state, effects)
      if (effects.some(({ kind }) => kind === 'removeAddresses')) this.#letsGo = true
      // Also after Leaving: from now on only what it advertises says that it is there.
      if (risen) presence.begin(parameters.advertisementInterval, now)
      if (left) presence.leave(parameters.advertisementInterval, now)
      if (left) this.#runner.afterwards(this.#promise)
      if (!holds || member.holds) continue
      presence.end()
      ends = true
    }
    // The will comes before the first address, so that there is no moment in which a crash leaves one behind.
    if (begins) this.arm()
    if (ends) this.settleLater()
  }

  // Absence: ours, as our guardian or our own clock sees it -----------------------------------------------------------

  /** One member that was silent for too long was so with all of them. `slept`: as long as the machine was suspended. */
  noticeStall(now: Millis, slept = 0): void {
    const at = plus(now, slept)
    const stalled = this.#members.find(({ parameters, state }) => wasSilentTooLong(state, parameters, at))
    if (stalled !== undefined) this.#postAbsence(stalled, 'stalled', now)
  }

  /**
   * The guardian has acted for us: whoever held an address is told, once, and before he reads that it is gone. True when
   * that was so.
   */
  noticeExecution(now: Millis): boolean {
    if (this.#unacknowledged || this.#will.state(this.unit) !== 'executed') return false
    this.#unacknowledged = true
    this.takeExecution(now)
    return true
  }

  /** Of its own will, or of the one that its members came from while the guardian was at it. */
  takeExecution(now: Millis): void {
    const holders = this.#members.filter(({ holds }) => holds)
    for (const holder of holders) holder.willsExecuted++
    this.#tellExecution(holders, now)
    this.#armed = false
    // Notifications of renewals from before are still on their way, and are nobody else's.
    for (const member of this.#members) member.keeper.doubtRemoval(now)
    const [first] = holders
    if (first !== undefined) this.#postAbsence(first, 'willExecuted', now)
    // Their deadline is over: armed with it, they would be executed once more before they have said that they are back.
    for (const { holds, parameters, presence } of holders) {
      if (holds) presence.begin(parameters.advertisementInterval, now)
    }
    this.#stepDown(now)
    // Owners go on at once; the others when they have listened.
    if (this.#heirs() !== '') this.arm()
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
    const at = Math.max(now, this.#absentAt ?? now)
    const ago = Math.round(at - (this.#absentAt ?? at))
    const silent = Math.round(at - Math.min(...holders.map(({ presence }) => presence.spokeAt ?? at)))
    const title = this.name === undefined ? first.name : `sync group ${this.name}`
    this.#recorder.log(
      'warn',
      `${title}: the guardian took the addresses off ${ago} ms ago: this engine had not advertised for ${silent} ms`,
      { router: first.name, ...(this.name === undefined ? {} : { group: this.name }), unit: this.unit, ago, silent },
    )
  }

  #mayBegin(): boolean {
    // Owners begin with their link, which comes back only once; the guardian takes nothing off them.
    if (this.#members.every(({ parameters }) => isOwner(parameters))) return true
    if (this.#will.state(this.unit) !== 'executed') return true
    return this.#will.acknowledge(this.unit)
  }

  shutDown(now: Millis): void {
    const [first] = this.#members
    if (first !== undefined) this.post(first, { kind: 'shutdown' }, now)
  }

  /** All members step aside until then, with priority 1. Returns why not, in words. */
  yield(until: Millis, now: Millis): string | undefined {
    for (const member of this.#members) {
      const reason = reasonToStay(member)
      if (reason !== undefined) {
        return this.#members.length === 1 ? reason : `shares its group with "${member.name}", which ${reason}`
      }
    }
    for (const member of this.#members) member.priority.lowerUntil(until)
    const [first] = this.#members
    if (first !== undefined) this.post(first, { kind: 'yield' }, now)
    return undefined
  }

  // The last will ------------------------------------------------------------------------------------------------------

  /** Somebody keeps deadlines and renews lifetimes. */
  get guarded(): boolean {
    return this.#will.guarded && !this.forsaken
  }

  /** A crash would leave something behind. */
  get owes(): boolean {
    return this.#heirs() !== ''
  }

  /** What was promised to the guardian must follow what a member has. */
  arm(): void {
    const owed = this.#members.flatMap((member) => bequestOf(member) ?? [])
    const name = this.name ?? this.#members[0]?.name ?? ''
    this.#willed = this.#heirs()
    if (this.#unacknowledged) this.#unacknowledged = !this.#will.acknowledge(this.unit)
    const { guarded, unit } = this
    const absentAt = this.#earliest()
    this.#armed = this.#will.arm(lastWillOf({ unit, name, guarded, absentAt }, owed))
    this.#absentAt = this.#armed ? absentAt : undefined
  }

  /** Once in this turn, when everything else is done. */
  armLater(): void {
    this.#runner.afterwards(this.#armAgain)
  }

  /** The member has really advertised. */
  heardOf(member: Router, priority: number, now: Millis): void {
    // Said too late: what the guardian has acted upon is the silence before it, and that is what will be told.
    if (this.#armed && this.#will.state(this.unit) === 'executed') return
    member.presence.advertised(priority, member.parameters.advertisementInterval, now)
    // At once: on a busy node a takeover of many takes longer than the deadline of an interval that was nearly over.
    this.#runner.afterSending(this.#promise)
  }

  /** A member that leaves says nothing more, and lives all the same. */
  stayAlive(member: Router, now: Millis): void {
    member.presence.leave(member.parameters.advertisementInterval, now)
    this.#runner.afterwards(this.#promise)
  }

  /** Before the first address goes: what is taken off is no longer renewed. */
  letGo(now: Millis): void {
    if (!this.#letsGo) return
    this.#letsGo = false
    if (this.#members.some(({ holds }) => holds)) this.arm()
    else this.#stepDown(now)
  }

  /**
   * Others have taken over what it owed. It owes nothing before it withdraws: a guardian that is renewing and finds the word
   * withdrawn takes off what it may have brought back. False: the guardian has executed it meanwhile.
   */
  handOver(): boolean {
    const { guarded, unit } = this
    const guard = guarded ? { renew: [], grace: millis(0) } : undefined
    const name = this.name ?? ''
    const owesNothing = this.#willed === '' || this.#unacknowledged
    const isOurs = owesNothing || this.#will.arm({ unit, name, remove: [], packets: [], guard })
    this.withdraw()
    return isOurs
  }

  /** Nobody answers on its behalf any more. */
  withdraw(): void {
    if (this.#willed === '') return
    this.#willed = ''
    this.#armed = false
    this.#absentAt = undefined
    this.#will.withdraw(this.unit)
  }

  /** After the addresses are off, or could not be taken off. */
  settleLater(): void {
    this.#runner.afterwards(this.#settle)
  }

  #stepDown(now: Millis): void {
    const { late } = this.#will.stepDown(this.unit)
    this.#armed = false
    this.#absentAt = undefined
    this.#unacknowledged = this.#unacknowledged && this.#will.state(this.unit) === 'executed'
    if (late) for (const member of this.#members) member.keeper.doubtRemoval(now)
  }

  readonly #armAgain = (): void => {
    if (this.#willed === '') return
    // All of them ended in the same turn: a will without heirs would stay with the guardian, and nobody would withdraw it.
    if (this.#heirs() === '') this.withdraw()
    else this.arm()
  }

  /** The earliest of all members: who is absent for one is so for all. */
  readonly #promise = (): void => {
    if (!this.#armed) {
      // The guardian was not done with the execution before.
      if (this.#unacknowledged) this.#armAgain()
      return
    }
    const earliest = this.#earliest()
    if (earliest === undefined || earliest === this.#absentAt) return
    this.#absentAt = earliest
    this.#will.sent(this.unit, earliest)
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

/** As the end of a sentence about the router. */
function reasonToStay({ state, parameters }: Router): string | undefined {
  const { transport } = parameters
  if (isOwner(parameters)) return 'owns its addresses (priority 255)'
  if (state.name === 'Leaving') return 'is leaving already'
  if (state.name === 'Returning') return 'is returning after an absence, not Active'
  if (state.name === 'Backup') {
    const holder = state.active === undefined ? '' : `: ${state.active.source} is Active`
    return `is Backup, not Active${holder}`
  }
  if (state.name === 'Initialize') return `is not Active: ${state.faults.join(', ') || 'it is stopped'}`
  if (transport.mode === 'unicast' && transport.peers.length === 0) return 'has no unicast peer that could take over'
  return undefined
}
