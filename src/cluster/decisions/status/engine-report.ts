/**
 * Reads the part of the engine's report (`/v1/status`, docs/status.schema.json) that tells the holder of an address. An
 * engine of another version may report more. This file decides the meaning of the report for one address.
 */
import * as z from 'zod'
import type { Address } from '../../../wire/address.ts'
import { parseAddress } from '../../../wire/address.ts'

const holder = z.object({ self: z.boolean(), address: z.string().nullable(), heardMsAgo: z.number().nullable() })

const routerSchema = z.object({
  name: z.string(),
  departing: z.boolean(),
  state: z.enum(['Initialize', 'Backup', 'Active', 'Leaving', 'Returning']),
  since: z.iso.datetime(),
  faults: z.array(z.string()),
  holder,
  source: z.string().nullable(),
  advertisementIntervalMs: z.number(),
  addresses: z.array(z.object({ address: z.string(), present: z.boolean() })),
  duplicates: z.array(
    z.object({
      address: z.string(),
      mac: z.string(),
      router: z.object({ address: z.string() }).nullable(),
    }),
  ),
})

/** Renames the field `owner` of an engine before 0.2.0. */
const namedAsBefore = (value: unknown): unknown =>
  typeof value === 'object' && value !== null && !('holder' in value) && 'owner' in value
    ? { ...value, holder: value.owner }
    : value

const statusSchema = z.object({
  version: z.literal(1),
  takenAt: z.iso.datetime(),
  routers: z.array(z.preprocess(namedAsBefore, routerSchema)),
})

/** Another host that answers for a VIP of this node. */
export type Duplicate = { readonly mac: string; readonly router: Address | undefined }

/** State of one virtual address, as this node's engine reports it. */
export type Sight =
  /** This node holds the VIP and advertises it. */
  | { readonly kind: 'ours'; readonly since: string; readonly duplicates: readonly Duplicate[] }
  /** The engine follows the router `from`, whose last advertisement is `agoMs` milliseconds old. */
  | {
      readonly kind: 'heard'
      readonly from: Address
      readonly agoMs: number
      readonly duplicates: readonly Duplicate[]
    }
  /** The engine listens and receives no advertisement for the VIP. */
  | { readonly kind: 'silence' }
  /** The engine does not receive advertisements: its router has a fault, or the engine does not answer. */
  | { readonly kind: 'deaf'; readonly why: string }
  /** This node has no virtual router for the VIP. */
  | { readonly kind: 'absent' }

export type EngineReport = { readonly takenAt: string; readonly sights: ReadonlyMap<Address, Sight> }

/** Reads the report of the engine; `undefined` if `value` is not a report. */
export function readEngineReport(value: unknown): EngineReport | undefined {
  const read = statusSchema.safeParse(value)
  if (!read.success) return undefined
  const sights = new Map<Address, Sight>()
  for (const router of read.data.routers) {
    if (router.departing) continue
    for (const { address: text, present } of router.addresses) {
      const address = parseAddress(text.replace(/\/\d+$/, ''))
      if (address !== undefined) sights.set(address, sightOf(router, address, present))
    }
  }
  return { takenAt: read.data.takenAt, sights }
}

/** Returns the state of one address in a report. */
export const sightAt = (report: EngineReport | undefined, address: Address): Sight =>
  report === undefined
    ? { kind: 'deaf', why: 'its engine does not answer' }
    : (report.sights.get(address) ?? { kind: 'absent' })

function sightOf(router: z.output<typeof routerSchema>, vip: Address, present: boolean): Sight {
  const duplicates = router.duplicates
    .filter(({ address }) => parseAddress(address.replace(/\/\d+$/, '')) === vip)
    .map(({ mac, router: other }) => ({ mac, router: other === null ? undefined : parseAddress(other.address) }))
  // A router that is Active but has no address in the kernel does not hold the VIP.
  if (router.state === 'Active' && present) return { kind: 'ours', since: router.since, duplicates }
  const { address, heardMsAgo, self } = router.holder
  const from = self || address === null ? undefined : parseAddress(address)
  if (router.state === 'Initialize')
    return { kind: 'deaf', why: router.faults.join(', ') || 'the virtual router has just started' }
  // A Backup that receives no advertisement for longer takes over itself.
  if (from !== undefined && heardMsAgo !== null) return { kind: 'heard', from, agoMs: heardMsAgo, duplicates }
  return { kind: 'silence' }
}
