/**
 * What the status page takes over of another node's /v1/status. Decided here: that it is read as a stranger's words, part
 * by part and bounded, because that node may run another version, or may be another program. Refuses to know who asks.
 */
import * as z from 'zod'

const word = z.string().max(300)
/** The length is judged first: a hostile list costs a problem for each of its elements otherwise. */
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
  verdict: z.enum(['undecided', 'up', 'down', 'unknown']),
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

/** This node's own Snapshot is one as well. */
export type PeerStatus = z.output<typeof statusSchema>
export type PeerRouter = PeerStatus['routers'][number]
export type PeerCheck = PeerStatus['healthchecks'][number]

/** Undefined: it is something else. */
export function readPeerStatus(value: unknown): PeerStatus | undefined {
  const read = statusSchema.safeParse(value)
  return read.success ? read.data : undefined
}
