/**
 * Decides by rule, and with a reason, which vectors of a file do not apply. The decision never uses an id, so that a
 * larger file needs no edit here. `declareApplicability` finds a rule that matches everything.
 */
import { expect, test } from 'vitest'
import type { L2Vector, PacketVector, TxVector } from './vector-file.ts'

export const NO_MIXED_MODE = 'there is no mixed v2+v3 mode: one version per virtual router'
export const KERNEL_READS_IPV6 = 'an IPv6 raw socket gets the payload only: the kernel has judged the IP header'
export const KERNEL_ANSWERS = 'the kernel answers ARP and Neighbor Solicitations, with the interface MAC'
export const NO_VIRTUAL_MAC = 'no virtual MAC, so no address is derived from one'

/** Reasons that are decided before the VRRP message is read. */
const IP_REASONS = ['not-vrrp', 'fragment', 'ip-header', 'truncated-ip']

export function whyNotPacket(vector: PacketVector): string | undefined {
  const { expect: expected, receiver } = vector
  for (const instance of receiver.instances) {
    if (instance.version === '2+3') return NO_MIXED_MODE
  }
  if (receiver.family === 'ipv6' && IP_REASONS.includes(expected.reason ?? '')) return KERNEL_READS_IPV6
  return undefined
}

export function whyNotTx({ config }: TxVector): string | undefined {
  return config.version === '2+3' ? NO_MIXED_MODE : undefined
}

export function whyNotL2(vector: L2Vector): string | undefined {
  if (vector.kind === 'arp-reply' || vector.kind === 'solicited-na') return KERNEL_ANSWERS
  if (vector.requirements.includes('VR-ND-08')) return NO_VIRTUAL_MAC
  return undefined
}

export type Applicability<V> = {
  readonly run: readonly (readonly [string, V])[]
  readonly listed: readonly (readonly [string, V, string])[]
}

export function sortVectors<V extends { id: string; title?: string | undefined }>(
  vectors: readonly V[],
  why: (vector: V) => string | undefined,
): Applicability<V> {
  const nameOf = (vector: V) => `${vector.id} ${vector.title ?? ''}`.trim()
  return {
    run: vectors.flatMap((vector) => (why(vector) === undefined ? [[nameOf(vector), vector] as const] : [])),
    listed: vectors.flatMap((vector) => {
      const reason = why(vector)
      return reason === undefined ? [] : [[nameOf(vector), vector, reason] as const]
    }),
  }
}

/**
 * Declares a test: every vector is run or listed, none is both, no id appears twice, and the rules leave enough
 * vectors.
 */
export function declareApplicability<V extends { id: string }>(all: readonly V[], sorted: Applicability<V>): void {
  test('every vector of the file is either run or listed as not applicable', () => {
    const ids = [...sorted.run.map(([, v]) => v.id), ...sorted.listed.map(([, v]) => v.id)]
    expect([...ids].sort(), 'ids that are run or listed, compared with the ids in the file').toEqual(
      all.map((v) => v.id).sort(),
    )
    expect(new Set(ids).size, 'ids used twice').toBe(ids.length)
    expect(sorted.run.length, 'vectors run').toBeGreaterThan(sorted.listed.length)
  })
}
