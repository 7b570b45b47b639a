/**
 * Runs the turns of the engine. A turn begins with one `now`, posts what happened, runs the effects and sets the alarm.
 * This file decides the order of these steps. Above all, an alarm drains the queues before it acts on a deadline
 * (ground rule 2: a waiting packet counts). This file does not know the consequences of an event.
 */
import { Histogram } from '../metrics/histogram.ts'
import { METRICS } from '../metrics/names.ts'
import { centisToMillis, type Millis, sooner } from '../wire/units.ts'
import type { Leftovers } from './addresses/leftovers.ts'
import type { Admission } from './admission.ts'
import { Alarm } from './alarm.ts'
import type { EffectRunner } from './effect-runner.ts'
import type { AbsenceWatch } from './guard/absence-watch.ts'
import type { ClockDuty } from './guard/clock-duty.ts'
import type { GuardianWatch } from './guard/guardian-watch.ts'
import type { RestartKeeper } from './guard/restart-keeper.ts'
import type { HealthWatch } from './health/health-watch.ts'
import { READ_BATCHES } from './lan/reception.ts'
import type { Segments } from './lan/segments.ts'
import type { WatchDuty } from './lan/watch-duty.ts'
import type { Clock, MakeWakeUp, NetworkPort } from './ports.ts'
import { postEvent } from './router/post-event.ts'
import type { Registry } from './router/registry.ts'
import { LatenessNews } from './telemetry/lateness-news.ts'
import type { Notices } from './telemetry/notices.ts'
import type { Recorder } from './telemetry/recorder.ts'
import { TURN_CAUSES, type TurnCause, type TurnCounts, type Turns } from './turns.ts'

export type TurnContext = {
  readonly clock: Clock
  readonly network: Pick<NetworkPort, 'drain'>
  readonly wakeUp: MakeWakeUp
  readonly recorder: Recorder
  /**
   * False only in tests: the engine then acts on its timer without reading waiting packets first (ground rule 2: a
   * waiting packet counts).
   */
  readonly drainBeforeExpire: boolean
  /** Called after a turn that changed a state, if every router is in Initialize. */
  readonly onIdle: (now: Millis) => void
}

/**
 * Parts of the engine that a turn uses. The parts are created after the turn loop, because most of them end turns, and
 * are read during a turn.
 */
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
  readonly clocks: ClockDuty
  readonly watches: WatchDuty
  readonly restart: RestartKeeper
}

export class TurnLoop implements Turns {
  /** Histogram of the delays of the engine's alarms, in seconds. */
  readonly lateness = new Histogram(METRICS.holdfast_engine_timer_lateness_seconds.buckets)
  readonly #context: TurnContext
  readonly #parts: TurnParts
  readonly #alarm: Alarm
  readonly #latenessNews: LatenessNews
  /** True while an alarm is handled. The announcements of such a turn come after its decisions. */
  #serving = false
  #stateChanged = false
  readonly #counts: Record<TurnCause, number> = noTurns()

  constructor(context: TurnContext, parts: TurnParts) {
    this.#context = context
    this.#parts = parts
    this.#latenessNews = new LatenessNews(context.recorder.chronicle)
    this.#alarm = new Alarm(context.clock, (now, lateMs) => this.#serveAlarm('alarm', now, lateMs), context.wakeUp)
  }

  begin(cause: TurnCause, now = this.#context.clock.now()): Millis {
    this.#counts[cause]++
    // A turn that starts here may never end, if a health check changes nothing. For this reason the alarm handles an
    // absence.
    if (this.#parts.absence.notice(now)) this.#alarm.sooner(now)
    return now
  }

  /**
   * Runs the effects of the turn, then the work that waits for these effects. After that work, the function gives
   * clocks to the routers at rest, and sets the alarm.
   */
  end(now: Millis): void {
    const { admission, clocks, notices, registry, runner, segments, watches } = this.#parts
    runner.run(now)
    if (this.#context.drainBeforeExpire) this.#hearBeforeAnswering(now)
    if (registry.departing.size > 0) admission.releaseDeparted(now)
    // All advertisements are sent before all announcements.
    for (const { announcements } of segments.all) announcements.run(now)
    runner.tell()
    for (const segment of segments.all) segment.askForDuplicates()
    if (this.#stateChanged) this.#settleStates(now)
    // Notifications come after the first announcements (VR-NTF-08).
    notices.settle(registry)
    clocks.settle(now)
    watches.settle()
    this.#setAlarm()
    // The proof includes that no alarm is overdue.
    if (!clocks.prove(now)) this.#setAlarm()
    this.#parts.restart.settle()
  }

  #setAlarm(): void {
    const nearest = this.#nearestDeadline()
    this.#parts.absence.alarmAt = nearest
    this.#alarm.set(nearest)
  }

  endWoken(now: Millis): void {
    this.end(now)
    this.#parts.guardianWatch.glance(now)
  }

  endUnchanged(now: Millis): void {
    this.#parts.guardianWatch.glanceIfWatched(now)
  }

  /** Number of turns by cause since the start of the engine. */
  get counts(): TurnCounts {
    return { ...this.#counts }
  }

  /** Notes that a state may have changed. The turn then ends with a look at all routers. */
  markChanged(): void {
    this.#stateChanged = true
  }

  get isBusy(): boolean {
    return !this.#parts.runner.idle
  }

  /** True while an alarm is handled, which ends its own turn. */
  get isServing(): boolean {
    return this.#serving
  }

  alarmBy(at: Millis): void {
    this.#alarm.sooner(at)
  }

  /** Stops the engine's alarm. */
  stop(): void {
    this.#alarm.set(undefined)
  }

  /** Handles a late clock of the guardian: the engine advertises by itself, as with an alarm. */
  readonly serveCover = (): void => {
    const now = this.#context.clock.now()
    if (this.#parts.clocks.takeLate(now)) this.#serve('clock', now)
  }

  serveOverdue(): void {
    const now = this.#context.clock.now()
    this.#parts.watches.read()
    let deadline: Millis | undefined
    for (const router of this.#parts.registry.all)
      if (router.watch.isArmed) deadline = sooner(deadline, router.stateDeadline)
    this.#serveAlarm('silence', now, Math.max(0, now - (deadline ?? now)))
  }

  #serveAlarm(cause: TurnCause, firedAt: Millis, lateMs: number): void {
    this.lateness.observe(lateMs / 1_000)
    this.#serve(cause, firedAt)
    this.#latenessNews.note(lateMs, () => this.#shortestInterval(), firedAt)
  }

  #serve(cause: TurnCause, firedAt: Millis): void {
    const { admission, guardianWatch, health, leftovers, segments } = this.#parts
    this.begin(cause, firedAt)
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
  }

  /**
   * Reads all queues before a deadline expires, because a waiting packet may be the reason not to act. Link
   * notifications come first, because silence on a dead link proves nothing.
   */
  #drain(firedAt: Millis): void {
    const { drainBeforeExpire, network } = this.#context
    if (!drainBeforeExpire) return
    network.drain()
    for (const { reception } of this.#parts.segments.all) reception.drain(firedAt)
  }

  #expire(now: Millis): void {
    this.#parts.watches.read()
    for (const router of this.#parts.registry.all) {
      const deadline = router.stateDeadline
      if (deadline !== undefined && deadline <= now) {
        const receptionLost = this.#context.drainBeforeExpire && router.mayHaveMissed(now - deadline)
        postEvent(router, { kind: 'deadlineReached', receptionLost }, now)
      }
      router.runDueWork(now)
    }
  }

  /**
   * Reads the queues before a router announces over a competing Active of lower priority. The advertisement of a better
   * Active may wait there, for example when three separated nodes receive each other again. Our announcement would be
   * the last one, and would lead clients to addresses that are about to be removed.
   */
  #hearBeforeAnswering(now: Millis): void {
    const { runner, segments } = this.#parts
    for (const { announcements, reception } of segments.all)
      if (announcements.announcesOverCompetitor(now)) reception.drain(now, READ_BATCHES)
    runner.run(now)
  }

  #settleStates(now: Millis): void {
    const { registry, segments } = this.#parts
    this.#stateChanged = false
    this.#parts.guardianWatch.follow()
    for (const segment of segments.all) segment.watchAnnouncements()
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

function noTurns(): Record<TurnCause, number> {
  const counts = {} as Record<TurnCause, number>
  for (const cause of TURN_CAUSES) counts[cause] = 0
  return counts
}
