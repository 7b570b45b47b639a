/**
 * Virtual routers that move together: a sync group, or one router alone, which is the same with one member. Every event
 * goes through here, because what one member hears decides for all. Also the unit of the last will: one for all members
 * that answer for addresses. What to decide is vrrp/sync-group.ts; how a member does it is router.ts.
 */
import type { Event } from '../vrrp/event.ts'
import type { StartReason } from '../vrrp/group-agreement.ts'
import { isOwner } from '../vrrp/parameters.ts'
import { wasSilentTooLong } from '../vrrp/returning.ts'
import { type GroupStep, settleGroup, stepGroup } from '../vrrp/sync-group.ts'
import type { Millis } from '../wire/units.ts'
import type { EffectRunner } from './effect-runner.ts'
import { bequestOf, lastWillOf } from './last-will.ts'
import type { LastWillPort } from './ports.ts'
import type { Router } from './router.ts'

export class RouterGroup {
  /** Undefined: a router alone. */
  readonly name: string | undefined
  /** Of the last will. */
  readonly unit: number
  readonly #runner: EffectRunner
  readonly #will: LastWillPort
  #members: readonly Router[] = []
  /** Whose part is in the will that the guardian has. */
  #willed = ''

  constructor(name: string | undefined, unit: number, runner: EffectRunner, will: LastWillPort) {
    this.name = name
    this.unit = unit
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
    this.#take(stepGroup(this.#members, this.#members.indexOf(member), event, now))
  }

  /** Its members came together while they were running: brings them to where a group can be. */
  settle(now: Millis, reason?: StartReason): void {
    this.#take(settleGroup(this.#members, now, reason))
  }

  #take(steps: readonly GroupStep[]): void {
    let begins = false
    let ends = false
    for (const [i, { state, effects }] of steps.entries()) {
      const member = this.#members[i]
      // Most events mean nothing for the others, who may be 254.
      if (member === undefined || (state === member.state && effects.length === 0)) continue
      const answered = member.answers
      member.take(state, effects)
      if (member.answers && !answered) begins = true
      if (!member.answers && answered) ends = true
    }
    // The will comes before the first address, so that there is no moment in which a crash leaves one behind.
    if (begins) this.arm()
    if (ends) this.settleLater()
  }

  /** One member that was silent for too long was so with all of them. */
  noticeStall(now: Millis): void {
    const slept = this.#members.find(({ parameters, state }) => wasSilentTooLong(state, parameters, now))
    if (slept === undefined) return
    // What happened to the links meanwhile is read next, and becomes a fault.
    const linkWasUp = this.#members.every(({ io }) => io?.canSend === true)
    this.post(slept, { kind: 'absenceNoticed', cause: 'stalled', linkWasUp }, now)
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

  /** A crash would leave something behind. */
  get owes(): boolean {
    return this.#heirs() !== ''
  }

  /** What was promised to the guardian must follow what a member has. */
  arm(): void {
    const owed = this.#members.flatMap((member) => bequestOf(member) ?? [])
    this.#willed = this.#heirs()
    this.#will.arm(lastWillOf({ unit: this.unit, name: this.name ?? this.#members[0]?.name ?? '' }, owed))
  }

  /** Nobody answers on its behalf any more, or others have taken over what it owed. */
  withdraw(): void {
    if (this.#willed === '') return
    this.#willed = ''
    this.#will.withdraw(this.unit)
  }

  /** After the addresses are off, or could not be taken off. */
  settleLater(): void {
    this.#runner.afterwards(this.#settle)
  }

  readonly #settle = (): void => {
    const heirs = this.#heirs()
    if (heirs === this.#willed) return
    if (heirs !== '') return this.arm()
    this.withdraw()
  }

  /** Members that answer, or could not stop answering. */
  #heirs(): string {
    return this.#members
      .filter((member) => member.answers || member.keeper.stuck)
      .map((member) => (member.answers ? member.name : `${member.name} (stuck)`))
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
