/**
 * The guardian as the engine uses it: words in shared memory, and messages over the channel. Decided here: what counts
 * as armed, and in which order word and message are written. daemon/guard makes a plan, plan-message.ts encodes it,
 * guardian-channel.ts sends it.
 */
import type { CleanupPlan, GuardianPort, PlanState } from '../../daemon/ports.ts'
import { type Millis, millis } from '../../wire/units.ts'
import { type GuardianWords, type NativeAddon, WORD } from '../native.ts'
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

/** Milliseconds between two looks at the channel while no beat looks at it. */
const LOOK_MS = 1_000

/** Longest time in milliseconds that the engine waits for a renewal or an execution (docs/architecture.md). */
const BUSY_LIMIT_MS = 5

/** Two beats of the guardian, in milliseconds. After a shorter silence the engine does not look at the guardian. */
const SILENCE_MS = 500

export type Guardian = GuardianPort & {
  /** Sends text to the service manager (sd_notify(3)), in order. Text is lost if the channel stays full. */
  tell(text: string): void
  /**
   * Reports that the signal handlers are in place. Until then the guardian holds signals that would end this process.
   */
  ready(): void
  /**
   * Sets the format of the guardian's log lines. With `undefined`, the guardian chooses the format that fits its
   * standard error.
   */
  setLogFormat(format: GuardianLogFormat | undefined): void
  /** Closes the engine's end. The guardian then executes every armed plan immediately. Idempotent. */
  release(): void
}

const has = (word: number | undefined, bit: number): boolean => ((word ?? 0) & bit) !== 0

/**
 * Without a descriptor there is no guardian, and plans have no effect. Without `words` (openGuardianWords) only the
 * death of this process executes a plan. Without `native` no wake-up of the guardian is noticed. Reports each fault to
 * `onFault` once.
 */
export function openGuardian(
  descriptor: string | undefined = process.env.HOLDFAST_GUARDIAN_FD,
  onFault: (fault: GuardianFault) => void = () => {},
  words?: GuardianWords,
  native?: Pick<NativeAddon, 'ChannelEnd'>,
): Guardian {
  return new GuardianEnd(descriptor, onFault, words, native)
}

class GuardianEnd implements Guardian {
  readonly #channel: GuardianChannel
  readonly #words: GuardianWords | undefined
  readonly #held = new Set<number>()

  constructor(
    descriptor: string | undefined,
    onFault: (fault: GuardianFault) => void,
    words: GuardianWords | undefined,
    native: Pick<NativeAddon, 'ChannelEnd'> | undefined,
  ) {
    this.#words = words
    let watch: NodeJS.Timeout | undefined
    this.#channel = new GuardianChannel(descriptor, onFault, () => clearInterval(watch), native)
    if (this.#channel.descriptor !== undefined && words === undefined)
      watch = setInterval(() => this.#look(), LOOK_MS).unref()
  }

  /**
   * Writes the word first and sends the plan second. The guardian acts on a word only by the plan of the same
   * generation. So in between it renews nothing that the new plan may leave out.
   */
  arm(plan: CleanupPlan): boolean {
    const words = this.#words
    const generation = plan.guard === undefined ? 0 : words?.arm(plan.unit, this.#patience)
    if (generation === 0 && plan.guard !== undefined) return false
    // Otherwise the guardian would go on renewing the guarded plan that this one replaces.
    if (generation === 0) words?.withdraw(plan.unit, this.#patience)
    // Set before the message, so that the guardian reads both and needs no second message.
    const { absentAt } = plan.guard ?? {}
    if (generation !== undefined && absentAt !== undefined) words?.deadline(plan.unit, absentAt)
    this.#held.add(plan.unit)
    this.#channel.post(plan.unit, armMessage(plan, generation))
    return true
  }

  /**
   * Disarms the plan of a router that steps down. An execution is acknowledged too, because the router will hold
   * nothing and knows it.
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

  /** Wakes the guardian if the deadline is the first or nearer than before, because the guardian may sleep past it. */
  sent(unit: number, at: Millis): void {
    const before = this.#words?.deadline(unit, at)
    if (before === undefined || (before !== 0 && before <= at) || this.#channel.hasWaiting(unit)) return
    this.#channel.wake(lookMessage(unit))
  }

  state(unit: number): PlanState {
    if (has(this.#words?.word(unit), WORD.executed)) return 'executed'
    return this.#held.has(unit) ? 'armed' : 'withdrawn'
  }

  /** Acknowledges without waiting for a stopped guardian. The caller holds no address and retries. */
  acknowledge(unit: number): boolean {
    this.#held.delete(unit)
    return !has(this.#words?.acknowledge(unit, 0), WORD.executed)
  }

  get executions(): number {
    return this.#words?.executions() ?? 0
  }

  listen(onCall: () => void): boolean {
    return this.#channel.listen(onCall)
  }

  beat(now: Millis): ReturnType<GuardianPort['beat']> {
    const lastBeat = this.#words?.beat(now)
    this.#look()
    if (lastBeat === undefined || this.#channel.descriptor === undefined) return undefined
    const silent = millis(Math.max(0, now - lastBeat))
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

  release(): void {
    this.#channel.close()
  }

  /** A word that a dead guardian left busy stays busy. */
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
