/**
 * Elects one operator by a Lease of the API (coordination.k8s.io/v1). This file decides when a Lease may be taken: no
 * change of the Lease was seen for its whole duration. Only this machine's monotonic clock counts, because the clocks of
 * two nodes may differ. Pure.
 */
import * as z from 'zod'
import { defined } from '../../../base/defined.ts'

export const LEASE_TIMES = {
  /** Milliseconds after which an operator that no longer renews the Lease has lost it. */
  duration: 30_000,
  renewEvery: 5_000,
  /**
   * Milliseconds since the last renewal after which an operator stops its work. This time is less than the duration of
   * the Lease, so that no two operators write.
   */
  renewWithin: 20_000,
}
export type LeaseTimes = typeof LEASE_TIMES

const leaseSchema = z.object({
  metadata: z.object({ resourceVersion: z.string() }),
  spec: z
    .object({
      holderIdentity: z.string().optional().catch(undefined),
      leaseDurationSeconds: z.number().optional().catch(undefined),
      leaseTransitions: z.number().optional().catch(undefined),
      acquireTime: z.string().optional().catch(undefined),
    })
    .default({}),
})

export type SeenLease = {
  readonly version: string
  /** Monotonic time in milliseconds at which this version was seen first. */
  readonly since: number
}

export type LeaseOrder =
  | { readonly do: 'wait'; readonly holder: string; readonly seen: SeenLease }
  /** `object`: the Lease to create, or to write in place of the Lease that was read. */
  | { readonly do: 'create' | 'update'; readonly object: Readonly<Record<string, unknown>> }

export type LeaseInput = {
  /** Lease as the API shows it; `undefined` if there is none. */
  readonly lease: unknown
  readonly seen: SeenLease | undefined
  readonly self: string
  readonly name: string
  readonly namespace: string
  readonly monotonicMs: number
  readonly epochMs: number
}

/** Returns what an operator does with the Lease. */
export function leaseOrder(input: LeaseInput, { duration }: LeaseTimes = LEASE_TIMES): LeaseOrder {
  const { lease, monotonicMs, seen, self } = input
  if (lease === undefined) return { do: 'create', object: written(input, duration, {}) }
  const read = leaseSchema.safeParse(lease)
  // A Lease that cannot be read is replaced by a readable one.
  if (!read.success) return { do: 'update', object: written(input, duration, {}) }
  const { metadata, spec } = read.data
  const { acquireTime, holderIdentity: holder = '', leaseDurationSeconds, leaseTransitions = 0 } = spec
  const version = metadata.resourceVersion
  if (holder === self)
    return { do: 'update', object: written(input, duration, { version, acquireTime, transitions: leaseTransitions }) }
  const now: SeenLease = seen?.version === version ? seen : { version, since: monotonicMs }
  const lasts = Math.max(leaseDurationSeconds ?? 0, 1) * 1_000
  if (holder !== '' && monotonicMs - now.since < lasts) return { do: 'wait', holder, seen: now }
  return { do: 'update', object: written(input, duration, { version, transitions: leaseTransitions + 1 }) }
}

/** Returns the Lease without a holder, which the operator writes when it ends; `undefined` if it is not the holder. */
export function releasedLease(lease: unknown, self: string): Readonly<Record<string, unknown>> | undefined {
  const read = leaseSchema.safeParse(lease)
  if (!read.success || read.data.spec.holderIdentity !== self) return undefined
  const { metadata, spec } = z.looseObject({ metadata: z.unknown(), spec: z.looseObject({}) }).parse(lease)
  return { ...HEAD, metadata, spec: { ...spec, holderIdentity: '', leaseDurationSeconds: 1 } }
}

const HEAD = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' }

function written(
  { epochMs, name, namespace, self }: LeaseInput,
  duration: number,
  {
    acquireTime,
    transitions = 0,
    version,
  }: { readonly version?: string; readonly transitions?: number; readonly acquireTime?: string | undefined },
): Readonly<Record<string, unknown>> {
  // The API stores these times in microseconds.
  const now = new Date(epochMs).toISOString().replace('Z', '000Z')
  return {
    ...{ ...HEAD, metadata: { name, namespace, ...defined({ resourceVersion: version }) } },
    spec: {
      ...{ holderIdentity: self, leaseDurationSeconds: Math.round(duration / 1_000), renewTime: now },
      ...{ acquireTime: acquireTime ?? now, leaseTransitions: transitions },
    },
  }
}
