/**
 * The restart of a crashed engine as the engine uses it (docs/adr/0088): the record that the guardian keeps for the
 * next engine, and the record of the engine before. This file decides the form of the messages
 * (native/guardian/message.h, kinds 13 to 16, and the answers). This file does not know what a record contains.
 */
import { closeSync, readFileSync } from 'node:fs'
import type { ClockClaim, DryRun, Inheritance, RestartOrder, RestartPort } from '../../daemon/ports.ts'
import { millis } from '../../wire/units.ts'
import { type GuardianWords, SLOT, SLOT_SIZE, WORD } from '../native.ts'
import type { GuardianChannel } from './guardian-channel.ts'

const FORMAT = 1
const SNAPSHOT = 13
const SETTLED = 14
const REHEARSE = 15
const HAND_OVER = 16
/** Kinds of the guardian's answers. */
const REHEARSED = 1
const KEPT = 2
/**
 * Milliseconds for which the engine waits for its end, or for the reason why the guardian keeps it. The guardian refuses
 * an order that it reads later than ORDER_LIMIT, so that it does not replace an engine that has given up.
 */
const HAND_OVER_LIMIT = 500
const ORDER_LIMIT = 250
/** Milliseconds for a dry run. The guardian ends the program after 15 s. */
const REHEARSAL_LIMIT = 20_000
/** Status of a dry run that says nothing about the program (native/guardian/upgrade.c). */
const NOT_TRIED = 75
const HEADER = 12
const CLAIM = 8
/** Messages wait in the channel under these keys, behind those of units and slots. */
const SNAPSHOT_KEY = 0x20000
const SETTLED_KEY = 0x20001
const REHEARSE_KEY = 0x20002
const HAND_OVER_KEY = 0x20003
const NS_PER_MS = 1_000_000n
const GENERATION_BIT = 8
const SIGNAL_MASK = 0x7f

/**
 * Returns a message of kind 13, or of another kind with the same form. Without a record, the guardian does not start the
 * engine again.
 */
export function snapshotMessage(record: RestartOrder | undefined, kind = SNAPSHOT): Uint8Array {
  const { claims, text } = record ?? { claims: [], text: '' }
  const encoded = new TextEncoder().encode(text)
  const message = new Uint8Array(HEADER + claims.length * CLAIM + encoded.length)
  const out = new DataView(message.buffer)
  message.set([FORMAT, kind])
  out.setUint32(4, claims.length, true)
  for (const [i, { generation, slot }] of claims.entries()) {
    out.setUint32(HEADER + i * CLAIM, slot, true)
    out.setUint32(HEADER + i * CLAIM + 4, generation, true)
  }
  message.set(encoded, HEADER + claims.length * CLAIM)
  return message
}

/** Returns a message of kind 16, sent at `now` ms of CLOCK_MONOTONIC. */
export function handOverMessage(record: RestartOrder, now: number): Uint8Array {
  const message = snapshotMessage(record, HAND_OVER)
  new DataView(message.buffer).setUint32(8, (now + ORDER_LIMIT) % 2 ** 32, true)
  return message
}

const settledMessage = (): Uint8Array => {
  const message = new Uint8Array(HEADER)
  message.set([FORMAT, SETTLED])
  return message
}

/**
 * Reads what the engine before has left, from the descriptor of HOLDFAST_GUARDIAN_SNAPSHOT, and closes it. Returns
 * `undefined` if this engine follows no other.
 */
export function readInheritance(descriptor: string | undefined): Inheritance | undefined {
  if (descriptor === undefined || !/^\d+$/.test(descriptor)) return undefined
  const fd = Number(descriptor)
  try {
    return inheritanceOf(readFileSync(fd, 'utf8'))
  } catch {
    // The engine starts without the record, and the guardian removes the addresses.
    return undefined
  } finally {
    closeSync(fd)
  }
}

/**
 * The line that the guardian writes: number of restarts, time of the end in ms, wait status (waitpid(2)), and 1 after an
 * order of the engine.
 */
const FIRST_LINE = /^(\d+) ([\d.]+) (\d+)(?: (\d+))?\n(.*)$/s

function inheritanceOf(content: string): Inheritance | undefined {
  const [, restarts, crashedAt, status, isOrdered, text] = FIRST_LINE.exec(content) ?? []
  if (restarts === undefined || crashedAt === undefined || text === undefined) return undefined
  const signal = Number(status) & SIGNAL_MASK
  return {
    ...{ text, restarts: Number(restarts), crashedAt: millis(Number(crashedAt)), isUpgrade: isOrdered === '1' },
    signal: signal === 0 ? undefined : signal,
  }
}

export class GuardianRestart implements RestartPort {
  readonly inherited: Inheritance | undefined
  readonly #words: GuardianWords
  readonly #channel: GuardianChannel
  #isKept = false
  #onRehearsed: ((result: DryRun) => void) | undefined
  /** Reason why the guardian has not replaced this engine; `undefined` before its answer. */
  #keptBecause: string | undefined
  readonly #numbers = new Float64Array(SLOT_SIZE)

  constructor(words: GuardianWords, channel: GuardianChannel, inherited: Inheritance | undefined) {
    this.#words = words
    this.#channel = channel
    this.inherited = inherited
    channel.onAnswer((answer) => this.#hear(answer))
  }

  claim(slot: number): ClockClaim | undefined {
    this.#words.slotRead(slot, this.#numbers)
    const word = this.#numbers[SLOT.word] ?? 0
    const isSending = (word & (WORD.armed | WORD.stopped)) === WORD.armed
    return isSending ? { slot, generation: word >>> GENERATION_BIT } : undefined
  }

  isArmed(unit: number): boolean {
    return (this.#words.word(unit) & (WORD.armed | WORD.executed)) === WORD.armed
  }

  carrierChanges(interfaceName: string): number | undefined {
    try {
      const count = Number(readFileSync(`/sys/class/net/${interfaceName}/carrier_changes`, 'utf8'))
      return Number.isInteger(count) ? count : undefined
    } catch {
      return undefined
    }
  }

  get isKept(): boolean {
    return this.#isKept
  }

  keep(record: RestartOrder | undefined): void {
    this.#isKept = record !== undefined
    this.#channel.post(SNAPSHOT_KEY, snapshotMessage(record))
  }

  rehearse(record: RestartOrder): Promise<DryRun> {
    return new Promise((resolve) => {
      const late = setTimeout(() => {
        this.#channel.withdraw(REHEARSE_KEY)
        this.#onRehearsed?.({ status: NOT_TRIED, output: 'the guardian does not answer' })
      }, REHEARSAL_LIMIT)
      this.#onRehearsed = (result) => {
        this.#onRehearsed = undefined
        clearTimeout(late)
        resolve(result)
      }
      this.#channel.post(REHEARSE_KEY, snapshotMessage(record, REHEARSE))
    })
  }

  handOver(record: RestartOrder): string {
    this.#keptBecause = undefined
    this.#channel.post(HAND_OVER_KEY, handOverMessage(record, Number(process.hrtime.bigint() / NS_PER_MS)))
    const nothing = new Int32Array(new SharedArrayBuffer(4))
    for (const until = performance.now() + HAND_OVER_LIMIT; performance.now() < until; ) {
      Atomics.wait(nothing, 0, 0, 1)
      this.#channel.readCalls()
      if (this.#keptBecause !== undefined) return this.#keptBecause
    }
    this.#channel.withdraw(HAND_OVER_KEY)
    return 'the guardian does not answer'
  }

  #hear(answer: Uint8Array): void {
    const [kind, status = 0] = answer
    const text = new TextDecoder().decode(answer.subarray(2))
    if (kind === REHEARSED) this.#onRehearsed?.({ status, output: text })
    if (kind === KEPT) this.#keptBecause = text
  }

  settled(): void {
    this.#channel.post(SETTLED_KEY, settledMessage())
  }
}
