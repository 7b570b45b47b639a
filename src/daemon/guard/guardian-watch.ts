/**
 * Engine and guardian send each other beats. Decided here: when a guardian counts as lost, which needs more than one
 * look at the clock, because this process, or the whole container, may have been frozen; and when to look. The death of
 * a guardian is heard, so a look is only for a stopped one: it is due when the guardian could be silent for too long,
 * and put off by every look of a turn that is awake anyway. Refuses to know what an engine without a guardian does.
 */
import type { Millis } from '../../wire/units.ts'
import type { Schedule } from '../alarm.ts'
import type { Clock, GuardianBeat, GuardianPort } from '../ports.ts'
import type { Recorder } from '../telemetry/recorder.ts'

/**
 * Milliseconds between two beats of the guardian (native/guardian/heartbeat.h): it is silent when the next beat has not
 * come either.
 */
const BEAT = 250
/** Milliseconds between two looks: the guardian reports an engine that has not beaten for 2 s. */
const LONGEST = 1_500
/** The same where the death of the guardian, or a suspension, is not heard. */
const LONGEST_UNHEARD = 250
/**
 * Share of it after which a turn of another reason takes the look, and saves the one that would have woken the engine.
 */
const SHARE = 0.4
/** Milliseconds by which a look comes late when this process did not run itself. */
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
  /** Called before each look for which the engine was woken. */
  readonly onLook: () => void
  /** Called with each beat, every LONGEST at the latest: for a look at something else now and then. */
  readonly onBeat?: (() => void) | undefined
  /** Returns the shortest lifetime of all addresses in seconds; `undefined` if none has one. */
  readonly shortestLifetime: () => number | undefined
  /** Called once. `silence`: for so many milliseconds; `undefined`: the guardian has died. */
  readonly onLost: (silence: number | undefined) => void
}

export class GuardianWatch {
  readonly #context: GuardianWatchContext
  #cancel: (() => void) | undefined
  #isHeard = false
  #lookedAt = 0
  /** Time for which the next look was planned. */
  #dueAt = 0
  /** Time at which the guardian was heard, or could not be, because this process slept. */
  #heardAt = 0
  /** The last look found it silent: it has had the time of one more beat. */
  #isDoubted = false
  #isKept = false

  constructor(context: GuardianWatchContext) {
    this.#context = context
  }

  /** Starts the looks. An engine that was started without a guardian, or without shared memory, goes on without. */
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

  /** A turn is awake and has read the clock: takes the look if it is due soon, and never later than without. */
  glance(now: Millis): void {
    if (this.#cancel === undefined || this.#isDoubted || now - this.#lookedAt < SHARE * this.#longest) return
    this.stop()
    this.#judge()
  }

  /** A call means the death of the guardian, or a beat: a guardian that is doubted gets its time again. */
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
