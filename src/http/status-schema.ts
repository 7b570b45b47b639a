/**
 * What /v1/status answers, as a schema that can be published (docs/status.schema.json, `holdfast schema status`). The
 * daemon's own types are daemon/telemetry/snapshot.ts, where the fields are described; a test holds both equal. Version 1 only
 * grows: fields may come, none goes or changes its meaning. Refuses to know where the values come from.
 */
import * as z from 'zod'

const moment = z.iso.datetime()
const counts = z.record(z.string(), z.int().min(0))
const address = z.string().describe('IP address')
const family = z.string().describe('ipv4 or ipv6')
const priority = z.int().min(0).max(255)

const router = z.object({
  name: z.string(),
  departing: z
    .boolean()
    .describe('A reload has taken it out of the configuration, and it still has something to hand over'),
  group: z.string().nullable().describe('Its sync group; null: it moves alone'),
  vrid: z.int().min(1).max(255),
  family,
  version: z.int().describe('Of VRRP'),
  interface: z.string().nullable(),
  state: z.enum(['Initialize', 'Backup', 'Active', 'Leaving', 'Returning']),
  since: moment,
  reason: z.string().describe('Of the last transition'),
  faults: z.array(z.string()),
  configuredFault: z.string().nullable(),
  holding: z
    .object({ file: z.string().nullable(), address: z.string().nullable(), problem: z.string().nullable() })
    .nullable(),
  priority: z.object({ base: priority, effective: priority }),
  tracking: z.object({
    sum: z.int().describe('Base and parts, before it is kept between 1 and 254'),
    parts: z.array(
      z.object({
        kind: z.enum(['interface', 'healthcheck']),
        name: z.string(),
        adds: z.int(),
        weight: z.int().nullable().describe('As configured; null: reversed, or read from a file'),
      }),
    ),
  }),
  yieldingUntil: moment.nullable(),
  holder: z
    .object({
      self: z.boolean(),
      address: address.nullable(),
      priority: priority.nullable(),
      heardMsAgo: z.number().nullable(),
    })
    .describe('Who answers for the addresses, as far as this node knows'),
  source: address.nullable(),
  transport: z.string(),
  advertisementIntervalMs: z.number(),
  activeAdverIntervalMs: z.number().nullable(),
  heldBack: z
    .enum(['preempt', 'preemptDelay', 'margin'])
    .nullable()
    .describe('The setting for which a Backup leaves the addresses to an Active of lower priority'),
  deadlines: z.record(z.string(), z.number()).describe('Milliseconds that remain; below 0: overdue'),
  addresses: z.array(z.object({ address, present: z.boolean().describe('On this node') })),
  lifetimeSeconds: z.number().nullable(),
  mismatchedRouters: z.array(
    z.object({
      address,
      reason: z.string(),
      version: z.int().nullable(),
      listenedTo: z.boolean(),
      count: z.int(),
      lastHeardMsAgo: z.number(),
    }),
  ),
  duplicates: z.array(
    z.object({
      address,
      mac: z.string(),
      router: z
        .object({ address, priority: priority.nullable(), heardMsAgo: z.number().nullable() })
        .nullable()
        .describe('With the priority of its last advertisement, and the age of that'),
      foundMsAgo: z.number(),
    }),
  ),
  competingAnswer: z
    .object({ address, mac: z.string(), sinceMsAgo: z.number(), lastMsAgo: z.number(), answers: z.int() })
    .nullable()
    .describe('The other host that answered last while this node was Active; null: none has in the last 10 s'),
  owner: z.unknown().describe('Former name of holder, until 0.3.0'),
  strangers: z.unknown().describe('Former name of mismatchedRouters, until 0.3.0'),
  rival: z.unknown().describe('Former name of competingAnswer, until 0.3.0'),
  otherActives: z
    .array(z.object({ address, priority, forMs: z.number(), heardMsAgo: z.number() }))
    .describe('Routers that advertise as Active beside this one, or beside the one that it follows'),
  restorationsPaused: z.object({ address, forMs: z.number() }).nullable(),
  counters: z.object({
    received: z.int(),
    receivedZero: z.int(),
    competingAnswers: z.int(),
    cleanupPlansExecuted: z.int(),
    rivalAnswers: z.int().describe('Former name of competingAnswers, until 0.3.0'),
    willsExecuted: z.int().describe('Former name of cleanupPlansExecuted, until 0.3.0'),
    sent: counts,
    sendFailures: counts,
    refused: counts,
    suppressed: counts,
    discarded: counts,
    warnings: counts,
    foreignChanges: counts,
    transitions: z.array(z.object({ from: z.string(), to: z.string(), reason: z.string(), count: z.int() })),
  }),
})

const imported = z.object({
  carried: z.int(),
  withoutEffect: z.int(),
  notSupported: z.int(),
  refused: z.int(),
  unknown: z.int(),
})

const problem = z.object({
  file: z.string().optional(),
  line: z.int().describe('1-based; 0: there is no text to point at'),
  column: z.int(),
  path: z.string(),
  message: z.string(),
  severity: z.enum(['error', 'warning']),
})

const config = z.object({
  file: z.string().nullable(),
  hash: z.string().nullable().describe('The first 12 hexadecimal digits of the SHA-256 of the text in force'),
  loadedAt: moment,
  reloads: z.object({ ok: z.int(), failed: z.int() }),
  lastReload: z
    .object({ at: moment, ok: z.boolean(), reason: z.string().nullable(), problems: z.array(problem) })
    .nullable(),
  imported: imported.nullable().describe("Of keepalived's file"),
  stoppedAt: moment.nullable().describe('Idle since then, because somebody has said stop to the socket of keepalived'),
  managed: z
    .object({
      handedOver: z
        .object({ at: moment, by: z.string().nullable(), revision: z.string().nullable() })
        .nullable()
        .describe('Null: what is in force, if anything, was remembered from an earlier life'),
      handOvers: z.object({ ok: z.int(), unchanged: z.int(), invalid: z.int(), failed: z.int() }),
      notKept: z.string().nullable().describe('Why what is in force is not in the file; null: it is'),
      waits: z.string().nullable().describe('Why nothing is in force; null: something is'),
    })
    .nullable()
    .describe('Null: the configuration is not handed to this engine'),
})

const scheduling = z.object({ policy: z.string(), priority: z.int() })

const healthcheck = z.object({
  name: z.string(),
  kind: z.string(),
  target: z.string(),
  verdict: z.enum(['undecided', 'up', 'down', 'unknown']),
  standing: z.enum(['up', 'down', 'nothing']).describe('What it counts as'),
  since: moment.describe('Of the verdict'),
  last: z
    .object({
      at: moment,
      ok: z.boolean(),
      reason: z.string(),
      detail: z.string().optional().describe('On the unix socket alone: it may hold what a target has said'),
      latencyMs: z.number(),
    })
    .nullable(),
  weight: z.int().nullable(),
  watched: z.boolean(),
  runs: z.int(),
  skipped: z.int(),
  results: counts,
  heardMsAgo: z.number().nullable(),
  partOf: z.array(z.string()),
  routers: z.array(
    z.object({ router: z.string(), adds: z.int(), required: z.boolean(), fault: z.string().nullable() }),
  ),
})

const webhook = z.object({
  to: z.string().describe('Without credentials and query'),
  failing: z.boolean().describe('The last attempt did not arrive'),
  waiting: z.int(),
  delivered: z.int(),
  refused: z.int(),
  expired: z.int(),
  overflow: z.int(),
  failedAttempts: z.int(),
})

const notification = z.object({
  kind: z.string(),
  name: z.string(),
  waiting: z.int(),
  runs: counts,
  last: z
    .object({
      at: moment,
      event: z.string(),
      ok: z.boolean(),
      reason: z.string(),
      detail: z.string().optional().describe('On the unix socket alone: it may hold what a program has said'),
      latencyMs: z.number(),
    })
    .nullable(),
})

export const statusSchema = z.object({
  version: z.literal(1),
  pid: z.int(),
  hostname: z.string(),
  startedAt: moment,
  takenAt: moment,
  guardian: z
    .enum(['none', 'armed', 'guarded'])
    .describe('guarded: deadlines are kept and lifetimes renewed; armed: cleanup plans alone; none: nobody'),
  logRecordsLost: z.int(),
  config,
  controlRefused: z.int(),
  webhook: webhook.nullable().describe('Null: nobody is posted anything'),
  journal: z
    .object({
      file: z.string(),
      problem: z.string().nullable().describe('Why the last event is not in it; null: it is'),
      lost: z.int().describe('Events that are not in it, since the start'),
    })
    .nullable()
    .describe('Null: events are in memory alone'),
  keepalivedBeside: z.array(z.object({ pid: z.int(), name: z.string() })),
  scheduling: scheduling.extend({ realtimeAsked: z.boolean(), guardian: scheduling.nullable() }).nullable(),
  routers: z.array(router),
  groups: z.array(z.object({ name: z.string(), members: z.array(z.string()) })),
  interfaces: z.array(
    z.object({
      name: z.string(),
      family,
      open: z.boolean(),
      discarded: counts,
      overflowed: z.int(),
      announced: counts,
    }),
  ),
  healthchecks: z.array(healthcheck),
  notifications: z.array(notification),
})
