/**
 * Decides which routers have a clock (docs/adr/0086). At the end of a turn, a router at rest leaves its advertisements
 * to the clock: they say the same as the last one. An event takes the clocks of the whole sync group back before it is
 * handled (router/post-event.ts). This file also proves that the engine has read everything, and handles a clock that
 * is late. This file does not know what a router does with an event, or how the guardian keeps time.
 */
import { isOwner } from '../../vrrp/parameters.ts'
import { centisToMillis, type Millis, millis, plus, sooner } from '../../wire/units.ts'
import type { EffectRunner } from '../effect-runner.ts'
import type { ClockPort, ClockRecord, GuardianPort } from '../ports.ts'
import type { Membership } from '../router/membership.ts'
import type { Router } from '../router/router.ts'
import type { MadeOrder } from './router-clock.ts'

/** Milliseconds without clocks after the engine could not prove that it has read everything. */
const PAUSE = 2_000
/**
 * Milliseconds without a proof after which the engine advertises by itself. A flood of packets leaves the queues never
 * empty. The clock stops 1.2 s after the last proof. The guardian removes the addresses three intervals after the last frame,
 * unless the engine has advertised by then.
 */
const UNPROVEN = 400
/**
 * Number of times in an interval at which rounds take place. Rounds of 255 routers at 100 ms need 160 wake-ups a second
 * instead of 2 550. At most a sixteenth of the routers advertise at the same time.
 */
const TIMES = 16

export type ClockDutyContext = {
  readonly guardian: GuardianPort
  readonly routers: () => readonly Router[]
  readonly runner: EffectRunner
  /** Tells whether the configuration lets the guardian's clock repeat advertisements. */
  readonly isOn: () => boolean
  /** Called when other routers than before have a clock, or have a new one. */
  readonly onChanged: () => void
}

export class ClockDuty {
  readonly #context: ClockDutyContext
  #armed = 0
  #pausedUntil: Millis | undefined
  /**
   * Times of the first and last proof (that the engine has read all packets) which could not be given; `undefined`
   * after a proof.
   */
  #unproven: { readonly since: Millis; readonly last: Millis } | undefined

  constructor(context: ClockDutyContext) {
    this.#context = context
  }

  /** Number of routers with a clock. */
  get armed(): number {
    return this.#armed
  }

  /**
   * Lets the guardian's clock advertise for each router at rest without one. The caller has run all effects of the
   * turn.
   */
  settle(now: Millis): void {
    const { guardian, isOn, routers } = this.#context
    const { clock } = guardian
    if (clock === undefined || (this.#armed === 0 && !isOn())) return
    const mayArm = isOn() && guardian.guarded && (this.#pausedUntil === undefined || now >= this.#pausedUntil)
    let armed = 0
    let isNew = false
    for (const router of routers()) {
      const { group } = router
      // The first member stands for its group.
      if (group.members[0] !== router || group.members.every(hasNoClock)) continue
      if (mayArm && group.members.every((member) => isCurrent(member, now))) armed += group.members.length
      else if (this.#settleGroup(group, mayArm, now)) {
        armed += group.members.length
        isNew = true
      }
    }
    if (isNew || armed !== this.#armed) this.#context.onChanged()
    this.#armed = armed
    if (isNew) this.#cover(clock)
  }

  /** Starts the clocks of a group of routers. Returns true if a new clock was started for each member. */
  #settleGroup(group: Membership<Router>, mayArm: boolean, now: Millis): boolean {
    const { members } = group
    if (mayArm && this.#keepsAdopted(group, now)) return true
    if (members.some(({ clock }) => clock.isArmed)) group.withdrawClocks()
    const isArmed = mayArm && this.#areAtRest(group, now) && members.every((member) => arm(member, now))
    if (isArmed) return true
    // One member had its clock before another one could not have one.
    if (members.some(({ clock }) => clock.isArmed)) group.withdrawClocks()
    let isEnded = false
    for (const { clock, state } of members) {
      if (!clock.takeEnded()) continue
      isEnded = true
      // Without this line, each advertisement of the new Active would wake the clock.
      if (state.name !== 'Active') clock.forget()
    }
    if (isEnded) this.#context.guardian.clock?.release(group.cleanup.unit)
    return false
  }

  /**
   * Tells whether the clocks of a crashed engine go on for this group: the group is not at rest yet, and no event has
   * ended them. A new process has pauses in which it should not advertise itself.
   */
  #keepsAdopted(group: Membership<Router>, now: Millis): boolean {
    if (!group.members.every(({ clock }) => clock.isAdopted)) return false
    for (const member of group.members) member.readClock()
    return !this.#areAtRest(group, now)
  }

  #areAtRest({ cleanup, members }: Membership<Router>, now: Millis): boolean {
    return cleanup.isArmed && this.#context.runner.idle && members.every((member) => isAtRest(member, now))
  }

  /**
   * Takes the advertisements back from clocks that are late or have stopped. Returns true if there was such a clock.
   */
  takeLate(now: Millis): boolean {
    const { guardian, routers } = this.#context
    let isLate = false
    for (const { clock, group } of routers()) {
      if (!clock.isLate(now)) continue
      // Each member pauses, because a group has all its clocks or none.
      for (const member of group.members) member.clock.pause(now)
      group.withdrawClocks()
      isLate = true
    }
    if (guardian.clock !== undefined) this.#cover(guardian.clock)
    return isLate
  }

  /** Adds what the guardian's clock has sent to the counters and states of the routers. */
  read(): void {
    if (this.#armed > 0) for (const router of this.#context.routers()) router.readClock()
  }

  /**
   * Proves at the end of a turn that the engine has read everything. Returns false if it could not for too long, and
   * has taken back all clocks.
   */
  prove(now: Millis): boolean {
    if (this.#armed === 0 || this.#context.guardian.clock?.prove() !== false) {
      this.#unproven = undefined
      return true
    }
    const { last, since } = this.#unproven ?? { last: now, since: now }
    // Between two turns that are far apart, the proof was given without a turn.
    this.#unproven = { last: now, since: now - last > UNPROVEN / 2 ? now : since }
    if (now - this.#unproven.since < UNPROVEN) return true
    this.#unproven = undefined
    this.#pausedUntil = plus(now, PAUSE)
    for (const { clock, group } of this.#context.routers()) if (clock.isArmed) group.withdrawClocks()
    this.settle(now)
    return false
  }

  /** Sets the timer that wakes the engine when the guardian's clock stops sending. */
  #cover(clock: ClockPort): void {
    let nearest: Millis | undefined
    for (const router of this.#context.routers()) nearest = sooner(nearest, router.clock.coverAt())
    if (nearest !== undefined) clock.cover(nearest)
  }
}

/** Tells whether the router has no clock, needs none, and has ended none: most Backups in most turns. */
const hasNoClock = ({ clock, state }: Router): boolean => state.name !== 'Active' && !clock.isArmed && !clock.isEnded

/** Values of a router from which its order is made. */
function sourcesOf(router: Router, now: Millis): readonly unknown[] {
  const { duplicates, group, io, parameters } = router
  return [parameters, io, io?.mac, io?.interfaceIndex, group, duplicates.canBeRepeated(now)]
}

/** Tells whether the clock runs with an order that is still right. */
const isCurrent = (router: Router, now: Millis): boolean =>
  router.clock.isArmed &&
  router.clock.isMadeFrom(sourcesOf(router, now)) &&
  router.io?.questions.isRepeated(router.parameters) === true

/** Tells whether the router does nothing but repeat its last advertisement. */
function isAtRest({ activesNews, advertiser, clock, duty, io, parameters, state }: Router, now: Millis): boolean {
  if (state.name !== 'Active' || state.adverAt <= now || isOwner(parameters) || io?.canSend !== true) return false
  return (
    !clock.isBusy &&
    !clock.isPaused(now) &&
    !activesNews.isOpen &&
    duty.nextAt === undefined &&
    advertiser.isRepetition(parameters)
  )
}

/** Starts the clock of a router at rest. Returns false if it has none. */
function arm(router: Router, now: Millis): boolean {
  const made = orderOf(router, now)
  return made !== undefined && router.startClock(made)
}

/** Returns the order of a router at rest: the questions before the advertisement, the advertisement, the other questions. */
function orderOf(router: Router, now: Millis): MadeOrder | undefined {
  const { absence, advertiser, clock, duplicates, group, io, parameters, state } = router
  const sentAt = absence.advertisedAt
  if (state.name !== 'Active' || io === undefined || sentAt === undefined) return undefined
  const { advertisementInterval: interval, family, primaryAddress: source, priority, vrid } = parameters
  const first = state.adverAt
  const period = duplicates.canBeRepeated(now) && io.questions.areHere(router) ? io.detection.period : undefined
  const advance = millis(first % (centisToMillis(interval) / TIMES))
  // The first questions of an order may be later than this by the advance, as after a late round. An earlier question
  // would not be expected.
  const { after, before, detection } = io.questions.repeated(router, millis(first - advance), period)
  const advertisement: readonly ClockRecord[] = advertiser
    .datagrams(parameters, priority)
    .map((datagram) => ({ every: 1, datagram }))
  const order = {
    ...{ slot: clock.slot, unit: group.cleanup.unit, family, vrid, interfaceIndex: io.interfaceIndex, source },
    ...{ period: centisToMillis(interval), first, advance, sentAt, records: [...before, ...advertisement, ...after] },
  }
  return { order, interval, detection, madeFrom: sourcesOf(router, now) }
}
