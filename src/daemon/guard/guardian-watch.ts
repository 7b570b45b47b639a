/**
 * Watches the guardian. Engine and guardian send each other beats. This file decides when the guardian counts as lost.
 * To count as lost, the guardian is checked at more than one time, because this process or the whole container may have
 * been frozen. This file also decides when to check the guardian. The death of a guardian wakes the engine, so a look
 * is needed only for a guardian that hangs. A look at the guardian is due when the guardian could be silent for too long. A
 * turn that runs for another reason looks as well, and moves the next look. This file does not know what an engine
 * without a guardian does.
 */
import { LOG } from '../../log/log.ts'
import type { Millis } from '../../wire/units.ts'
import type { Schedule } from '../alarm.ts'
import type { Clock, GuardianBeat, GuardianPort } from '../ports.ts'
import type { Recorder } from '../telemetry/recorder.ts'

/** Milliseconds in which a guardian in doubt must beat. A guardian that was frozen beats as soon as it runs. */
const DOUBT = 250
/** Milliseconds between two looks. The guardian reports an engine that has not sent a beat for 2 s. */
const LONGEST = 1_500
/**
 * Milliseconds between two looks if the port watches the guardian and publishes the engine's beat. Other regular work
 * needs no more.
 */
const LONGEST_WATCHED = 6_000
/** Milliseconds between two looks if the engine is not woken by the death of the guardian or a suspension. */
const LONGEST_UNHEARD = 250
/**
 * Share of this time after which a turn that runs for another reason also looks for the guardian. By this share the
 * engine is not woken for the look alone.
 */
const SHARE = 0.4
/** Milliseconds. If the engine tests the guardian later than this, this process did not run itself. */
const LATE = 250
/**
 * Shortest time in milliseconds without a heartbeat after which the guardian counts as lost. The guardian sends a
 * heartbeat every second (native/guardian/heartbeat.h). While it renews addresses, it also sends two in each period.
 */
const LEAST_PATIENCE = { renewing: 1_000, otherwise: 2_000 }
/**
 * Milliseconds for a guardian that is changing addresses. Such a guardian waits for the kernel, which has one lock for
 * network settings (RTNL). Another process may hold that lock, for example to delete thousands of links. No program can
 * change an address then, and no lifetime ends.
 */
const KERNEL_PATIENCE = 10_000

export type GuardianWatchContext = {
  readonly clock: Clock
  readonly guardian: Pick<GuardianPort, 'beat' | 'guarded' | 'listen' | 'watch'>
  readonly schedule: Schedule
  readonly recorder: Pick<Recorder, 'log'>
  /** Called before each test of the guardian for which the engine was woken. */
  readonly onLook: () => void
  /** Called with each test of the guardian, at least every LONGEST_WATCHED, for other regular work. */
  readonly onBeat?: (() => void) | undefined
  /**
   * Returns the shortest lifetime, in seconds, of the addresses that the guardian renews; `undefined` if the guardian
   * renews none.
   */
  readonly shortestLifetime: () => number | undefined
  /**
   * Called once, when the guardian is lost. `silence` is the time in milliseconds without a sign of life of the
   * guardian; `undefined` if the guardian died.
   */
  readonly onLost: (silence: number | undefined) => void
}

export class GuardianWatch {
  readonly #context: GuardianWatchContext
  #cancel: (() => void) | undefined
  #isHeard = false
  /** True while the port watches the guardian's beats in place of this class. */
  #isWatched = false
  #patience = 0
  #lookedAt = 0
  /** Time for which the next test of the guardian was planned. */
  #dueAt = 0
  /**
   * Time of the guardian's last sign of life, or of the last moment at which no sign of life could arrive because this
   * process slept.
   */
  #heardAt = 0
  /** True if the last test found no beat of the guardian. The guardian then has the time of one more beat. */
  #isDoubted = false
  #isBlocked = false

  constructor(context: GuardianWatchContext) {
    this.#context = context
  }

  /**
   * Starts the regular looks for the guardian. An engine without a guardian, or without shared memory, does not look.
   */
  start(): void {
    const { clock, guardian } = this.#context
    if (!guardian.guarded) return
    this.#lookedAt = clock.now()
    this.#dueAt = this.#lookedAt
    this.#heardAt = this.#lookedAt
    this.#isHeard = guardian.listen(() => this.#called())
    this.#look()
  }

  /**
   * Adopts the lifetimes of the addresses after a router changed its state. The guardian may then be silent for less
   * time than before.
   */
  follow(): void {
    if (this.#cancel !== undefined && this.#isWatched && this.#usualPatience() !== this.#patience) this.#judge()
  }

  stop(): void {
    this.#cancel?.()
    this.#cancel = undefined
  }

  /** Tests the guardian in a turn that runs for another reason, if the next test is due soon. */
  glance(now: Millis): void {
    if (this.#cancel === undefined || this.#isDoubted || now - this.#lookedAt < SHARE * this.#longest) return
    this.stop()
    this.#judge()
  }

  /**
   * Tests the guardian in a wake-up without a turn, if the port watches. If the port does not watch, the next turn or
   * timer tests the guardian.
   */
  glanceIfWatched(now: Millis): void {
    if (this.#isWatched) this.glance(now)
  }

  /**
   * Handles a call of the guardian port: the guardian has died, or sent a beat. If the guardian was in doubt, its time
   * begins again.
   */
  #called(): void {
    if (this.#cancel === undefined) return
    this.stop()
    this.#isDoubted = false
    this.#look()
  }

  #look(): void {
    this.#cancel = undefined
    this.#context.onLook()
    this.#judge()
  }

  #judge(): void {
    const { clock, guardian, onLost, schedule } = this.#context
    const now = clock.now()
    const beat = guardian.beat(now)
    if (beat === undefined) return onLost(undefined)
    this.#heardAt = Math.max(this.#heardAt, now - beat.silent)
    if (now - this.#dueAt > LATE) this.#heardAt = now
    const silent = now - this.#heardAt
    const patience = this.#patienceFor(silent, beat)
    if (silent > patience && this.#isDoubted) return onLost(silent)
    this.#isDoubted = silent > patience
    this.#lookedAt = now
    this.#patience = patience
    this.#isWatched = this.#isHeard && !this.#isDoubted && guardian.watch?.(patience, LONGEST_WATCHED) === true
    const wait = this.#isDoubted ? DOUBT : Math.min(Math.ceil(patience - silent) + 1, this.#longest)
    // A port that watches notices itself that this process did not run.
    this.#dueAt = this.#isWatched ? Number.POSITIVE_INFINITY : now + wait
    this.#cancel = this.#isWatched ? () => {} : schedule(() => this.#look(), wait)
    this.#context.onBeat?.()
  }

  #patienceFor(silent: number, { isChanging }: GuardianBeat): number {
    const usual = this.#usualPatience()
    const isBlocked = isChanging && silent > usual
    if (isBlocked && !this.#isBlocked) this.#logBlocked(Math.round(silent))
    this.#isBlocked = isBlocked
    return isBlocked ? Math.max(usual, KERNEL_PATIENCE) : usual
  }

  #usualPatience(): number {
    const lifetime = this.#context.shortestLifetime()
    return lifetime === undefined ? LEAST_PATIENCE.otherwise : Math.max(LEAST_PATIENCE.renewing, lifetime * 500)
  }

  /** Logs a change of addresses that takes longer than a guardian may be silent, once for each. */
  #logBlocked(silent: number): void {
    const why = "another process holds the kernel's lock for network settings"
    const message = `Guardian has waited ${silent} ms for the kernel to change addresses: ${why}`
    this.#context.recorder.log(LOG.guardianBlocked, message, { silent })
  }

  get #longest(): number {
    if (this.#isWatched) return LONGEST_WATCHED
    return this.#isHeard ? LONGEST : LONGEST_UNHEARD
  }
}
