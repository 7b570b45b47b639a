/**
 * Reads the part of another node's /v1/status that the status page shows. This file decides that the answer is
 * untrusted. Each part of the answer is checked and limited, because the other node may run another version or another
 * program.
 */
import * as z from 'zod'

const word = z.string().max(300)
/** Checks the length of a list first. Without this check, each element of a hostile list would cause a problem. */
const few = <T extends z.ZodType>(one: T) => z.array(z.unknown()).max(300).pipe(z.array(one)).readonly()

const router = z.object({
  name: word,
  group: word.nullable(),
  vrid: z.int(),
  family: word,
  interface: word.nullable(),
  state: z.enum(['Initialize', 'Backup', 'Active', 'Leaving', 'Returning']),
  since: z.iso.datetime(),
  reason: word,
  faults: few(word),
  priority: z.object({ base: z.number(), effective: z.number() }),
  tracking: z.object({
    sum: z.number(),
    parts: few(z.object({ kind: z.enum(['interface', 'healthcheck']), name: word, adds: z.number() })),
  }),
  yieldingUntil: word.nullable(),
  holder: z.object({
    self: z.boolean(),
    address: word.nullable(),
    priority: z.number().nullable(),
    heardMsAgo: z.number().nullable(),
  }),
  source: word.nullable(),
  addresses: few(z.object({ address: word, present: z.boolean() })),
})

const healthcheck = z.object({
  name: word,
  result: z.enum(['undecided', 'up', 'down', 'unknown']),
  last: z.object({ ok: z.boolean(), reason: word }).nullable(),
  heardMsAgo: z.number().nullable(),
  routers: few(z.object({ router: word })),
})

const statusSchema = z.object({
  version: z.literal(1),
  pid: z.int(),
  hostname: word,
  startedAt: z.iso.datetime(),
  takenAt: z.iso.datetime(),
  guardian: z.enum(['none', 'armed', 'guarded']),
  config: z.object({ hash: word.nullable() }),
  routers: few(router),
  healthchecks: few(healthcheck),
})

/** Status of a peer. This node's own Snapshot has this type, too. */
export type PeerStatus = z.output<typeof statusSchema>
export type PeerRouter = PeerStatus['routers'][number]
export type PeerCheck = PeerStatus['healthchecks'][number]

/** Returns the status of another node; `undefined` if the value has another form. */
export function readPeerStatus(value: unknown): PeerStatus | undefined {
  const read = statusSchema.safeParse(value)
  return read.success ? read.data : undefined
}
