/**
 * The clock of the guardian as the engine uses it (docs/adr/0086): slots in shared memory, orders over the channel, and
 * two descriptors that the guardian made. This file decides that an order is sent after its slot was armed. The clock
 * acts on an order only by the slot of the same generation. daemon/guard decides which router has a clock.
 */
import type { ClockOrder, ClockPort, ClockReading } from '../../daemon/ports.ts'
import { type Millis, millis } from '../../wire/units.ts'
import { type GuardianWords, type NativeAddon, type NativeTimer, SLOT, SLOT_SIZE, SLOTS, WORD } from '../native.ts'
import type { ReadSockets } from '../sockets/read-sockets.ts'
import { clockMessage, forgetMessage } from './clock-message.ts'
import type { GuardianChannel } from './guardian-channel.ts'
import { LARGEST_MESSAGE, lookMessage } from './plan-message.ts'

/** Longest time in milliseconds that the engine waits for a round that is being sent. */
const BUSY_LIMIT_MS = 5
/** Orders wait in the channel under the number of their slot plus this, because units have the numbers below. */
const FIRST_KEY = 0x10000

/** Descriptors of the environment variable HOLDFAST_GUARDIAN_CLOCK. */
export type ClockDescriptors = {
  /** Descriptor on which the guardian's clock asks the engine for a proof that all packets were read. */
  readonly ask: number
  /** Timer that fires when the guardian's clock has not sent its rounds in time. */
  readonly cover: NativeTimer
}

/**
 * Takes the descriptors that the guardian made. No child process inherits them from now on. Returns `undefined` without
 * a guardian, or with an older one.
 */
export function inheritClock(
  native: Pick<NativeAddon, 'NativeTimer' | 'keepLast'>,
  text: string | undefined,
): ClockDescriptors | undefined {
  const [, first, second] = /^(\d+),(\d+)$/.exec(text ?? '') ?? []
  if (first === undefined || second === undefined) return undefined
  try {
    return { ask: native.keepLast(Number(first)), cover: new native.NativeTimer(Number(second)) }
  } catch {
    // The engine works without a clock.
    return undefined
  }
}

export type ClockParts = {
  readonly words: GuardianWords
  readonly channel: GuardianChannel
  readonly descriptors: ClockDescriptors
  /** Timer of the engine's alarm. The engine gives no proof while the alarm is overdue. */
  readonly alarm: Pick<NativeTimer, 'close'>
  readonly sockets: ReadSockets
}

export class GuardianClock implements ClockPort {
  readonly #parts: ClockParts
  readonly #numbers = new Float64Array(SLOT_SIZE)

  constructor(parts: ClockParts) {
    this.#parts = parts
  }

  arm(order: ClockOrder): boolean {
    const { channel, words } = this.#parts
    const { sentAt, slot, unit } = order
    if (slot >= SLOTS || channel.descriptor === undefined) return false
    // The generation has a fixed size, so the message can be measured before the slot is armed.
    if (clockMessage(order, 0).length > LARGEST_MESSAGE) return false
    const generation = words.slotArm(slot, unit, sentAt)
    if (generation === 0) return false
    channel.post(FIRST_KEY + slot, clockMessage(order, generation))
    return true
  }

  withdraw(slot: number): ClockReading {
    const { channel, words } = this.#parts
    // A guardian that died while it worked on a slot has left the slot busy, so waiting for that slot is of no use.
    words.slotWithdraw(slot, channel.descriptor === undefined ? 0 : BUSY_LIMIT_MS)
    return this.read(slot)
  }

  read(slot: number): ClockReading {
    const numbers = this.#numbers
    this.#parts.words.slotRead(slot, numbers)
    const word = numbers[SLOT.word] ?? 0
    const sentAt = numbers[SLOT.sentAt] ?? 0
    return {
      sentAt: sentAt === 0 ? undefined : millis(sentAt),
      sent: numbers[SLOT.sent] ?? 0,
      failed: numbers[SLOT.failed] ?? 0,
      latest: numbers[SLOT.latest] ?? 0,
      isStopped: (word & WORD.stopped) !== 0,
      isBusy: (word & WORD.busy) !== 0 && this.#parts.channel.descriptor !== undefined,
    }
  }

  forget(slot: number): void {
    if (slot < SLOTS) this.#parts.channel.post(FIRST_KEY + slot, forgetMessage(slot))
  }

  release(unit: number): void {
    this.#parts.channel.wake(lookMessage(unit))
  }

  cover(at: Millis): void {
    this.#parts.descriptors.cover.set(at)
  }

  prove(): boolean {
    return this.#parts.words.prove()
  }

  listen(onCover: () => void): void {
    const { alarm, descriptors, sockets, words } = this.#parts
    descriptors.cover.start(onCover, onCover)
    sockets.follow(() => words.answer(descriptors.ask, sockets.all, alarm))
  }
}
