/**
 * Engine and guardian beat to each other (docs/architecture.md). Decided here: when a guardian counts as lost, which is no more
 * than a look at the clock says: this process, or the whole container, may have been the one that was frozen; and when to
 * look. The end of a guardian is heard, so a look is only for one that is stopped: due when it could be silent for too long, and
 * put off by every look that a turn makes which is awake anyway. Refuses to know what an engine does that has lost its
 * guardian.
 */
import type { Millis } from '../../wire/units.ts'
import type { Schedule } from '../alarm.ts'
import type { Clock, GuardianBeat, GuardianPort } from '../ports.ts'
import type { Recorder } from '../telemetry/recorder.ts'

/** The guardian beats that often (native/guardian/heartbeat.h): a silence is one when the next beat has not come either. */
const BEAT = 250
/** Between two looks: the guardian tells of an engine that has not beaten for 2 s. */
const LONGEST = 1_500
/** Where the end of the guardian, or of a suspension, is not heard. */
const LONGEST_UNHEARD = 250
/** Of it, until a look that somebody else's alarm makes early saves the one that would have woken us. */
const SHARE = 0.4
/** So much later than planned a look says that we did not run ourselves. */
const LATE = 250
const LEAST_PATIENCE = 1_000
/**
 * For a guardian that is changing addresses: it waits for the kernel, which has one lock for network settings (RTNL). While
 * another process holds the lock, for example to delete thousands of links, nobody can change an address, and no lifetime ends.
 */
const KERNEL_PATIENCE = 10_000

export type GuardianWatchContext = {
  readonly clock: Clock
  readonly guardian: GuardianPort
  readonly schedule: Schedule
  readonly recorder: Pick<Recorder, 'log'>
  /** Before each look for which we were woken. */
  readonly onLook: () => void
  /** With each beat, every LONGEST at the latest: for whoever has to look at something now and then. */
  readonly onBeat?: (() => void) | undefined
  /** Of all addresses that have one, in seconds. */
  readonly shortestLifetime: () => number | undefined
  /** Once. `silence`: for so many ms; undefined: it is gone. */
  readonly onLost: (silence: number | undefined) => void
}

export class GuardianWatch {
  readonly #context: GuardianWatchContext
  #cancel: (() => void) | undefined
  #isHeard = false
  #lookedAt = 0
  /** When the next look was planned for. */
  #dueAt = 0
  /** It was heard, or could not be, because we slept. */
  #heardAt = 0
  /** The look before found it silent: it has had one more beat's time. */
  #isDoubted = false
  #isKept = false

  constructor(context: GuardianWatchContext) {
    this.#context = context
  }

  /** Whoever was started without one, or without shared memory, goes on as he is. */
  start(): void {
    const { clock, guardian } = this.#context
    if (!guardian.guarded) return
    this.#lookedAt = clock.now()
    this.#dueAt = this.#lookedAt
    this.#heardAt = this.#lookedAt
    this.#isHeard = guardian.listen(() => this.#called())
    this.#look()
  }

  stop(): void {
    this.#cancel?.()
    this.#cancel = undefined
  }

  /** We are awake anyway, and have looked at the clock: the same look, if it is due soon. Never later than without. */
  glance(now: Millis): void {
    if (this.#cancel === undefined || this.#isDoubted || now - this.#lookedAt < SHARE * this.#longest) return
    this.stop()
    this.#judge()
  }

  /** Nothing but its end is certain yet: a guardian that calls beats as well, and one that is doubted has its time. */
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
    const wait = this.#isDoubted ? BEAT : Math.min(Math.ceil(patience - silent) + 1, this.#longest)
    this.#dueAt = now + wait
    this.#cancel = schedule(() => this.#look(), wait)
    this.#context.onBeat?.()
  }

  #patienceFor(silent: number, { isChanging }: GuardianBeat): number {
    const { shortestLifetime } = this.#context
    const usual = Math.max(LEAST_PATIENCE, ((shortestLifetime() ?? 0) * 1000) / 2)
    const isKept = isChanging && silent > usual
    if (isKept && !this.#isKept) this.#logKept(Math.round(silent))
    this.#isKept = isKept
    return isKept ? Math.max(usual, KERNEL_PATIENCE) : usual
  }

  /** Once for each change of addresses that takes so long that the guardian would count as silent. */
  #logKept(silent: number): void {
    const why = 'another process holds its lock for network settings'
    const message = `The kernel has kept the guardian from changing addresses for ${silent} ms: ${why}`
    this.#context.recorder.log('warn', message, { silent })
  }

  get #longest(): number {
    return this.#isHeard ? LONGEST : LONGEST_UNHEARD
  }
}
