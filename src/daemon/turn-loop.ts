/**
 * The turns of the engine: a turn begins with one `now`, posts what happened, runs the effects and sets the one alarm.
 * Decided here: what comes in which order, above all that an alarm drains the queues before a deadline is acted on (ground
 * rule 2). Refuses to know what an event leads to.
 */
import { Histogram } from '../metrics/histogram.ts'
import { METRICS } from '../metrics/names.ts'
import { nextDeadline } from '../vrrp/state.ts'
import { centisToMillis, type Millis, sooner } from '../wire/units.ts'
import type { Leftovers } from './addresses/leftovers.ts'
import type { Admission } from './admission.ts'
import { Alarm } from './alarm.ts'
import type { EffectRunner } from './effect-runner.ts'
import type { AbsenceWatch } from './guard/absence-watch.ts'
import type { GuardianWatch } from './guard/guardian-watch.ts'
import type { HealthWatch } from './health/health-watch.ts'
import { READ_BATCHES } from './lan/reception.ts'
import type { Segments } from './lan/segments.ts'
import type { Clock, MakeWakeUp, NetworkPort } from './ports.ts'
import { postEvent } from './router/post-event.ts'
import type { Registry } from './router/registry.ts'
import { LatenessNews } from './telemetry/lateness-news.ts'
import type { Notices } from './telemetry/notices.ts'
import type { Recorder } from './telemetry/recorder.ts'
import type { Turns } from './turns.ts'

export type TurnContext = {
  readonly clock: Clock
  readonly network: Pick<NetworkPort, 'drain'>
  readonly wakeUp: MakeWakeUp
  readonly recorder: Recorder
  /** False in tests alone: decides on the timer, as a daemon without ground rule 2 would. */
  readonly drainBeforeExpire: boolean
  /** Called after a turn in which a state changed, if every router is in Initialize. */
  readonly onIdle: (now: Millis) => void
}

/** Parts of the engine that a turn goes through. They are read in a turn, and made after the turn loop: most of them end turns. */
export type TurnParts = {
  readonly runner: EffectRunner
  readonly segments: Segments
  readonly registry: Registry
  readonly admission: Admission
  readonly health: HealthWatch
  readonly leftovers: Leftovers
  readonly notices: Notices
  readonly absence: AbsenceWatch
  readonly guardianWatch: GuardianWatch
}

export class TurnLoop implements Turns {
  /** Seconds by which alarms came late. */
  readonly lateness = new Histogram(METRICS.holdfast_engine_timer_lateness_seconds.buckets)
  readonly #context: TurnContext
  readonly #parts: TurnParts
  readonly #alarm: Alarm
  readonly #latenessNews: LatenessNews
  /** An alarm is being served: its announcements come after its decisions. */
  #serving = false
  #stateChanged = false

  constructor(context: TurnContext, parts: TurnParts) {
    this.#context = context
    this.#parts = parts
    this.#latenessNews = new LatenessNews(context.recorder.chronicle)
    this.#alarm = new Alarm(context.clock, (now, lateMs) => this.#serveAlarm(now, lateMs), context.wakeUp)
  }

  begin(now = this.#context.clock.now()): Millis {
    // A turn of health checks that changes nothing begins and does not end.
    if (this.#parts.absence.notice(now)) this.#alarm.sooner(now)
    return now
  }

  /** Runs the effects of the turn, then what has to wait for them, and sets the alarm. */
  end(now: Millis): void {
    const { absence, admission, notices, registry, runner, segments } = this.#parts
    runner.run(now)
    if (this.#context.drainBeforeExpire) this.#hearBeforeAnswering(now)
    if (registry.departing.size > 0) admission.releaseDeparted(now)
    // Advertisements go before all announcements.
    for (const { announcements } of segments.all) announcements.run(now)
    runner.tell()
    for (const segment of segments.all) segment.askForDuplicates()
    if (this.#stateChanged) this.#settleStates(now)
    // After the first announcements (VR-NTF-08).
    notices.settle(registry)
    const nearest = this.#nearestDeadline()
    absence.alarmAt = nearest
    this.#alarm.set(nearest)
  }

  endWoken(now: Millis): void {
    this.end(now)
    this.#parts.guardianWatch.glance(now)
  }

  /** A state changed, or may have: the turn ends with a look at all of them. */
  markChanged(): void {
    this.#stateChanged = true
  }

  get isBusy(): boolean {
    return !this.#parts.runner.idle
  }

  /** An alarm is being served, and ends its turn. */
  get isServing(): boolean {
    return this.#serving
  }

  alarmBy(at: Millis): void {
    this.#alarm.sooner(at)
  }

  /** No alarm comes any more. */
  stop(): void {
    this.#alarm.set(undefined)
  }

  #serveAlarm(firedAt: Millis, lateMs: number): void {
    const { admission, guardianWatch, health, leftovers, segments } = this.#parts
    this.lateness.observe(lateMs / 1_000)
    this.begin(firedAt)
    this.#serving = true
    this.#drain(firedAt)
    const now = this.#context.clock.now()
    health.runDue(now)
    this.#expire(now)
    for (const { detection } of segments.all) detection.advance(now)
    if (leftovers.runDue(now)) admission.admit(now)
    const { openAgainAt } = segments
    if (openAgainAt !== undefined && now >= openAgainAt) segments.open(now)
    this.#serving = false
    this.end(now)
    guardianWatch.glance(now)
    this.#latenessNews.note(lateMs, () => this.#shortestInterval(), firedAt)
  }

  /**
   * Drain before expire: what waits in the queues may be the reason not to act. Notifications of links come first, because
   * silence on a dead link proves nothing.
   */
  #drain(firedAt: Millis): void {
    const { drainBeforeExpire, network } = this.#context
    if (!drainBeforeExpire) return
    network.drain()
    for (const { reception } of this.#parts.segments.all) reception.drain(firedAt)
  }

  #expire(now: Millis): void {
    for (const router of this.#parts.registry.all) {
      const deadline = nextDeadline(router.state)
      if (deadline !== undefined && deadline <= now) {
        const receptionLost = this.#context.drainBeforeExpire && router.mayHaveMissed(now - deadline)
        postEvent(router, { kind: 'deadlineReached', receptionLost }, now)
      }
      router.runDueWork(now)
    }
  }

  /**
   * A router that is about to answer a worse competing Active may have a better one's advertisement waiting by now (three
   * parted nodes that hear each other again): its own announcement would be the later one, and lead clients to addresses that
   * are about to go.
   */
  #hearBeforeAnswering(now: Millis): void {
    const { runner, segments } = this.#parts
    for (const { announcements, reception } of segments.all)
      if (announcements.answersRival(now)) reception.drain(now, READ_BATCHES)
    runner.run(now)
  }

  #settleStates(now: Millis): void {
    const { registry, segments } = this.#parts
    this.#stateChanged = false
    for (const segment of segments.all) segment.watchClaims()
    if (registry.all.every((router) => router.state.name === 'Initialize')) this.#context.onIdle(now)
  }

  #nearestDeadline(): Millis | undefined {
    const { health, leftovers, registry, segments } = this.#parts
    let nearest = sooner(sooner(segments.openAgainAt, leftovers.nextAt), health.nextAt)
    for (const router of registry.all) nearest = sooner(nearest, router.nextDeadline())
    for (const { announcements, detection } of segments.all)
      nearest = sooner(sooner(nearest, announcements.nextAt()), detection.nextAt())
    return nearest
  }

  #shortestInterval(): number {
    const { all } = this.#parts.registry
    return Math.min(...all.map(({ parameters }) => centisToMillis(parameters.advertisementInterval)))
  }
}
