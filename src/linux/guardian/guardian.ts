/**
 * The guardian as the engine uses it: words in shared memory, and messages over the channel. This file decides when a
 * cleanup plan counts as armed, and the order in which its word and its message are written. The code in daemon/guard
 * makes a plan, plan-message.ts encodes it, guardian-channel.ts sends it.
 */
import type { CleanupPlan, ClockPort, GuardianPort, Inheritance, PlanState, RestartPort } from '../../daemon/ports.ts'
import { type Millis, millis } from '../../wire/units.ts'
import { type BeatWatch, type GuardianWords, type NativeAddon, WORD } from '../native.ts'
import { type ClockDescriptors, type ClockParts, GuardianClock } from './clock.ts'
import { GuardianChannel, type GuardianFault } from './guardian-channel.ts'
import {
  armMessage,
  type GuardianLogFormat,
  logMessage,
  lookMessage,
  managerMessage,
  readyMessage,
  withdrawMessage,
} from './plan-message.ts'
import { GuardianRestart } from './restart.ts'

/** Milliseconds between two reads of the channel while the guardian sends no beat. */
const LOOK_MS = 1_000

/**
 * Longest time in milliseconds for which the engine waits while the guardian renews addresses or executes a plan
 * (docs/architecture.md).
 */
const BUSY_LIMIT_MS = 5

/**
 * Longest time between two beats of the guardian, in milliseconds. After a shorter silence the engine does not check
 * the guardian.
 */
const SILENCE_MS = 1_000

export type Guardian = GuardianPort & {
  /**
   * Sends text to the service manager (sd_notify(3)). Texts arrive in order. If the channel stays full, a text is lost.
   */
  tell(text: string): void
  /**
   * Reports that the engine's signal handlers are in place. Before this report the guardian holds back signals that
   * would end the engine.
   */
  ready(): void
  /**
   * Sets the format of the guardian's log lines. With `undefined`, the guardian chooses the format that fits its
   * standard error.
   */
  setLogFormat(format: GuardianLogFormat | undefined): void
  /** Starts to use the guardian's clock. Does nothing if there is no guardian with a clock. */
  startClock(parts: Pick<ClockParts, 'alarm' | 'sockets'>): void
  /**
   * Closes the engine's end of the channel. The guardian then executes every armed cleanup plan immediately. May be
   * called again.
   */
  release(): void
}

const has = (word: number | undefined, bit: number): boolean => ((word ?? 0) & bit) !== 0

/**
 * Opens the guardian. Without a descriptor there is no guardian, and cleanup plans have no effect. Without `words`
 * (openGuardianWords) a plan is executed only if this process dies. Without `native` the engine does not notice
 * wake-ups by the guardian. Reports each fault to `onFault` once.
 */
export function openGuardian(
  descriptor: string | undefined = process.env.HOLDFAST_GUARDIAN_FD,
  onFault: (fault: GuardianFault) => void = () => {},
  words?: GuardianWords,
  native?: Pick<NativeAddon, 'ChannelEnd' | 'BeatWatch'>,
  clock?: ClockDescriptors,
  inherited?: Inheritance,
): Guardian {
  return new GuardianEnd(descriptor, onFault, words, native, clock, inherited)
}

class GuardianEnd implements Guardian {
  readonly #descriptors: ClockDescriptors | undefined
  readonly #inherited: Inheritance | undefined
  #clock: GuardianClock | undefined
  #restart: GuardianRestart | undefined
  readonly #channel: GuardianChannel
  readonly #words: GuardianWords | undefined
  readonly #held = new Set<number>()
  readonly #native: Pick<NativeAddon, 'BeatWatch'> | undefined
  #onCall: () => void = () => {}
  #beats: BeatWatch | undefined

  constructor(
    descriptor: string | undefined,
    onFault: (fault: GuardianFault) => void,
    words: GuardianWords | undefined,
    native: Pick<NativeAddon, 'ChannelEnd' | 'BeatWatch'> | undefined,
    descriptors: ClockDescriptors | undefined,
    inherited: Inheritance | undefined,
  ) {
    this.#words = words
    this.#native = native
    this.#descriptors = descriptors
    this.#inherited = inherited
    let watch: NodeJS.Timeout | undefined
    this.#channel = new GuardianChannel(descriptor, onFault, () => clearInterval(watch), native)
    if (this.#channel.descriptor !== undefined && words === undefined)
      watch = setInterval(() => this.#look(), LOOK_MS).unref()
  }

  /**
   * Writes the shared word first and sends the cleanup plan second. The guardian acts on a word only by the plan of the
   * same generation. While the generations differ, the guardian renews no address that the new plan may leave out.
   */
  arm(plan: CleanupPlan): boolean {
    const words = this.#words
    const generation = plan.guard === undefined ? 0 : words?.arm(plan.unit, this.#patience)
    if (generation === 0 && plan.guard !== undefined) return false
    // Without the withdrawal, the guardian would go on renewing the addresses of the plan that the new plan replaces.
    if (generation === 0) words?.withdraw(plan.unit, this.#patience)
    // The time is set before the message is sent, so that the guardian reads both and needs no second message.
    const { absentAt } = plan.guard ?? {}
    if (generation !== undefined && absentAt !== undefined) words?.deadline(plan.unit, absentAt)
    this.#held.add(plan.unit)
    this.#channel.post(plan.unit, armMessage(plan, generation))
    return true
  }

  /**
   * Disarms the cleanup plan of a router that steps down. This call also acknowledges an execution of the plan, because
   * the router will have no addresses and the engine knows that.
   */
  stepDown(unit: number): { readonly executed: boolean; readonly late: boolean } {
    const word = this.#words?.withdraw(unit, this.#patience)
    const executed = has(word, WORD.executed)
    this.#held.delete(unit)
    if (executed) this.#words?.acknowledge(unit, 0)
    return { executed, late: has(word, WORD.busy) }
  }

  withdraw(unit: number): void {
    this.stepDown(unit)
    this.#channel.post(unit, withdrawMessage(unit))
  }

  /**
   * Wakes the guardian if the new deadline is the first one or earlier than before. Without this message the guardian
   * could sleep beyond the deadline.
   */
  sent(unit: number, at: Millis): void {
    const before = this.#words?.deadline(unit, at)
    if (before === undefined || (before !== 0 && before <= at) || this.#channel.hasWaiting(unit)) return
    this.#channel.wake(lookMessage(unit))
  }

  state(unit: number): PlanState {
    if (has(this.#words?.word(unit), WORD.executed)) return 'executed'
    return this.#held.has(unit) ? 'armed' : 'withdrawn'
  }

  /**
   * Acknowledges an executed cleanup plan, without waiting for a stopped guardian. The caller has no address and
   * retries.
   */
  acknowledge(unit: number): boolean {
    this.#held.delete(unit)
    return !has(this.#words?.acknowledge(unit, 0), WORD.executed)
  }

  get executions(): number {
    return this.#words?.executions() ?? 0
  }

  listen(onCall: () => void): boolean {
    this.#onCall = onCall
    return this.#channel.listen(onCall)
  }

  watch(patience: number, within: number): boolean {
    try {
      this.#beats ??= this.#openBeats()
      this.#beats?.set(patience, within)
      return this.#beats !== undefined
    } catch {
      // The process cannot have another timer. The engine looks itself.
      return false
    }
  }

  #openBeats(): BeatWatch | undefined {
    if (this.#native === undefined || this.#words === undefined) return undefined
    const beats = new this.#native.BeatWatch(this.#words)
    const call = () => this.#onCall()
    beats.start(call, call)
    return beats
  }

  beat(now: Millis): ReturnType<GuardianPort['beat']> {
    const lastBeat = this.#words?.beat(now)
    this.#look()
    if (lastBeat === undefined || this.#channel.descriptor === undefined) return undefined
    const silent = millis(Math.max(0, now - Math.max(lastBeat, this.#beats?.heardAt() ?? 0)))
    return { silent, isChanging: silent > SILENCE_MS && this.#isChanging() }
  }

  get guarded(): boolean {
    return this.#channel.descriptor !== undefined && this.#words !== undefined
  }

  get armed(): boolean {
    return this.#channel.isAccepted
  }

  tell(text: string): void {
    this.#channel.send(managerMessage(text))
  }

  ready(): void {
    this.#channel.send(readyMessage())
  }

  setLogFormat(format: GuardianLogFormat | undefined): void {
    this.#channel.send(logMessage(format))
  }

  get clock(): ClockPort | undefined {
    return this.#clock
  }

  startClock({ alarm, sockets }: Pick<ClockParts, 'alarm' | 'sockets'>): void {
    const [channel, descriptors, words] = [this.#channel, this.#descriptors, this.#words]
    if (words === undefined || descriptors === undefined || channel.descriptor === undefined) return
    this.#clock = new GuardianClock({ alarm, channel, descriptors, sockets, words })
    this.#restart = new GuardianRestart(words, channel, this.#inherited)
  }

  get restart(): RestartPort | undefined {
    return this.#restart
  }

  release(): void {
    this.#beats?.close()
    this.#channel.close()
  }

  /** A shared word that a dead guardian left busy stays busy. */
  get #patience(): number {
    return this.#channel.descriptor === undefined ? 0 : BUSY_LIMIT_MS
  }

  #isChanging(): boolean {
    return [...this.#held].some((unit) => has(this.#words?.word(unit), WORD.busy))
  }

  #look(): void {
    const fd = this.#channel.descriptor
    if (fd === undefined) return
    if (this.#words === undefined) this.#channel.readCalls()
    else if (this.#words.hungUp(fd)) this.#channel.handleEnd()
  }
}
