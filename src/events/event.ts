/**
 * Defines the event journal of a node. A single zod schema gives the types, the lines of the journal file, the answers
 * of /v1/events and their published JSON Schema. This file decides which events exist and which fields they have.
 * `because` is the number of the event that caused this one, so that a reader can follow the causes back.
 */
import * as z from 'zod'
import { event, router } from './event-shape.ts'
import {
  crashed,
  earlierLife,
  engineRestarted,
  engineUpgraded,
  guardianLost,
  started,
  stopOrdered,
  stopped,
  upgradeOrdered,
} from './life-events.ts'

const address = z.string().describe('IP address')
const state = z.enum(['Initialize', 'Backup', 'Active', 'Leaving', 'Returning'])
const priority = z.int().min(0).max(255)
/** Number of events of this kind that the rate limit left out before this one. */
const suppressed = z
  .int()
  .positive()
  .optional()
  .describe('Number of earlier events of this kind that were not recorded')

const checkResult = z.enum(['undecided', 'up', 'down', 'unknown'])

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
  self: address.optional().describe('Source address of this router'),
  addresses: z.array(address),
  peer: address.optional().describe('Source address of the packet that caused the transition'),
  heard: z
    .object({ peer: address, priority, agoMs: z.number() })
    .optional()
    .describe('Router that this router followed until then'),
  decidedMs: z.number().describe('CLOCK_MONOTONIC of the decision; its effects are done at monotonicMs'),
  suppressed,
})

/** Each address of a new Active has been announced once. */
const announced = event('announced', { router, addresses: z.int().positive() })

const priorityChanged = event('priorityChanged', {
  router,
  from: priority,
  to: priority,
  why: z.enum(['tracking', 'reload', 'yield', 'yieldOver']),
  self: address.optional(),
  active: z.boolean().describe('True if the router was Active and has advertised the new priority'),
  suppressed,
})

const checkChanged = event('checkChanged', {
  check: z.string(),
  from: checkResult,
  to: checkResult,
  reason: z.string().optional(),
  detail: z.string().optional(),
  latencyMs: z.number().optional(),
  failed: z.array(z.string()).optional().describe('With a combination that is down: its checks that are down'),
  effects: z.array(
    z.object({
      router,
      adds: z.number().optional(),
      fault: z.boolean().optional().describe('Puts the router in fault, or ends the fault; absent with a weight'),
    }),
  ),
  suppressed,
})

const linkChanged = event('linkChanged', {
  interface: z.string(),
  exists: z.boolean(),
  up: z.boolean(),
  carrier: z.boolean(),
})

/** A router moved with its addresses to another interface of this node, without an election. */
const interfaceMoved = event('interfaceMoved', {
  router,
  from: z.string(),
  to: z.string(),
  self: address.describe('Source address of the router on the new interface'),
  holding: z.string().optional().describe('Address that the router follows; absent with `interface: auto`'),
})

/** The address file that a router follows has changed: it names an address, or it has a problem. */
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

/** Advertisement of another router that changes, or may change, which router is Active. */
const peerHeard = event('peerHeard', {
  router,
  peer: address,
  priority,
  news: z
    .enum(['active', 'raised', 'lowered', 'released', 'rival'])
    .describe(
      'active: a Backup follows the peer from now on; raised, lowered: the peer changed its priority; ' +
        'released: the peer sent priority 0; rival: the peer is Active, and so is this router',
    ),
  previous: z.object({ peer: address, priority }).optional(),
  heldBy: z
    .object({ why: z.literal('minHold'), forMs: z.number(), movedAgoMs: z.number() })
    .optional()
    .describe('With lowered: no fast takeover follows, because the addresses moved less than minHold ago'),
  suppressed,
})

const absence = event('absence', {
  router,
  cause: z.enum(['willExecuted', 'stalled']),
  agoMs: z.number().optional().describe('With willExecuted: milliseconds since the guardian executed the cleanup plan'),
  silentMs: z.number().optional().describe('Milliseconds since the last advertisement of this engine'),
})

/** The engine was late, but not long enough for an absence. No other router has taken over or had to. */
const engineLate = event('engineLate', {
  lateMs: z.number().describe('Milliseconds by which the engine was late for its deadline'),
  suppressed,
})

/** A Backup missed advertisements of the Active that it follows. The Backup takes over if this continues. */
const advertisementsMissed = event('advertisementsMissed', {
  router,
  peer: address,
  gapMs: z.number().describe('Longest time between two advertisements, in milliseconds'),
  interval: z.number().describe('Milliseconds between advertisements'),
  count: z.int().positive().describe('Number of gaps of at least one advertisement, with those that were not recorded'),
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

/**
 * More than one router advertises as Active. A third node reports this state, too. Begin, end and each other set of
 * routers are one event each.
 */
const twoActives = event('twoActives', {
  router,
  present: z.boolean().describe('false if it is over; `actives` then lists the former ones'),
  actives: z
    .array(z.object({ peer: address, priority }))
    .describe('Routers that advertise at the same time; first the one that this node follows, or this node'),
  forMs: z.number().describe('Milliseconds since the second router began to advertise'),
})

const packetsDiscarded = event('packetsDiscarded', {
  interface: z.string(),
  reason: z.string(),
  source: address.describe('Source address of the last packet'),
  count: z.int().positive(),
  router: router.optional(),
})

const packetsLost = event('packetsLost', { interface: z.string(), count: z.int().positive() })

const reloaded = event('reloaded', {
  ok: z.boolean(),
  reason: z.string().optional().describe('Reason of the failure'),
  changes: z.array(z.object({ router, change: z.string() })).optional(),
  checksChanged: z.array(z.string()).optional(),
  by: z.string().optional().describe('Name of the program that handed the configuration over'),
  revision: z.string().optional().describe('Revision of the configuration, as that program names it'),
})

/** Number of events that are missing in the journal file because it could not be written. */
const journalGap = event('journalGap', { lost: z.int().positive(), why: z.string() })

export const eventSchema = z.discriminatedUnion('kind', [
  started,
  engineRestarted,
  upgradeOrdered,
  engineUpgraded,
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
/** Type of the events of one kind. */
export type EventOf<K extends EventKind> = Extract<JournalEvent, { kind: K }>
/** A fact to record as an event. The journal adds number, clocks and cause. */
export type Fact = JournalEvent extends infer E
  ? E extends JournalEvent
    ? Omit<E, 'seq' | 'at' | 'monotonicMs' | 'because'>
    : never
  : never

/**
 * Renames kinds and faults of events before 0.2.0. Journals on disks, and nodes that are not upgraded yet, have the old
 * names.
 */
function namedAsNow(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  const named = { ...value } as const
  if ('kind' in named && named.kind === 'duplicateOwner') return { ...named, kind: 'duplicateHolder' }
  if ('fault' in named && named.fault === 'duplicateOwner') return { ...named, fault: 'duplicateHolder' }
  if ('reason' in named && named.reason === 'duplicateOwner') return { ...named, reason: 'duplicateHolder' }
  return value
}

/**
 * Reads an event from a journal file or from another node, perhaps of another version. Returns `undefined` for unknown
 * events.
 */
export function readEvent(value: unknown): JournalEvent | undefined {
  const read = eventSchema.safeParse(namedAsNow(value))
  return read.success ? read.data : undefined
}
