/**
 * The engine's end of the socketpair to the guardian (SOCK_SEQPACKET: one write is one message). Decided here: what
 * counts as armed, in which order word and message go, and how the guardian's death is noticed. Refused here: what a
 * will says (daemon/), how it is spelled (will-message.ts) and what an engine does that has no guardian any more.
 */
import { closeSync, readSync, writeSync } from 'node:fs'
import type { CleanupPlan, GuardianPort } from '../../daemon/ports.ts'
import { millis } from '../../wire/units.ts'
import { type GuardianWords, type NativeAddon, WORD } from '../native.ts'
import {
  armMessage,
  type GuardianLogFormat,
  LARGEST_MESSAGE,
  logMessage,
  lookMessage,
  readyMessage,
  tellMessage,
  withdrawMessage,
} from './will-message.ts'

/** A guardian that was stopped for a moment drains a full channel within milliseconds of going on. */
const TRY_AGAIN = 20
/** Without a beat, which looks as well. */
const LOOK_AGAIN = 1_000

/** Words for the service manager that wait for a full channel. */
const MOST_UNTOLD = 16

/** Milliseconds for which a renewal or an execution that is under way may keep us (docs/architecture.md). */
const PATIENCE = 5

/** Two beats of the guardian, in milliseconds: with less it is not worth a look at its words. */
const SILENT = 500

export type GuardianFault = { readonly message: string; readonly unit?: number; readonly bytes?: number }
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

const codeOf = (error: unknown): unknown => (error instanceof Error && 'code' in error ? error.code : undefined)

/**
 * No number: started without a guardian, wills go nowhere. Without `words` (openGuardianWords) only the death of this
 * process executes a will; without `native` nobody hears the guardian. `onFault` hears of each fault once.
 */
export function openGuardian(
  descriptor: string | undefined = process.env.HOLDFAST_GUARDIAN_FD,
  onFault: (fault: GuardianFault) => void = () => {},
  words?: GuardianWords,
  native?: Pick<NativeAddon, 'ChannelEnd'>,
): Guardian {
  let fd = descriptor !== undefined && /^\d+$/.test(descriptor) ? Number(descriptor) : undefined
  /** Not accepted yet, newest per unit: an old will of a unit must not outlive a newer one or its withdrawal. */
  const waiting = new Map<number, Uint8Array>()
  /** Units whose newest will the guardian cannot take; what it had of them before stays. */
  const refused = new Set<number>()
  const held = new Set<number>()
  const untold: Uint8Array[] = []
  let retry: NodeJS.Timeout | undefined
  /** Owns the descriptor from listen() on. */
  let end: InstanceType<NativeAddon['ChannelEnd']> | undefined
  const watch = fd === undefined || words !== undefined ? undefined : setInterval(look, LOOK_AGAIN).unref()

  function lose(): void {
    stop()
    onFault({
      message: 'The guardian is gone: nobody renews the lifetime of our addresses, nor takes them off when we die',
    })
  }

  function stop(): void {
    fd = undefined
    // A channel that has ended stays readable.
    end?.close()
    clearInterval(watch)
    clearTimeout(retry)
    waiting.clear()
    untold.length = 0
  }

  function look(): void {
    if (fd === undefined) return
    if (words === undefined) hear()
    else if (words.hungUp(fd)) lose()
  }

  /** A call of the guardian is no more than that: there is that to read, the end of the channel, or nothing (EAGAIN). */
  function hear(): void {
    if (fd === undefined) return
    try {
      if (readSync(fd, new Uint8Array(1)) === 0) lose()
    } catch (error) {
      if (codeOf(error) !== 'EAGAIN') lose()
    }
  }

  function refuse(unit: number, bytes: number): void {
    waiting.delete(unit)
    if (refused.has(unit)) return
    refused.add(unit)
    const message = 'The last will is too large for the guardian: when this process dies, addresses of this unit stay'
    onFault({ message, unit, bytes })
  }

  function flush(): void {
    clearTimeout(retry)
    retry = undefined
    for (const [unit, message] of waiting) {
      if (fd === undefined) return
      try {
        writeSync(fd, message)
        waiting.delete(unit)
        refused.delete(unit)
      } catch (error) {
        const code = codeOf(error)
        if (code === 'EAGAIN' || code === 'ENOBUFS') {
          retry = setTimeout(flush, TRY_AGAIN).unref()
          return
        }
        // A socket whose buffer could not be raised takes less than we would send.
        if (code === 'EMSGSIZE') refuse(unit, message.length)
        else return lose()
      }
    }
    // After the wills: whoever reads them has no hurry.
    for (const message of untold.splice(0)) say(message)
  }

  function say(message: Uint8Array): void {
    if (fd === undefined || untold.length === MOST_UNTOLD) return
    try {
      if (untold.length > 0) untold.push(message)
      else writeSync(fd, message)
    } catch (error) {
      const code = codeOf(error)
      if (code !== 'EAGAIN' && code !== 'ENOBUFS') return lose()
      untold.push(message)
      retry ??= setTimeout(flush, TRY_AGAIN).unref()
    }
  }

  function post(unit: number, message: Uint8Array): void {
    if (fd === undefined) return
    if (message.length > LARGEST_MESSAGE) return refuse(unit, message.length)
    waiting.delete(unit)
    waiting.set(unit, message)
    flush()
  }

  /** A word that a dead guardian left busy stays so. */
  const patience = (): number => (fd === undefined ? 0 : PATIENCE)
  const has = (word: number | undefined, bit: number): boolean => ((word ?? 0) & bit) !== 0

  const isChanging = (): boolean => [...held].some((unit) => has(words?.word(unit), WORD.busy))

  /**
   * The word first, then the will: the guardian acts for a word only by the will of the same generation, so that between
   * the two it renews nothing that the new will may leave out, and the message finds a word to look at.
   */
  function arm(will: CleanupPlan): boolean {
    const generation = will.guard === undefined ? 0 : words?.arm(will.unit, patience())
    if (generation === 0 && will.guard !== undefined) return false
    // A guarded will that this one replaces would go on being renewed.
    if (generation === 0) words?.withdraw(will.unit, patience())
    // Before the message: whoever reads it sees both, and needs no second one.
    const { absentAt } = will.guard ?? {}
    if (generation !== undefined && absentAt !== undefined) words?.deadline(will.unit, absentAt)
    held.add(will.unit)
    post(will.unit, armMessage(will, generation))
    return true
  }

  /** Who steps down owns nothing soon, and knows it: what was executed is acknowledged with it. */
  function stepDown(unit: number): { readonly executed: boolean; readonly late: boolean } {
    const word = words?.withdraw(unit, patience())
    const executed = has(word, WORD.executed)
    held.delete(unit)
    if (executed) words?.acknowledge(unit, 0)
    return { executed, late: has(word, WORD.busy) }
  }

  function withdraw(unit: number): void {
    stepDown(unit)
    post(unit, withdrawMessage(unit))
  }

  /** Nearer than before, or the first: the guardian may sleep past it. A channel that is full wakes it as well. */
  function sent(unit: number, at: number): void {
    const before = words?.deadline(unit, at)
    if (before === undefined || fd === undefined || (before !== 0 && before <= at) || waiting.has(unit)) return
    try {
      writeSync(fd, lookMessage(unit))
    } catch (error) {
      const code = codeOf(error)
      if (code !== 'EAGAIN' && code !== 'ENOBUFS') lose()
    }
  }

  return {
    arm,
    stepDown,
    withdraw,
    sent,
    state(unit) {
      if (has(words?.word(unit), WORD.executed)) return 'executed'
      return held.has(unit) ? 'armed' : 'withdrawn'
    },
    acknowledge(unit) {
      held.delete(unit)
      // Whoever has to own nothing can ask again; nobody else must wait for a guardian that is stopped just now.
      return !has(words?.acknowledge(unit, 0), WORD.executed)
    },
    get executions() {
      return words?.executions() ?? 0
    },
    listen(onCall) {
      if (fd === undefined || native === undefined || end !== undefined) return false
      const called = () => {
        hear()
        onCall()
      }
      try {
        end = new native.ChannelEnd(fd)
        end.start(called, called)
        return true
      } catch {
        // Out of descriptors for the event loop: whoever asks looks by himself then.
        return false
      }
    },
    beat(now) {
      const heard = words?.beat(now)
      look()
      if (heard === undefined || fd === undefined) return undefined
      const silent = millis(Math.max(0, now - heard))
      return { silent, isChanging: silent > SILENT && isChanging() }
    },
    get guarded() {
      return fd !== undefined && words !== undefined
    },
    get armed() {
      return fd !== undefined && waiting.size === 0 && refused.size === 0
    },
    tell: (words) => say(tellMessage(words)),
    ready: () => say(readyMessage()),
    setLogFormat: (format) => say(logMessage(format)),
    release() {
      if (fd !== undefined && end === undefined) closeSync(fd)
      stop()
    },
  }
}
