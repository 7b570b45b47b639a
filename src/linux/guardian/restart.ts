/**
 * The restart of a crashed engine as the engine uses it (docs/adr/0088): the record that the guardian keeps for the next
 * engine, and the record of the engine before. This file decides the form of the messages (native/guardian/message.h,
 * kinds 13 and 14). It does not know what a record contains.
 */
import { closeSync, readFileSync } from 'node:fs'
import type { ClockClaim, Inheritance, RestartPort } from '../../daemon/ports.ts'
import { millis } from '../../wire/units.ts'
import { type GuardianWords, SLOT, SLOT_SIZE, WORD } from '../native.ts'
import type { GuardianChannel } from './guardian-channel.ts'

const FORMAT = 1
const SNAPSHOT = 13
const SETTLED = 14
const HEADER = 12
const CLAIM = 8
/** Messages wait in the channel under these keys, behind those of units and slots. */
const SNAPSHOT_KEY = 0x20000
const SETTLED_KEY = 0x20001
const GENERATION_BIT = 8
const SIGNAL_MASK = 0x7f

/** Returns a message of kind 13. Without a record, the guardian does not start the engine again. */
export function snapshotMessage(record: Parameters<RestartPort['keep']>[0]): Uint8Array {
  const { claims, text } = record ?? { claims: [], text: '' }
  const encoded = new TextEncoder().encode(text)
  const message = new Uint8Array(HEADER + claims.length * CLAIM + encoded.length)
  const out = new DataView(message.buffer)
  message.set([FORMAT, SNAPSHOT])
  out.setUint32(4, claims.length, true)
  for (const [i, { generation, slot }] of claims.entries()) {
    out.setUint32(HEADER + i * CLAIM, slot, true)
    out.setUint32(HEADER + i * CLAIM + 4, generation, true)
  }
  message.set(encoded, HEADER + claims.length * CLAIM)
  return message
}

const settledMessage = (): Uint8Array => {
  const message = new Uint8Array(HEADER)
  message.set([FORMAT, SETTLED])
  return message
}

/**
 * Reads what the crashed engine has left, from the descriptor of HOLDFAST_GUARDIAN_SNAPSHOT, and closes it. Returns
 * `undefined` if this engine follows no crash.
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

/** The guardian writes the first line: number of restarts, time of the crash in ms, wait status (waitpid(2)). */
function inheritanceOf(content: string): Inheritance | undefined {
  const [, restarts, crashedAt, status, text] = /^(\d+) ([\d.]+) (\d+)\n(.*)$/s.exec(content) ?? []
  if (restarts === undefined || crashedAt === undefined || text === undefined) return undefined
  const signal = Number(status) & SIGNAL_MASK
  return {
    ...{ text, restarts: Number(restarts), crashedAt: millis(Number(crashedAt)) },
    signal: signal === 0 ? undefined : signal,
  }
}

export class GuardianRestart implements RestartPort {
  readonly inherited: Inheritance | undefined
  readonly #words: GuardianWords
  readonly #channel: GuardianChannel
  #isKept = false
  readonly #numbers = new Float64Array(SLOT_SIZE)

  constructor(words: GuardianWords, channel: GuardianChannel, inherited: Inheritance | undefined) {
    this.#words = words
    this.#channel = channel
    this.inherited = inherited
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

  keep(record: Parameters<RestartPort['keep']>[0]): void {
    this.#isKept = record !== undefined
    this.#channel.post(SNAPSHOT_KEY, snapshotMessage(record))
  }

  settled(): void {
    this.#channel.post(SETTLED_KEY, settledMessage())
  }
}
