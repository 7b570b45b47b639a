/**
 * Converts the actions of an engine to lines of a recording. The tape writes these lines, and the replay compares them.
 * `answer` has the outcome of an action, if it is not the usual one. This file knows nothing about which part of the
 * engine acts, and when.
 */
import * as z from 'zod'
import type { NamedAddress } from '../config/named-address.ts'
import type {
  AddressOutcome,
  AddressStep,
  AdvertisementSocketOptions,
  CleanupPlan,
  ClockOrder,
  ClockReading,
  Datagram,
  Failure,
  FrameSocketOptions,
  NeighborWatchOptions,
  SendOutcome,
} from '../daemon/ports.ts'
import type { Notification } from '../notify/notification.ts'
import { addressLine, type NewOutput, roundsLine } from './lines.ts'

/** Returns octets in the form of a recording line. The tape removes passwords. */
export type HexOf = (bytes: Uint8Array) => string

export const plainHex: HexOf = (bytes) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('hex')
export const bytesOf = (hex: string): Uint8Array => Uint8Array.from(Buffer.from(hex, 'hex'))

const datagram = ({ bytes, destination, ttl }: Datagram, hexOf: HexOf) => ({ to: destination, ttl, hex: hexOf(bytes) })

export const opened = (
  socket: number,
  what: 'advertisements' | 'frames' | 'neighbors',
  options: AdvertisementSocketOptions | FrameSocketOptions | NeighborWatchOptions,
): NewOutput => ({
  ...{ out: 'open', socket, what, interface: options.interfaceName, index: options.interfaceIndex },
  family: options.family,
  source: 'source' in options ? options.source : undefined,
  group: 'group' in options ? options.group : undefined,
  hears: 'hears' in options ? options.hears : undefined,
})

export const sent = (socket: number, datagrams: readonly Datagram[], hexOf: HexOf): NewOutput => ({
  ...{ out: 'send', socket, packets: datagrams.map((each) => datagram(each, hexOf)) },
})

export const framed = (socket: number, frames: readonly Uint8Array[]): NewOutput => ({
  ...{ out: 'frames', socket, frames: frames.map(plainHex) },
})

export const applied = (steps: readonly AddressStep[]): NewOutput => ({ out: 'apply', steps })

export const ordered = ({ records, ...order }: ClockOrder, hexOf: HexOf): NewOutput => ({
  ...{ out: 'clock', ...order },
  records: records.map((each) =>
    'frame' in each
      ? { every: each.every, frame: plainHex(each.frame) }
      : { every: each.every, ...datagram(each.datagram, hexOf) },
  ),
})

export const armedPlan = ({ guard, name, packets, remove, unit }: CleanupPlan, hexOf: HexOf): NewOutput => ({
  ...{ out: 'arm', unit, name, remove, guard },
  packets: packets.map(({ datagrams, ...rest }) => ({
    ...rest,
    datagrams: datagrams.map((each) => datagram(each, hexOf)),
  })),
})

/** Returns a notification without its programs, because the configuration in the recording names them. */
export const posted = ({ id, isLast, lane, runs }: Notification): NewOutput => ({
  ...{ out: 'notify', id, lane, runs, isLast },
})

// Results -----------------------------------------------------------------------------------------------------------

const failureSchema = z.object({ code: z.string(), syscall: z.string(), message: z.string(), retryable: z.boolean() })

/** Returns the recorded outcome of sending several packets; `undefined` if all were sent. */
export const sendAnswer = (outcomes: readonly SendOutcome[]): readonly (Failure | null)[] | undefined =>
  outcomes.every(({ ok }) => ok) ? undefined : outcomes.map((each) => (each.ok ? null : each.failure))

const sendAnswerSchema = z.array(failureSchema.nullable()).optional()

/** Returns the outcome of each of `count` sends from a recording. Throws if the recorded answer has another form. */
export function sendOutcomes(answer: unknown, count: number): readonly SendOutcome[] {
  const failures = sendAnswerSchema.parse(answer)
  return Array.from({ length: count }, (_, i) => {
    const failure = failures?.[i]
    return failure == null ? { ok: true } : { ok: false, failure }
  })
}

/** Returns the recorded outcome of several address changes; `undefined` if all changed something. */
export const applyAnswer = (outcomes: readonly AddressOutcome[]): readonly (Failure | boolean)[] | undefined =>
  outcomes.every((each) => each.ok && each.changed)
    ? undefined
    : outcomes.map((each) => (each.ok ? each.changed : each.failure))

const applyAnswerSchema = z.array(z.union([z.boolean(), failureSchema])).optional()

/** Returns the outcome of each address change from a recording. Throws if the recorded answer has another form. */
export function applyOutcomes(answer: unknown, steps: readonly AddressStep[]): readonly AddressOutcome[] {
  const each = applyAnswerSchema.parse(answer)
  return steps.map((step, i) => {
    const what = each?.[i] ?? true
    return typeof what === 'boolean' ? { step, ok: true, changed: what } : { step, ok: false, failure: what }
  })
}

/** Returns the failure in a recorded answer; `undefined` for success. */
export const failureOf = (answer: unknown): Failure | undefined => failureSchema.optional().parse(answer)

const steppedDownSchema = z.object({ executed: z.boolean(), late: z.boolean() }).optional()

export const steppedDownAnswer = (answer: { readonly executed: boolean; readonly late: boolean }) =>
  answer.executed || answer.late ? answer : undefined

export const steppedDown = (answer: unknown): { readonly executed: boolean; readonly late: boolean } =>
  steppedDownSchema.parse(answer) ?? { executed: false, late: false }

export const NO_ROUNDS: ClockReading = {
  ...{ sentAt: undefined, sent: 0, failed: 0, latest: 0 },
  ...{ isStopped: false, isBusy: false },
}

/** Returns what a clock has sent, from a recorded answer. */
export const readingOf = (answer: unknown): ClockReading => {
  const read = roundsLine.optional().parse(answer)
  return read ?? NO_ROUNDS
}

const readingsSchema = z
  .record(z.string(), z.union([z.object({ address: addressLine }), z.object({ problem: z.string() })]))
  .optional()

/** Returns the content of address files in a recorded answer. */
export const readingsOf = (answer: unknown): ReadonlyMap<string, NamedAddress['reading']> =>
  new Map(Object.entries(readingsSchema.parse(answer) ?? {}))
