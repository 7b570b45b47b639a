/**
 * What is read of the engine's own account (`/v1/status`, docs/status.schema.json) to know who holds an address: an engine
 * of another version may say more. Decided here: what that account means for one address. Refuses to know how it was asked
 * for, and what is made of it.
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

/** An engine before 0.2.0 calls the holder `owner`. */
const namedAsBefore = (value: unknown): unknown =>
  typeof value === 'object' && value !== null && !('holder' in value) && 'owner' in value
    ? { ...value, holder: value.owner }
    : value

const statusSchema = z.object({
  version: z.literal(1),
  takenAt: z.iso.datetime(),
  routers: z.array(z.preprocess(namedAsBefore, routerSchema)),
})

/** A host that answers for the address as well. */
export type Duplicate = { readonly mac: string; readonly router: Address | undefined }

/** Of one virtual address, as this node's engine has it. */
export type Sight =
  /** This node holds it and advertises. */
  | { readonly kind: 'ours'; readonly since: string; readonly duplicates: readonly Duplicate[] }
  /** It follows that router, heard so long ago. */
  | {
      readonly kind: 'heard'
      readonly from: Address
      readonly agoMs: number
      readonly duplicates: readonly Duplicate[]
    }
  /** It listens and hears nobody. */
  | { readonly kind: 'silence' }
  /** It does not listen: a fault, or an engine that does not answer. */
  | { readonly kind: 'deaf'; readonly why: string }
  /** No router for it here: not this node's to say. */
  | { readonly kind: 'absent' }

export type EngineReport = { readonly takenAt: string; readonly sights: ReadonlyMap<Address, Sight> }

/** Undefined: no account of an engine that can be read. */
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

export const sightAt = (report: EngineReport | undefined, address: Address): Sight =>
  report === undefined
    ? { kind: 'deaf', why: 'its engine does not answer' }
    : (report.sights.get(address) ?? { kind: 'absent' })

function sightOf(router: z.output<typeof routerSchema>, vip: Address, present: boolean): Sight {
  const duplicates = router.duplicates
    .filter(({ address }) => parseAddress(address.replace(/\/\d+$/, '')) === vip)
    .map(({ mac, router: other }) => ({ mac, router: other === null ? undefined : parseAddress(other.address) }))
  // One that is Active and has lost the address in the kernel holds nothing.
  if (router.state === 'Active' && present) return { kind: 'ours', since: router.since, duplicates }
  const { address, heardMsAgo, self } = router.holder
  const from = self || address === null ? undefined : parseAddress(address)
  if (router.state === 'Initialize') return { kind: 'deaf', why: router.faults.join(', ') || 'it has just begun' }
  // A Backup that hears nobody for longer takes over itself.
  if (from !== undefined && heardMsAgo !== null) return { kind: 'heard', from, agoMs: heardMsAgo, duplicates }
  return { kind: 'silence' }
}
