/**
 * The vector files as checked values. A file without the expected shape fails immediately, with the place. Keys that
 * only inform (`observed`, `verified_by`, …) are left alone.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'

const identity = { id: z.string(), title: z.string().optional(), requirements: z.array(z.string()) }
const family = z.enum(['ipv4', 'ipv6'])
const version = z.union([z.literal(2), z.literal(3), z.literal('2+3')])
const mode = z.enum(['multicast', 'unicast'])

/** Fields of version 2; without them Auth Type 0. */
const authentication = { auth_type: z.number().optional(), password: z.string().optional() }

const instance = z.looseObject({
  vrid: z.number(),
  version,
  priority: z.number(),
  advertisement_interval_cs: z.number(),
  addresses: z.array(z.string()),
  mode,
  family: family.optional(),
  unicast_peers: z
    .array(z.object({ address: z.string(), min_ttl: z.number().optional(), max_ttl: z.number().optional() }))
    .optional(),
  check_unicast_src: z.boolean().optional(),
  unicast_ttl_policy: z.enum(['gtsm', 'keepalived']).optional(),
  old_unicast_checksum: z.boolean().optional(),
  ...authentication,
  v2_address_check: z.enum(['log', 'drop']).optional(),
})
const decoded = z.looseObject({
  version: z.number(),
  type: z.number(),
  vrid: z.number(),
  priority: z.number(),
  addr_count: z.number(),
  max_advertise_interval_cs: z.number().optional(),
  /** Field of version 2. */
  advertise_interval_s: z.number().optional(),
  checksum: z.string(),
  addresses: z.array(z.string()),
})
const packetVector = z.looseObject({
  ...identity,
  receiver: z.looseObject({
    family,
    local_address: z.string(),
    checksum_mode: z.enum(['any', 'message-only', 'pseudo-header']).optional(),
    instances: z.array(instance),
  }),
  input: z.looseObject({
    src: z.string(),
    dst: z.string(),
    ttl: z.number(),
    ip_packet_hex: z.string(),
    vrrp_payload_hex: z.string().optional(),
  }),
  expect: z.looseObject({
    result: z.enum(['accept', 'discard', 'ignore']),
    reason: z.string().optional(),
    decoded: decoded.optional(),
    checksum_matches: z.array(z.string()).optional(),
    warnings: z.array(z.string()).optional(),
  }),
  decoded_by_tshark: decoded.optional(),
})
export type PacketVector = z.infer<typeof packetVector>
export type PacketInstance = z.infer<typeof instance>

const txVector = z.looseObject({
  ...identity,
  config: z.looseObject({
    version,
    family,
    vrid: z.number(),
    priority: z.number(),
    advertisement_interval_cs: z.number(),
    primary_address: z.string(),
    addresses: z.array(z.string()),
    checksum: z.enum(['message-only', 'pseudo-header']),
    mode,
    unicast_peers: z.array(z.string()).optional(),
    ...authentication,
  }),
  event: z.string(),
  expect: z.object({
    packets: z.array(
      z.looseObject({
        eth_dst: z.string(),
        src: z.string(),
        dst: z.string(),
        ttl: z.number(),
        protocol: z.number(),
        traffic_class: z.number(),
        vrrp_payload_hex: z.string(),
      }),
    ),
  }),
})
export type TxVector = z.infer<typeof txVector>

const fraction = z.tuple([z.number(), z.number()])
const timerVector = z.looseObject({
  ...identity,
  input: z.object({
    version: z.union([z.literal(2), z.literal(3)]),
    priority: z.number(),
    active_adver_interval_cs: z.number(),
  }),
  expect: z.looseObject({
    skew_us: fraction,
    active_down_us: fraction,
    skew_us_floor: z.number(),
    active_down_us_floor: z.number(),
  }),
})
export type TimerVector = z.infer<typeof timerVector>

const l2Vector = z.looseObject({
  ...identity,
  kind: z.string(),
  input: z.looseObject({
    vrid: z.number().optional(),
    family: family.optional(),
    address: z.string().optional(),
    mac: z.string().optional(),
    style: z.string().optional(),
  }),
  expect: z.looseObject({
    mac: z.string().optional(),
    group: z.string().optional(),
    frame_hex: z.string().nullable().optional(),
  }),
})
export type L2Vector = z.infer<typeof l2Vector>

function read(name: string): unknown {
  return JSON.parse(readFileSync(join(import.meta.dirname, 'vectors', `${name}.json`), 'utf8'))
}

export const packetVectors = (name: string) => z.object({ vectors: z.array(packetVector) }).parse(read(name)).vectors
export const txVectors = () => z.object({ vectors: z.array(txVector) }).parse(read('tx')).vectors
export const timerVectors = () => z.object({ vectors: z.array(timerVector) }).parse(read('timers')).vectors
export const l2Vectors = () => z.object({ vectors: z.array(l2Vector) }).parse(read('l2')).vectors
