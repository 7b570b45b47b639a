/**
 * stop(): every Active goes through Leaving. The promise of stop() resolves exactly when no router answers for an
 * address. Announcements of a successor count only during Leaving.
 */
import { expect, test } from 'vitest'
import { gratuitousArp } from '../../../src/arp/gratuitous-arp.ts'
import { address } from '../../../src/wire/address.ts'
import { FakeWorld, failure, link, ROUTER, VIP, VIP2 } from './fake-world.ts'

const DOWN = 3_500
const PEER_MAC = link(66, 'peer').mac

/** Tells whether the promise is resolved, after the microtasks that this needs. */
async function isSettled(promise: Promise<void>): Promise<boolean> {
  let settled = false
  void promise.then(() => {
    settled = true
  })
  for (let i = 0; i < 20; i++) await Promise.resolve()
  return settled
}

function activeWorld(routers = [ROUTER]): FakeWorld {
  const world = new FakeWorld(routers).start()
  world.advance(DOWN + 1)
  world.takeCalls()
  world.sent.length = 0
  return world
}

test('a Backup stops immediately and sends nothing', async () => {
  const world = new FakeWorld().start()
  expect(await isSettled(world.daemon.stop())).toBe(true)
  expect(world.sent).toEqual([])
})

test('an Active sends priority 0 twice and keeps its address until the successor announces it', async () => {
  const world = activeWorld()
  expect(world.listening, 'while Active, for its own question').toEqual(['answers'])
  const stopped = world.daemon.stop()
  expect([world.router().state, world.sent.map(({ priority }) => priority)]).toEqual(['Leaving', [0]])
  expect([world.listening, world.installed, world.plans.size]).toEqual([['claims'], [`${VIP}/32@2`], 1])
  expect(world.claimListeners, 'the same tap: closing one takes as long as the successor needs').toHaveLength(1)
  world.advance(3)
  expect(world.sent.map(({ priority }) => priority)).toEqual([0, 0])
  world.advance(600)
  world.hearAnnouncement(gratuitousArp({ address: address(VIP), mac: PEER_MAC }))
  expect(world.installed, 'for 5 ms more').toEqual([`${VIP}/32@2`])
  world.advance(6)
  expect(world.installed).toEqual([])
  expect(await isSettled(stopped), 'before the successor advertised').toBe(false)
  world.hear(200)
  expect(await isSettled(stopped)).toBe(true)
  expect([world.router().state, world.listening, world.plans.size]).toEqual(['Initialize', [], 0])
})

test('our own announcements, and those of other addresses, do not count', () => {
  const world = activeWorld()
  void world.daemon.stop()
  world.hearAnnouncement(gratuitousArp({ address: address(VIP), mac: link(2, 'eth0').mac }))
  world.hearAnnouncement(gratuitousArp({ address: address(VIP2), mac: PEER_MAC }))
  world.advance(100)
  expect(world.installed).toEqual([`${VIP}/32@2`])
})

test('without a successor an Active stops after twice the interval', async () => {
  const world = activeWorld()
  const stopped = world.daemon.stop()
  world.advance(1_999)
  expect([await isSettled(stopped), world.installed]).toEqual([false, [`${VIP}/32@2`]])
  world.advance(2)
  expect([await isSettled(stopped), world.installed]).toEqual([true, []])
})

test('stop() resolves with the last of several routers, and faults do not delay it', async () => {
  const second = { ...ROUTER, name: 'ingress', vrid: 52, addresses: [VIP2] }
  const third = { ...ROUTER, name: 'broken', vrid: 53, interface: 'eth7', addresses: ['192.0.2.103'] }
  const world = activeWorld([ROUTER, second, third])
  const stopped = world.daemon.stop()
  world.advance(10)
  world.hear(200)
  world.advance(30)
  expect([world.router('api').state, world.router('ingress').state]).toEqual(['Initialize', 'Leaving'])
  expect(await isSettled(stopped)).toBe(false)
  world.advance(2_000)
  expect(await isSettled(stopped)).toBe(true)
})

test('a fault that clears during a stop starts nothing', async () => {
  const world = activeWorld()
  world.addressFailures.set(`add ${VIP}`, failure('EPERM'))
  world.hear(200)
  world.advance(DOWN + 12)
  expect(world.router().faults).toEqual(['addressInstallFailed'])
  expect(await isSettled(world.daemon.stop())).toBe(true)
  world.advance(30_000)
  expect(world.router().state).toBe('Initialize')
})

test('a link that goes down during Leaving removes the addresses immediately', async () => {
  const world = activeWorld()
  const stopped = world.daemon.stop()
  world.setLink(link(2, 'eth0', { up: false }))
  expect([await isSettled(stopped), world.installed, world.plans.size]).toEqual([true, [], 0])
})

test('after close() nothing keeps the process alive', async () => {
  const world = activeWorld()
  await Promise.all([world.daemon.stop(), world.advance(2_001)])
  world.daemon.close()
  expect([world.timers, world.sockets.filter(({ closed }) => !closed)]).toEqual([0, []])
})

test('two calls of stop() both resolve', async () => {
  const world = activeWorld()
  const both = [world.daemon.stop(), world.daemon.stop()]
  world.advance(2_001)
  expect(await Promise.all(both.map(isSettled))).toEqual([true, true])
})

test('a call of stop() after the end resolves', async () => {
  const world = new FakeWorld().start()
  await world.daemon.stop()
  expect(await isSettled(world.daemon.stop())).toBe(true)
})
