/**
 * The guardian as the engine uses it: words in shared memory, messages over the channel. Decided here: what counts as armed,
 * and in which order word and message go. A plan is made in daemon/guard, encoded in will-message.ts, sent by
 * guardian-channel.ts.
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
  readyMessage,
  tellMessage,
  withdrawMessage,
} from './will-message.ts'

/** Milliseconds between two looks at the channel where no beat looks at it. */
const LOOK_AGAIN = 1_000

/** Milliseconds for which a renewal or an execution that is under way may keep us (docs/architecture.md). */
const PATIENCE = 5

/** Two beats of the guardian, in milliseconds: with less it is not worth a look at its words. */
const SILENT = 500

export type Guardian = GuardianPort & {
  /** Words for the service manager (sd_notify(3)), in their order; those of a channel that stays full are lost. */
  tell(words: string): void
  /** Reports that the signal handlers are in place. Until then the guardian holds signals that would end this process. */
  ready(): void
  /** Sets the format of the guardian's log lines; `undefined`: the one that fits its standard error. */
  setLogFormat(format: GuardianLogFormat | undefined): void
  /** Closes our end, upon which the guardian executes what is armed, now. Idempotent. */
  release(): void
}

const has = (word: number | undefined, bit: number): boolean => ((word ?? 0) & bit) !== 0

/**
 * No number: started without a guardian, plans go nowhere. Without `words` (openGuardianWords) only the death of this process
 * executes a plan; without `native` no call of the guardian is noticed. Each fault is reported to `onFault` once.
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
      watch = setInterval(() => this.#look(), LOOK_AGAIN).unref()
  }

  /**
   * The word first, then the plan: the guardian acts for a word only by the plan of the same generation, so that between
   * the two it renews nothing that the new plan may leave out, and the message finds a word to look at.
   */
  arm(plan: CleanupPlan): boolean {
    const words = this.#words
    const generation = plan.guard === undefined ? 0 : words?.arm(plan.unit, this.#patience)
    if (generation === 0 && plan.guard !== undefined) return false
    // A guarded plan that this one replaces would go on being renewed.
    if (generation === 0) words?.withdraw(plan.unit, this.#patience)
    // Before the message: its reader sees both, and needs no second one.
    const { absentAt } = plan.guard ?? {}
    if (generation !== undefined && absentAt !== undefined) words?.deadline(plan.unit, absentAt)
    this.#held.add(plan.unit)
    this.#channel.post(plan.unit, armMessage(plan, generation))
    return true
  }

  /** A router that steps down holds nothing soon, and knows it: an execution is acknowledged with it. */
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

  /** Wakes the guardian if the deadline is nearer than before, or the first: it may sleep past it. */
  sent(unit: number, at: Millis): void {
    const before = this.#words?.deadline(unit, at)
    if (before === undefined || (before !== 0 && before <= at) || this.#channel.hasWaiting(unit)) return
    this.#channel.call(lookMessage(unit))
  }

  state(unit: number): PlanState {
    if (has(this.#words?.word(unit), WORD.executed)) return 'executed'
    return this.#held.has(unit) ? 'armed' : 'withdrawn'
  }

  /** Does not wait for a guardian that is stopped just now: a caller that has to hold nothing asks again. */
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
    const heard = this.#words?.beat(now)
    this.#look()
    if (heard === undefined || this.#channel.descriptor === undefined) return undefined
    const silent = millis(Math.max(0, now - heard))
    return { silent, isChanging: silent > SILENT && this.#isChanging() }
  }

  get guarded(): boolean {
    return this.#channel.descriptor !== undefined && this.#words !== undefined
  }

  get armed(): boolean {
    return this.#channel.isAccepted
  }

  tell(words: string): void {
    this.#channel.say(tellMessage(words))
  }

  ready(): void {
    this.#channel.say(readyMessage())
  }

  setLogFormat(format: GuardianLogFormat | undefined): void {
    this.#channel.say(logMessage(format))
  }

  release(): void {
    this.#channel.close()
  }

  /** A word that a dead guardian left busy stays so. */
  get #patience(): number {
    return this.#channel.descriptor === undefined ? 0 : PATIENCE
  }

  #isChanging(): boolean {
    return [...this.#held].some((unit) => has(this.#words?.word(unit), WORD.busy))
  }

  #look(): void {
    const fd = this.#channel.descriptor
    if (fd === undefined) return
    if (this.#words === undefined) this.#channel.hear()
    else if (this.#words.hungUp(fd)) this.#channel.lose()
  }
}
