/**
 * Schema of /v1/status for publication (docs/status.schema.json, `holdfast schema status`). The types of the daemon,
 * with a description of the fields, are in daemon/telemetry/snapshot.ts; a test compares types and schema. Version 1
 * only grows: fields are added, none is removed or changes its meaning.
 */
import * as z from 'zod'

const moment = z.iso.datetime()
const counts = z.record(z.string(), z.int().min(0))
const address = z.string().describe('IP address')
const family = z.string().describe('ipv4 or ipv6')
const priority = z.int().min(0).max(255)

const router = z.object({
  name: z.string(),
  departing: z.boolean().describe('Removed from the configuration by a reload, but still handing its addresses over'),
  group: z.string().nullable().describe('Sync group of the router; null: none'),
  vrid: z.int().min(1).max(255),
  family,
  version: z.int().describe('Version of VRRP'),
  interface: z.string().nullable(),
  state: z.enum(['Initialize', 'Backup', 'Active', 'Leaving', 'Returning']),
  since: moment,
  reason: z.string().describe('Reason of the last transition'),
  faults: z.array(z.string()),
  configuredFault: z.string().nullable(),
  holding: z
    .object({ file: z.string().nullable(), address: z.string().nullable(), problem: z.string().nullable() })
    .nullable(),
  priority: z.object({ base: priority, effective: priority }),
  tracking: z.object({
    sum: z.int().describe('Sum of base and parts, before it is limited to 1–254'),
    parts: z.array(
      z.object({
        kind: z.enum(['interface', 'healthcheck']),
        name: z.string(),
        adds: z.int(),
        weight: z.int().nullable().describe('Weight in the configuration; null: reversed, or read from a file'),
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
    .describe('Router that answers for the addresses, as far as this node knows'),
  source: address.nullable(),
  transport: z.string(),
  advertisementIntervalMs: z.number(),
  activeAdverIntervalMs: z.number().nullable(),
  heldBack: z
    .enum(['preempt', 'preemptDelay', 'margin'])
    .nullable()
    .describe('Setting because of which a Backup does not preempt an Active of lower priority'),
  deadlines: z.record(z.string(), z.number()).describe('Remaining milliseconds; negative: overdue'),
  addresses: z.array(z.object({ address, present: z.boolean().describe('Whether the address is on this node') })),
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
        .describe('Router with this MAC, the priority of its last advertisement and the age of that advertisement'),
      foundMsAgo: z.number(),
    }),
  ),
  competingAnswer: z
    .object({ address, mac: z.string(), sinceMsAgo: z.number(), lastMsAgo: z.number(), answers: z.int() })
    .nullable()
    .describe('Other host that answered last while this node was Active; null: none in the last 10 s'),
  owner: z.unknown().describe('Former name of holder, until 0.3.0'),
  strangers: z.unknown().describe('Former name of mismatchedRouters, until 0.3.0'),
  rival: z.unknown().describe('Former name of competingAnswer, until 0.3.0'),
  otherActives: z
    .array(z.object({ address, priority, forMs: z.number(), heardMsAgo: z.number() }))
    .describe('Routers that advertise as Active besides this router, or besides the Active that it follows'),
  restorationsPaused: z.object({ address, forMs: z.number() }).nullable(),
  clock: z
    .object({ armed: z.boolean(), rounds: z.int(), failed: z.int(), latestMs: z.number() })
    .describe('The guardian, which repeats the advertisements of a router at rest, and its greatest lateness'),
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
  line: z.int().describe('Line, from 1; 0: the problem has no position'),
  column: z.int(),
  path: z.string(),
  message: z.string(),
  severity: z.enum(['error', 'warning']),
})

const config = z.object({
  file: z.string().nullable(),
  hash: z.string().nullable().describe('First 12 hexadecimal digits of the SHA-256 of the configuration in force'),
  loadedAt: moment,
  reloads: z.object({ ok: z.int(), failed: z.int() }),
  lastReload: z
    .object({ at: moment, ok: z.boolean(), reason: z.string().nullable(), problems: z.array(problem) })
    .nullable(),
  imported: imported.nullable().describe("Counts of the keywords of keepalived's file"),
  stoppedAt: moment.nullable().describe('Time of a stop over the socket of keepalived, idle since then'),
  managed: z
    .object({
      handedOver: z
        .object({ at: moment, by: z.string().nullable(), revision: z.string().nullable() })
        .nullable()
        .describe('Last hand-over; null: none since the start, the stored configuration is in force, if any'),
      handOvers: z.object({ ok: z.int(), unchanged: z.int(), invalid: z.int(), failed: z.int() }),
      notKept: z.string().nullable().describe('Reason why the configuration in force is not in the file; null: it is'),
      waits: z.string().nullable().describe('Reason why no configuration is in force; null: one is'),
    })
    .nullable()
    .describe('Null: this engine was not started with --managed'),
})

const scheduling = z.object({ policy: z.string(), priority: z.int() })

const healthcheck = z.object({
  name: z.string(),
  kind: z.string(),
  target: z.string(),
  result: z.enum(['undecided', 'up', 'down', 'unknown']),
  countsAs: z.enum(['up', 'down', 'nothing']).describe('Result that the check counts as'),
  verdict: z.unknown().describe('Former name of result, until 0.3.0'),
  standing: z.unknown().describe('Former name of countsAs, until 0.3.0'),
  since: moment.describe('Time since which the result holds'),
  last: z
    .object({
      at: moment,
      ok: z.boolean(),
      reason: z.string(),
      detail: z.string().optional().describe('On the unix socket only: it may contain text of the target'),
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
  to: z.string().describe('URL without credentials and query'),
  failing: z.boolean().describe('Whether the last attempt failed'),
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
      detail: z.string().optional().describe('On the unix socket only: it may contain text of the program'),
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
    .describe(
      'guarded: the guardian checks deadlines and renews lifetimes; armed: it only acts after a crash; none: no guardian',
    ),
  lease: z
    .object({
      configured: z.enum(['on', 'off']),
      inForce: z.boolean().describe('The guardian repeats the advertisements of Actives at rest'),
      reason: z
        .enum(['raw-socket', 'noGuardian', 'noSharedMemory', 'noClock'])
        .nullable()
        .describe('Reason for which lease: on has no effect'),
      owners: z
        .array(z.string())
        .describe('Address owners, for which the engine advertises although lease: on is in force'),
    })
    .optional()
    .describe('Whether the guardian repeats advertisements; a daemon of an earlier version does not send it'),
  engineRestarts: z
    .int()
    .describe('Restarts of the engine after a crash since the guardian started (onCrash: restart)'),
  logRecordsLost: z.int(),
  turns: counts.describe('Turns of the engine by cause, since its start'),
  config,
  controlRefused: z.int(),
  webhook: webhook.nullable().describe('Null: no webhook is configured'),
  journal: z
    .object({
      file: z.string(),
      problem: z.string().nullable().describe('Reason why the last event is not in the file; null: it is'),
      lost: z.int().describe('Events missing in the file since the start'),
    })
    .nullable()
    .describe('Null: events are kept in memory only'),
  keepalivedBeside: z.array(z.object({ pid: z.int(), name: z.string() })),
  scheduling: scheduling
    .extend({
      realtimeAsked: z.boolean(),
      guardian: scheduling
        .extend({ confined: z.boolean().optional().describe('The guardian has a seccomp filter of its own') })
        .nullable(),
    })
    .nullable(),
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
