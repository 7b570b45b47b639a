/**
 * The format of a recording: JSON lines. The first line names the file's format. A line with `in` is an input of the
 * engine: a packet, an event or an answer. A line with `out` is an action of the engine. A line with `turn` is an input
 * from outside, and the lines up to the next such line happened in the same turn. This file decides the kinds of lines,
 * that clock values are part of the next line, and what makes a line unreadable. This file knows nothing about the
 * writer and the replay.
 */
import * as z from 'zod'
import type { Config } from '../config/config.ts'
import type { NamedAddress } from '../config/named-address.ts'
import type { LedgerEntry } from '../daemon/addresses/ledger.ts'
import type {
  CheckPortNews,
  ClockReading,
  Failure,
  Link,
  NeighborResolution,
  NetworkEvent,
  NotifyPortNews,
  PlanState,
  PresentAddress,
} from '../daemon/ports.ts'
import { eventSchema } from '../events/event.ts'
import { type Address, type Family, parseAddress } from '../wire/address.ts'
import type { Millis } from '../wire/units.ts'

/** Version of the recording format. A reader of another version refuses the file. */
export const FORMAT = 1

/** First characters of every recording file. */
export const OPENING = '{"recording":'

/** Returns a schema that checks a value only as far as a reader needs, because holdfast itself wrote it. */
const shaped = <T>(schema: z.ZodType) => z.custom<T>((value) => schema.safeParse(value).success)

const moment = shaped<Millis>(z.number())
export const addressLine = z.custom<Address>((value) => typeof value === 'string' && parseAddress(value) === value)
const family = z.custom<Family>((value) => value === 'ipv4' || value === 'ipv6')
const hex = z.string().regex(/^([0-9a-f]{2})*$/)
const named = z.looseObject({ kind: z.string() })
const present = z.looseObject({
  interfaceIndex: z.int(),
  address: addressLine,
  prefixLength: z.int(),
  tentative: z.boolean(),
})
const link = z.looseObject({ index: z.int(), name: z.string(), mac: z.string(), up: z.boolean(), running: z.boolean() })
const failure = shaped<Failure>(z.looseObject({ code: z.string(), message: z.string(), retryable: z.boolean() }))
/** The whole configuration of an engine, without secrets. */
export const configLine = shaped<Config>(
  z.looseObject({
    runDirectory: z.string(),
    virtualRouters: z.array(z.looseObject({ name: z.string(), addresses: z.array(z.unknown()) })),
    syncGroups: z.array(z.unknown()),
    healthchecks: z.array(named),
  }),
)
const reading = shaped<NamedAddress['reading']>(
  z.union([z.object({ address: addressLine }), z.object({ problem: z.string() })]),
)
const socket = z.int()
export const roundsLine = shaped<ClockReading>(
  z.object({ sent: z.number(), failed: z.number(), isStopped: z.boolean(), isBusy: z.boolean() }),
)

/** Clock values that the engine read since the line before, in order. `asleep` is present if it has changed. */
const reads = {
  now: z.array(moment).optional(),
  asleep: moment.optional(),
  random: z.array(z.number()).optional(),
  wall: z.array(z.number()).optional(),
  elapsed: z.array(z.number()).optional(),
  mono: z.array(z.number()).optional(),
}
const common = { turn: z.int().positive().optional(), ...reads }

const input = <const K extends string, T extends z.core.$ZodLooseShape>(kind: K, shape: T) =>
  z.object({ ...common, in: z.literal(kind), ...shape })

export const inputSchema = z.discriminatedUnion('in', [
  // Orders to the engine.
  input('create', {
    config: configLine,
    drainBeforeExpire: z.boolean(),
    noticeAbsence: z.boolean().optional(),
    /** Optional ports that the recorded engine had. */
    has: z.array(z.enum(['checks', 'notify', 'addressFiles', 'clock'])),
  }),
  input('start', {}),
  input('stop', {}),
  input('close', {}),
  input('yield', { router: z.string(), forMs: z.number() }),
  input('reload', {
    config: configLine,
    bearer: z.object({ by: z.string().nullable(), revision: z.string().nullable(), again: z.boolean() }).optional(),
  }),
  /** Line about an event that another part of the daemon than the engine recorded in the journal. */
  input('fact', { event: eventSchema }),
  // Notifications to the engine.
  input('tick', {}),
  input('timer', { timer: z.int() }),
  input('readable', { socket }),
  input('packet', {
    socket,
    family,
    from: addressLine,
    to: addressLine.optional(),
    ttl: z.number().optional(),
    at: moment,
    hex,
  }),
  input('failed', { socket, failure }),
  input('frame', { socket, at: moment, hex }),
  input('neighbor', {
    socket,
    address: addressLine,
    is: z.custom<NeighborResolution>((value) => value === 'resolved' || value === 'probed' || value === 'unresolved'),
  }),
  input('neighborsLost', { socket }),
  input('news', { event: shaped<NetworkEvent>(named) }),
  input('named', { file: z.string(), reading }),
  input('called', {}),
  input('cover', {}),
  input('checked', { news: shaped<CheckPortNews>(named) }),
  input('checksStopped', {}),
  input('notified', { news: shaped<NotifyPortNews>(named) }),
  // Answers of ports to the engine.
  input('drained', { socket, empty: z.boolean(), lost: z.int() }),
  input('links', { links: z.array(shaped<Link>(link)).nullable() }),
  input('addresses', { addresses: z.array(shaped<PresentAddress>(present)).nullable() }),
  input('memory', {
    entries: z.array(shaped<LedgerEntry>(z.looseObject({ address: addressLine }))),
    problem: z.string().optional(),
  }),
  input('beat', { silent: moment.optional(), changing: z.literal(true).optional() }),
  input('watched', { watched: z.boolean() }),
  input('word', {
    unit: z.int(),
    state: z.custom<PlanState>((value) => value === 'withdrawn' || value === 'armed' || value === 'executed'),
  }),
  /** Line about the rounds that the guardian's clock has sent for a slot. */
  input('rounds', { slot: z.int(), reading: roundsLine }),
  /** Line that says whether the engine could prove that it has read all packets. */
  input('proof', { given: z.boolean() }),
  input('guardian', { guarded: z.boolean(), executions: z.int() }),
])
export type Input = z.output<typeof inputSchema>
export type InputOf<K extends Input['in']> = Extract<Input, { readonly in: K }>
/** An input of the engine without the fields that the tape adds. */
export type NewInput = Input extends infer E ? (E extends Input ? Omit<E, keyof typeof common> : never) : never

/** An action of the engine. `answer`: the outcome of the action, if it is not the usual one. */
const outputSchema = z.looseObject({ ...common, out: z.string(), answer: z.unknown().optional() })
export type Output = z.output<typeof outputSchema>
export type NewOutput = { readonly out: string; readonly [key: string]: unknown }

const strip = <T extends object>(line: T, keys: readonly string[]) =>
  Object.fromEntries(Object.entries(line).filter(([key]) => !keys.includes(key)))
const CLOCKED = Object.keys(common)

/** Returns an input without its line number and clock values. */
export const contentOfInput = (input: Input): object => strip(input, CLOCKED)
/** Returns the action of the engine in an output line, without line number, clock values and outcome. */
export const contentOfOutput = (output: Output): object => strip(output, [...CLOCKED, 'answer'])

const headerSchema = z.object({
  recording: z.int(),
  holdfast: z.string(),
  at: z.string(),
})
export type Header = z.output<typeof headerSchema>

/** Number of missing lines, which the disk did not take in time. */
const gapSchema = z.object({ gap: z.int().positive() })
const endSchema = z.object({ ...common, end: z.string() })

export type Line =
  | { readonly kind: 'in'; readonly number: number; readonly input: Input }
  | { readonly kind: 'out'; readonly number: number; readonly output: Output }
  | { readonly kind: 'gap'; readonly number: number; readonly lines: number }
  | { readonly kind: 'end'; readonly number: number; readonly reason: string; readonly reads: Reads }
export type Reads = Pick<Input, keyof typeof reads>

/** Error about the line with this number, in a text for the operator. */
export class UnreadableLine extends Error {
  readonly number: number

  constructor(number: number, what: string) {
    super(`line ${number}: ${what}`)
    this.number = number
  }
}

/** Throws UnreadableLine. */
export function readHeader(text: string): Header {
  const header = headerSchema.safeParse(text.startsWith(OPENING) ? jsonOf(text, 1) : undefined)
  if (!header.success) throw new UnreadableLine(1, 'not a recording of holdfast run --record')
  const { recording } = header.data
  if (recording !== FORMAT)
    throw new UnreadableLine(1, `a recording of format ${recording}, and this holdfast reads format ${FORMAT}`)
  return header.data
}

/** Throws UnreadableLine. */
export function readLine(text: string, number: number): Line {
  const value = jsonOf(text, number)
  if (typeof value !== 'object' || value === null) throw new UnreadableLine(number, 'no line of a recording')
  if ('in' in value) {
    const read = inputSchema.safeParse(value)
    if (read.success) return { kind: 'in', number, input: read.data }
    throw new UnreadableLine(number, `cannot read "in": ${JSON.stringify(value.in)} (${wrong(read.error)})`)
  }
  if ('out' in value) {
    const read = outputSchema.safeParse(value)
    if (read.success) return { kind: 'out', number, output: read.data }
    throw new UnreadableLine(number, `cannot read "out": ${JSON.stringify(value.out)} (${wrong(read.error)})`)
  }
  const gap = gapSchema.safeParse(value)
  if (gap.success) return { kind: 'gap', number, lines: gap.data.gap }
  const end = endSchema.safeParse(value)
  if (end.success) return { kind: 'end', number, reason: end.data.end, reads: end.data }
  throw new UnreadableLine(number, 'no line of a recording')
}

const wrong = (error: z.ZodError): string =>
  error.issues.map(({ message, path }) => `${path.join('.')}: ${message}`).join('; ')

/** Names of the fields of a check's report in a recording made before 0.2.0, and their present names. */
const PRESENT_NAMES: ReadonlyMap<string, string> = new Map([
  ['verdict', 'result'],
  ['standing', 'countsAs'],
])

/** Reviver for JSON.parse: gives the report of a check the present names of its fields. */
function withPresentNames(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !('check' in value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [PRESENT_NAMES.get(name) ?? name, each]))
}

function jsonOf(text: string, number: number): unknown {
  try {
    // Before 0.2.0, the output had another name.
    const present = text.replace('"out":"forsaken"', '"out":"guardianLost"')
    return JSON.parse(present, text.includes('verdict') ? withPresentNames : undefined)
  } catch {
    throw new UnreadableLine(number, 'this is no JSON')
  }
}
