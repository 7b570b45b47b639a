/**
 * What a node remembers of its routers: one zod schema is the types, the lines of the journal's file, the answers of
 * /v1/events and their published JSON Schema. Decided here: which facts there are, and what each one carries. `because`
 * is the number of the event that led to this one: a story goes back by it to where it began.
 */
import * as z from 'zod'

const address = z.string().describe('IP address')
const state = z.enum(['Initialize', 'Backup', 'Active', 'Leaving', 'Returning'])
const priority = z.int().min(0).max(255)
const moment = z.iso.datetime()
/** One may be missing between two that are in the journal: what was too much is counted instead. */
const suppressed = z.int().positive().optional().describe('Events of this kind that came before and were not recorded')

/** In every event. `router`: the virtual router that it is about. */
const common = {
  seq: z.int().positive().describe('Goes on from one life of the daemon to the next, as long as its file is there'),
  at: moment.describe('Wall clock'),
  monotonicMs: z.number().describe('CLOCK_MONOTONIC of this node: goes forward only, and begins with the boot'),
  because: z.int().positive().optional().describe('Number of the event that led to this one'),
}
const router = z.string()
const verdict = z.enum(['undecided', 'up', 'down', 'unknown'])

const event = <const K extends string, T extends z.core.$ZodLooseShape>(kind: K, shape: T) =>
  z.object({ ...common, kind: z.literal(kind), ...shape })

/** What a node says of itself when it begins. */
const started = event('started', {
  pid: z.int(),
  hostname: z.string(),
  version: z.string(),
  config: z.string(),
  guardian: z.boolean(),
})

/** What became of the life before this one, as its journal ends. */
const earlierLife = event('earlierLife', {
  ended: z.enum(['cleanly', 'abruptly']),
  pid: z.int().optional(),
  lastSeq: z.int(),
  lastAt: moment,
})

const stopOrdered = event('stopOrdered', { trigger: z.string() })
const stopped = event('stopped', {})

/** The last word of an engine with a bug: its guardian has let go of the addresses by then. */
const crashed = event('crashed', {
  error: z.string().describe('The first line of the exception that nobody caught'),
  code: z.string().optional().describe('Its code, such as EMFILE'),
})
const guardianLost = event('guardianLost', { silentMs: z.number().optional() })

const yieldOrdered = event('yieldOrdered', { router, forMs: z.number() })

const transition = event('transition', {
  router,
  group: z.string().optional(),
  vrid: z.int(),
  interface: z.string().optional(),
  from: state,
  to: state,
  reason: z.string(),
  priority,
  interval: z.number().describe('Milliseconds between advertisements'),
  self: address.optional().describe('The address from which this router advertises'),
  addresses: z.array(address),
  peer: address.optional().describe('The router whose packet caused it'),
  heard: z
    .object({ peer: address, priority, agoMs: z.number() })
    .optional()
    .describe('Whom this router followed until then'),
  decidedMs: z.number().describe('CLOCK_MONOTONIC when it was decided; what is ordered then is done at monotonicMs'),
  suppressed,
})

/** Each address of a router that has become Active has been announced once. */
const announced = event('announced', { router, addresses: z.int().positive() })

const priorityChanged = event('priorityChanged', {
  router,
  from: priority,
  to: priority,
  why: z.enum(['tracking', 'reload', 'yield', 'yieldOver']),
  self: address.optional(),
  active: z.boolean().describe('It was Active, and has told the others'),
  suppressed,
})

const checkChanged = event('checkChanged', {
  check: z.string(),
  from: verdict,
  to: verdict,
  reason: z.string().optional(),
  detail: z.string().optional(),
  latencyMs: z.number().optional(),
  effects: z.array(
    z.object({ router, adds: z.number().optional(), fault: z.boolean().optional().describe('Instead of a weight') }),
  ),
  suppressed,
})

const linkChanged = event('linkChanged', {
  interface: z.string(),
  exists: z.boolean(),
  up: z.boolean(),
  carrier: z.boolean(),
})

/** A router has gone to another interface with its addresses, without an election. */
const interfaceMoved = event('interfaceMoved', {
  router,
  from: z.string(),
  to: z.string(),
  self: address.describe('The address from which it advertises there'),
  holding: z.string().optional().describe('The address that it follows; absent: `auto`'),
})

/** News of a file that names the address which a router follows: an address, or why there is none. */
const addressNamed = event('addressNamed', {
  file: z.string(),
  address: address.optional(),
  problem: z.string().optional(),
})

const faultChanged = event('faultChanged', {
  router,
  fault: z.string(),
  present: z.boolean(),
  words: z.string().optional(),
})

/** What another router said, when that changes who answers for the addresses, or might. */
const peerHeard = event('peerHeard', {
  router,
  peer: address,
  priority,
  news: z
    .enum(['active', 'raised', 'lowered', 'released', 'rival'])
    .describe('active: a Backup follows it from now on; released: it said priority 0; rival: we are Active as well'),
  previous: z.object({ peer: address, priority }).optional(),
  heldBy: z
    .object({ why: z.literal('minHold'), forMs: z.number(), movedAgoMs: z.number() })
    .optional()
    .describe('lowered: no fast takeover follows, because the addresses moved a moment ago'),
  suppressed,
})

const absence = event('absence', {
  router,
  cause: z.enum(['willExecuted', 'stalled']),
  agoMs: z.number().optional().describe('willExecuted: since the guardian has acted'),
  silentMs: z.number().optional().describe('Since this engine had last advertised'),
})

/** Less than an absence: nobody has taken over for it, or had to. */
const engineLate = event('engineLate', {
  lateMs: z.number().describe('So late it woke for what was due'),
  suppressed,
})

/** Somebody else's: a Backup follows it, and has taken over if it went on. */
const advertisementsMissed = event('advertisementsMissed', {
  router,
  peer: address,
  gapMs: z.number().describe('The longest time between two advertisements'),
  interval: z.number().describe('Milliseconds between advertisements'),
  count: z.int().positive().describe('Times that at least one was missing, with those that were not recorded'),
})

const foreignChange = event('foreignChange', {
  router,
  address,
  interface: z.string(),
  change: z.enum(['removed', 'added']),
  answer: z.enum(['addedAgain', 'removedAgain', 'left']),
  suppressed,
})

const duplicateHolder = event('duplicateHolder', {
  router,
  address,
  mac: z.string(),
  present: z.boolean(),
  peer: address.optional(),
  reaction: z.string().optional(),
})

/** More than one router advertises as Active. A third node hears it, too; begin, another set of routers, and end are one event each. */
const twoActives = event('twoActives', {
  router,
  present: z.boolean().describe('false: it is over; actives are those of before'),
  actives: z
    .array(z.object({ peer: address, priority }))
    .describe('Routers that advertise at the same time; first the one that this node follows, or this node itself'),
  forMs: z.number().describe('Since the second one advertises'),
})

const packetsDiscarded = event('packetsDiscarded', {
  interface: z.string(),
  reason: z.string(),
  source: address.describe('Of the last one'),
  count: z.int().positive(),
  router: router.optional(),
})

const packetsLost = event('packetsLost', { interface: z.string(), count: z.int().positive() })

const reloaded = event('reloaded', {
  ok: z.boolean(),
  reason: z.string().optional().describe('Why it failed'),
  changes: z.array(z.object({ router, change: z.string() })).optional(),
  checksChanged: z.array(z.string()).optional(),
  by: z.string().optional().describe('Who has handed it over, as they call themselves'),
  revision: z.string().optional().describe('Of what was handed over, in their words'),
})

/** Events that are not in the file, because it could not be written. */
const journalGap = event('journalGap', { lost: z.int().positive(), why: z.string() })

export const eventSchema = z.discriminatedUnion('kind', [
  started,
  earlierLife,
  stopOrdered,
  stopped,
  crashed,
  guardianLost,
  yieldOrdered,
  transition,
  announced,
  priorityChanged,
  checkChanged,
  linkChanged,
  interfaceMoved,
  addressNamed,
  faultChanged,
  peerHeard,
  absence,
  engineLate,
  advertisementsMissed,
  foreignChange,
  duplicateHolder,
  twoActives,
  packetsDiscarded,
  packetsLost,
  reloaded,
  journalGap,
])

export type JournalEvent = z.output<typeof eventSchema>
export type EventKind = JournalEvent['kind']
/** One of them, by its kind. */
export type EventOf<K extends EventKind> = Extract<JournalEvent, { kind: K }>
/** A fact as it is recorded; number, clocks and cause are the journal's. */
export type Fact = JournalEvent extends infer E
  ? E extends JournalEvent
    ? Omit<E, 'seq' | 'at' | 'monotonicMs' | 'because'>
    : never
  : never

/** Kinds and faults of events before 0.2.0: journals on disks have them, and nodes that are not upgraded yet. */
function namedAsNow(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  const named = { ...value } as const
  if ('kind' in named && named.kind === 'duplicateOwner') return { ...named, kind: 'duplicateHolder' }
  if ('fault' in named && named.fault === 'duplicateOwner') return { ...named, fault: 'duplicateHolder' }
  if ('reason' in named && named.reason === 'duplicateOwner') return { ...named, reason: 'duplicateHolder' }
  return value
}

/** Source: a file, or another node, perhaps of another version: what is not known is no event. */
export function readEvent(value: unknown): JournalEvent | undefined {
  const read = eventSchema.safeParse(namedAsNow(value))
  return read.success ? read.data : undefined
}
