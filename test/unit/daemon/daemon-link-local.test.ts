/**
 * A link-local VIP belongs to the interface of its router. A link-local address with the same text on another interface
 * is a different address.
 */
import { expect, test } from 'vitest'
import { isOurs } from '../../../src/daemon/addresses/reconcile.ts'
import { FakeWorld, present, ROUTER } from './fake-world.ts'

const LINK_LOCAL_VIP = 'fe80::1'
const ROUTER6 = { ...ROUTER, addresses: [LINK_LOCAL_VIP, 'fd00::100'] }
const OWN = present(2, 'fe80::10/64')
const BRIDGE = { ...present(3, `${LINK_LOCAL_VIP}/64`), deprecated: false }

const removals = (world: FakeWorld) => world.calls.filter((call) => call.includes('remove'))

test('the same link-local address on another interface survives start, takeover and its own notifications', () => {
  const world = new FakeWorld([ROUTER6], { present: [OWN, BRIDGE] }).start()
  expect(removals(world), 'by the sweep').toEqual([])
  world.advance(3_700)
  expect(world.daemon.snapshot().routers.map(({ state }) => state)).toEqual(['Active'])
  world.notify({ kind: 'addressAdded', present: BRIDGE })
  world.advance(100)
  expect(removals(world), 'by the router').toEqual([])
  expect(world.addresses).toContainEqual(BRIDGE)
})

test('a link-local address in our form is a leftover on any interface', () => {
  const leftover = { ...present(3, `${LINK_LOCAL_VIP}/128`), deprecated: true }
  const world = new FakeWorld([ROUTER6], { present: [OWN, leftover] }).start()
  expect(world.addresses).not.toContainEqual(leftover)
})

test.each([
  ['another interface, another form', present(3, 'fe80::1/64'), false],
  ['another interface, our form', { ...present(3, 'fe80::1/128'), deprecated: true }, true],
  ['another interface, a preferred host address', { ...present(3, 'fe80::1/128'), deprecated: false }, false],
  ['our interface, any form', present(2, 'fe80::1/64'), true],
  ['not link-local: any interface', present(3, 'fd00::1/64'), true],
  ['IPv4: any interface', present(3, '192.0.2.100/24'), true],
])('%s', (_, found, ours) => expect(isOurs(found, 2, undefined)).toBe(ours))
