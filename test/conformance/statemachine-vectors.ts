/**
 * The schema of statemachine-*.json as values. A file with other ids of the same schema is read in the same way. An
 * unknown field is an error, so that no expectation is silently left out.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'

const common = { at_us: z.number().optional() }

const output = z.discriminatedUnion('type', [
  z.strictObject({
    ...common,
    type: z.literal('send_advert'),
    priority: z.number(),
    interval_cs: z.number(),
    version: z.number(),
  }),
  z.strictObject({ ...common, type: z.literal('dataplane'), mode: z.enum(['active', 'inactive']) }),
  z.strictObject({ ...common, type: z.literal('garp'), address: z.string() }),
  z.strictObject({
    ...common,
    type: z.literal('unsolicited_na'),
    address: z.string(),
    router: z.boolean(),
    solicited: z.boolean(),
    override: z.boolean(),
  }),
  z.strictObject({ ...common, type: z.literal('join_solicited_node'), group: z.string() }),
  z.strictObject({ ...common, type: z.literal('leave_solicited_node'), group: z.string() }),
  z.strictObject({ ...common, type: z.literal('transition'), from: z.string(), to: z.string() }),
  z.strictObject({ ...common, type: z.literal('discard'), reason: z.string() }),
  z.strictObject({ ...common, type: z.literal('log'), code: z.string() }),
])
export type Output = z.infer<typeof output>

const event = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('startup') }),
  z.strictObject({ type: z.literal('shutdown') }),
  z.strictObject({ type: z.literal('tick') }),
  z.strictObject({
    type: z.literal('advert'),
    from: z.string(),
    version: z.number(),
    priority: z.number(),
    interval_cs: z.number(),
    addresses: z.array(z.string()).optional(),
  }),
  z.strictObject({ type: z.literal('advert_invalid'), reason: z.string() }),
  z.strictObject({ type: z.literal('set_priority'), priority: z.number() }),
])

export const vectorStep = z.strictObject({
  at_us: z.number(),
  event,
  expect: z.strictObject({
    state: z.enum(['initialize', 'backup', 'active']),
    outputs: z.array(output),
    timers: z.strictObject({ adver: z.number().nullable(), active_down: z.number().nullable() }),
    vars: z.strictObject({ active_adver_interval_cs: z.number() }).optional(),
    note: z.string().optional(),
  }),
})
export type VectorStep = z.infer<typeof vectorStep>

const profile = z.enum(['rfc9568', 'rfc5798', 'rfc3768'])
const version = z.union([z.literal(2), z.literal(3), z.literal('2+3')])

const machineVector = z.looseObject({
  id: z.string(),
  title: z.string(),
  config: z.strictObject({
    version,
    family: z.enum(['ipv4', 'ipv6']),
    vrid: z.number(),
    priority: z.number(),
    owner: z.boolean(),
    advertisement_interval_cs: z.number(),
    preempt: z.boolean(),
    accept: z.boolean(),
    primary_address: z.string(),
    addresses: z.array(z.string()),
    profile,
  }),
  // Steps are read one by one where they are run: an unreadable step fails its own vector, not the file.
  steps: z.array(z.looseObject({ event: z.looseObject({ type: z.string() }) })),
})
export type MachineVector = z.infer<typeof machineVector>

/** Loose, because timelines may describe parts that this core lacks: those vectors are listed, not run. */
const timelineVector = z.looseObject({
  id: z.string(),
  title: z.string(),
  config: z.strictObject({
    instances: z.array(
      z.looseObject({
        name: z.string(),
        version,
        family: z.enum(['ipv4', 'ipv6']),
        vrid: z.number(),
        priority: z.number(),
        owner: z.boolean(),
        advertisement_interval_cs: z.number(),
        preempt: z.boolean(),
        initial_state: z.enum(['MASTER', 'BACKUP']),
        primary_address: z.string(),
        addresses: z.array(z.string()),
        garp: z.looseObject({
          repeat: z.number(),
          delay_us: z.number(),
          refresh_us: z.number().optional(),
          refresh_repeat: z.number().optional(),
          lower_prio_repeat: z.number().optional(),
          lower_prio_delay_us: z.number().optional(),
        }),
        track: z.array(
          z.strictObject({
            kind: z.enum(['script', 'file', 'interface']),
            name: z.string(),
            weight: z.number().nullable(),
            reverse: z.boolean().optional(),
          }),
        ),
        unicast_peers: z.array(z.string()).optional(),
        check_unicast_src: z.boolean().optional(),
        preempt_delay_us: z.number().optional(),
        lower_prio_no_advert: z.boolean().optional(),
        higher_prio_send_advert: z.boolean().optional(),
      }),
    ),
    groups: z.array(
      z.strictObject({ name: z.string(), members: z.array(z.string()), tracking_weight: z.boolean().optional() }),
    ),
    trackers: z.strictObject({
      files: z.record(z.string(), z.strictObject({ initial: z.number() })).optional(),
      scripts: z.record(z.string(), z.looseObject({ rise: z.number(), fall: z.number() })).optional(),
    }),
    global: z.record(z.string(), z.unknown()).optional(),
  }),
  events: z.array(z.looseObject({ at_us: z.number(), type: z.string(), instance: z.string().optional() })),
  expect: z.array(
    z.looseObject({
      at_us: z.number(),
      type: z.string(),
      instance: z.string().optional(),
      count: z.number().optional(),
    }),
  ),
  end_us: z.number(),
})
export type TimelineVector = z.infer<typeof timelineVector>
export type TimelineInstance = TimelineVector['config']['instances'][number]

/** Events of a timeline that this core knows. */
export const timelineEvent = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('startup') }),
  z.looseObject({ type: z.literal('shutdown') }),
  z.looseObject({ type: z.literal('advert'), from: z.string(), priority: z.number(), interval_cs: z.number() }),
  z.looseObject({ type: z.literal('interface'), interface: z.string(), up: z.boolean() }),
  z.looseObject({ type: z.literal('file'), file: z.string(), value: z.number() }),
])

function read(file: string): unknown {
  return JSON.parse(readFileSync(join(import.meta.dirname, 'vectors', file), 'utf8'))
}

export function machineVectors(): { tolerance: number; vectors: readonly MachineVector[] } {
  const parsed = z
    .looseObject({
      schema: z.literal('vrrp-statemachine-vectors/1'),
      tolerance_us: z.number(),
      vectors: z.array(machineVector),
    })
    .parse(read('statemachine-rfc.json'))
  return { tolerance: parsed.tolerance_us, vectors: parsed.vectors }
}

export function timelineVectors(): { tolerance: number; vectors: readonly TimelineVector[] } {
  const parsed = z
    .looseObject({
      schema: z.literal('vrrp-timeline-vectors/1'),
      tolerance_us: z.number(),
      vectors: z.array(timelineVector),
    })
    .parse(read('statemachine-ext.json'))
  return { tolerance: parsed.tolerance_us, vectors: parsed.vectors }
}
