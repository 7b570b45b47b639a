/** The Lease of the operator as a table: who may write it, and what is written. */
import { expect, test } from 'vitest'
import { leaseOrder, releasedLease, type SeenLease } from '../../../../src/cluster/decisions/operator/lease.ts'

const lease = (holderIdentity: string | undefined, resourceVersion = '7', leaseDurationSeconds = 30) => ({
  metadata: { name: 'operator', resourceVersion },
  spec: { holderIdentity, leaseDurationSeconds, leaseTransitions: 4, acquireTime: '2026-11-22T11:00:00.000000Z' },
})
const order = (object: unknown, seen: SeenLease | undefined, monotonicMs: number) =>
  leaseOrder({
    ...{ lease: object, seen, monotonicMs, self: 'me', name: 'operator', namespace: 'ns' },
    epochMs: Date.parse('2026-11-22T12:00:00.5Z'),
  })
const seen = (version: string, since: number): SeenLease => ({ version, since })

test.each([
  ['without a Lease, it creates one', undefined, undefined, 'create'],
  ['its own Lease is renewed', lease('me'), undefined, 'update'],
  ['the Lease of another one is left when it is seen first', lease('you'), undefined, 'wait'],
  ['the Lease of another one is left within its duration', lease('you'), seen('7', 70_001), 'wait'],
  ['a Lease that has not changed for its duration is taken', lease('you'), seen('7', 70_000), 'update'],
  ['a renewed Lease begins its duration again', lease('you', '8'), seen('7', 0), 'wait'],
  ['a longer duration of the other one counts', lease('you', '7', 60), seen('7', 70_000), 'wait'],
  ['a Lease that was given back is taken immediately', lease(''), undefined, 'update'],
  ['a Lease without a holder is taken immediately', lease(undefined), undefined, 'update'],
  ['a Lease that cannot be read is replaced', { metadata: {} }, undefined, 'update'],
])('%s', (_, object, before, expected) => {
  expect(order(object, before, 100_000).do).toBe(expected)
})

test('a taken Lease counts the transition and names the version that was read; a renewed one keeps its begin', () => {
  expect(order(lease('you'), seen('7', 0), 100_000)).toMatchObject({
    object: {
      metadata: { name: 'operator', namespace: 'ns', resourceVersion: '7' },
      spec: {
        ...{ holderIdentity: 'me', leaseTransitions: 5, leaseDurationSeconds: 30 },
        ...{ acquireTime: '2026-11-22T12:00:00.500000Z', renewTime: '2026-11-22T12:00:00.500000Z' },
      },
    },
  })
  expect(order(lease('me'), undefined, 0)).toMatchObject({
    object: { spec: { leaseTransitions: 4, acquireTime: '2026-11-22T11:00:00.000000Z' } },
  })
})

test('only the holder gives the Lease back', () => {
  expect(releasedLease(lease('you'), 'me')).toBeUndefined()
  expect(releasedLease(lease('me'), 'me')).toMatchObject({
    metadata: { resourceVersion: '7' },
    spec: { holderIdentity: '', leaseDurationSeconds: 1, leaseTransitions: 4 },
  })
})
