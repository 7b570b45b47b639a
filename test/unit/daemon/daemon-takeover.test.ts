/**
 * The calls of the daemon and their order when a router becomes Active and when it stops: advertisement, addresses,
 * announcement and cleanup plan (docs/architecture.md; ground rules 4 and 6). Every call is a line of the fake.
 */
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { JournalFile } from '../../../src/events/journal-file.ts'
import { FakeWorld, failure, link, present, ROUTER, SELF, VIP, VIP2 } from './fake-world.ts'

const DOWN = 3_500
const BACKOFF = 10_000

function activeWorld(router = ROUTER): FakeWorld {
  const world = new FakeWorld([router]).start()
  world.advance(DOWN + 1)
  expect(world.router().state, `3.5 s of silence after the start: ${world.transitions}`).toBe('Active')
  return world
}

/** Leaves out the drains; daemon-drain.test.ts has their order. */
const acts = (world: FakeWorld) => world.takeCalls().filter((call) => !/^(network\.)?drain/.test(call))

describe('a takeover', () => {
  test('a takeover waits for Active_Down_Interval, then arms, advertises, installs and announces', () => {
    const world = new FakeWorld().start()
    expect(acts(world)).toEqual(['open eth0'])
    world.advance(DOWN - 1)
    expect([acts(world), world.router().state]).toEqual([[], 'Backup'])
    world.advance(2)
    expect(acts(world)).toEqual([
      'arm api',
      'advertise eth0 vrid 51 priority 128',
      `add ${VIP}/32@2`,
      `announce eth0 ${VIP}`,
    ])
    expect(world.transitions).toEqual(['api: Initialize → Backup: startup', 'api: Backup → Active: activeSilent'])
  })

  test('the cleanup plan removes the addresses, then sends priority 0', () => {
    const world = activeWorld({ ...ROUTER, addresses: [VIP, VIP2] })
    const plan = world.plans.get(0)
    expect(
      plan?.remove.map(({ address, prefixLength, interfaceIndex }) => [address, prefixLength, interfaceIndex]),
    ).toEqual([
      [VIP, 32, 2],
      [VIP2, 32, 2],
    ])
    expect(plan?.packets.map(({ source }) => source)).toEqual([SELF])
    expect(plan?.packets.flatMap(({ datagrams }) => datagrams.map(({ bytes }) => bytes[2]))).toEqual([0])
  })

  test('an Active advertises on its grid, and announces again as configured', () => {
    const world = activeWorld()
    const since = world.sent[0]?.at ?? 0
    world.advance(5_500)
    const offsets = (list: readonly { at: number }[]) => list.map(({ at }) => Math.round(at - since))
    // An alarm is rounded to whole milliseconds: up to one late, never early. The phase of VRID 51 is 20/32.
    expect(offsets(world.sent)).toEqual([0, 625, 1625, 2625, 3625, 4625])
    expect(offsets(world.announced)).toEqual([0, 20, 100, 500, 2000, 5000])
  })

  test('several routers in one turn send all advertisements, then install all addresses, then announce', () => {
    const second = { ...ROUTER, name: 'ingress', vrid: 52, addresses: [VIP2] }
    const world = new FakeWorld([ROUTER, second]).start()
    world.takeCalls()
    world.advance(DOWN + 1)
    expect(acts(world)).toEqual([
      'arm api',
      'arm ingress',
      'advertise eth0 vrid 51 priority 128',
      'advertise eth0 vrid 52 priority 128',
      `add ${VIP}/32@2`,
      `add ${VIP2}/32@2`,
      `announce eth0 ${VIP}`,
      `announce eth0 ${VIP2}`,
    ])
  })

  test('a takeover logs nothing before the first announcement, and writes nothing to the disk', () => {
    const world = new FakeWorld([{ ...ROUTER, notify: { active: ['/n/active'] } }]).start()
    const journal = join(world.runDirectory, 'addresses.json')
    expect(existsSync(journal), 'the journal before the first address can be installed').toBe(true)
    rmSync(journal)
    world.takeCalls()
    world.watchTellings()
    world.advance(DOWN + 1)
    expect(acts(world)).toEqual([
      'arm api',
      'advertise eth0 vrid 51 priority 128',
      `add ${VIP}/32@2`,
      `announce eth0 ${VIP}`,
      'notify router api',
      'log api: Backup → Active: no other router was heard',
    ])
    expect(existsSync(journal), 'a file that the takeover has written').toBe(false)
  })

  test('the journal of a takeover is written after the turn', async () => {
    const world = new FakeWorld().start()
    const tried: string[] = []
    // A folder cannot be opened for writing, so an attempt fails visibly and leaves nothing open.
    const file = new JournalFile({
      path: world.runDirectory,
      maxSize: 1024 * 1024,
      onProblem: (message) => tried.push(message),
      onGap: () => {},
    })
    const recorded: string[] = []
    world.recorder.chronicle.subscribe((event) => {
      recorded.push(event.kind)
      file.append(event)
    })
    world.advance(DOWN + 1)
    expect(world.router().state).toBe('Active')
    expect(recorded, 'events of the takeover').toContain('transition')
    expect(tried, 'when the takeover has returned').toEqual([])
    await file.flush(10_000)
    expect(tried, 'afterwards').toHaveLength(1)
  })

  test('failures of a takeover are logged afterwards as well', () => {
    const world = new FakeWorld([{ ...ROUTER, addresses: [VIP, VIP2] }]).start()
    world.takeCalls()
    world.watchTellings()
    world.addressFailures.set(`add ${VIP2}`, failure('ENOBUFS'))
    world.advance(DOWN + 1)
    const kinds = acts(world).map((call) => call.split(' ')[0])
    expect(kinds).toEqual(['arm', 'advertise', 'add', 'add', 'announce', 'announce', 'log', 'log'])
  })

  test('an Active that loses removes its addresses, advertises once more, then withdraws its plan', () => {
    const world = activeWorld()
    world.takeCalls()
    world.hear(200)
    expect(acts(world)).toEqual([`remove ${VIP}/32@2`, 'advertise eth0 vrid 51 priority 128', 'withdraw api'])
    expect(world.installed).toEqual([])
    world.announced.length = 0
    for (let i = 0; i < 60; i++) {
      world.advance(1000)
      world.hear(200)
    }
    expect(world.announced, 'announcements after leaving Active (VR-GARP-05)').toEqual([])
  })

  test('an address that is installed already counts as success', () => {
    const world = new FakeWorld().start()
    world.holdNotifications = true
    world.foreign('add', present(2, `${VIP}/32`))
    world.advance(DOWN + 200)
    expect([world.router().state, world.router().faults]).toEqual(['Active', []])
    world.deliver()
    expect(world.installed).toEqual([`${VIP}/32@2`])
  })
})

describe('an address that cannot be installed', () => {
  test('an address that cannot be installed has one retry after 10 ms, then priority 0 and a fault of 10 s to 5 min', () => {
    const world = new FakeWorld([{ ...ROUTER, addresses: [VIP, VIP2] }]).start()
    world.addressFailures.set(`add ${VIP2}`, failure('EPERM'))
    world.advance(DOWN)
    world.takeCalls()
    world.advance(8)
    expect(acts(world), 'before the retry is due').toEqual([])
    world.advance(3)
    expect(acts(world)).toEqual([
      // All addresses are added again, even those that seem to be installed.
      `add ${VIP}/32@2`,
      `add ${VIP2}/32@2`,
      `remove ${VIP}/32@2`,
      `remove ${VIP2}/32@2`,
      'advertise eth0 vrid 51 priority 0',
      'withdraw api',
    ])
    expect([world.installed, world.router().faults]).toEqual([[], ['addressInstallFailed']])

    const waits: number[] = []
    for (let round = 0; round < 7; round++) {
      const since = world.now
      while (world.router().state === 'Initialize' && world.now - since < 400_000) world.advance(100)
      waits.push(Math.round((world.now - since) / 1000))
      world.advance(DOWN + 20)
      expect(world.router().faults, `after try ${round + 2}`).toEqual(['addressInstallFailed'])
    }
    expect(waits, 'seconds in fault').toEqual([10, 20, 40, 80, 160, 300, 300])
  })

  test('a successful retry leaves only a log line, and resets the backoff', () => {
    const world = new FakeWorld().start()
    world.addressFailures.set(`add ${VIP}`, failure('ENOBUFS'))
    world.advance(DOWN + 1)
    expect([world.router().state, world.installed]).toEqual(['Active', []])
    world.addressFailures.clear()
    world.advance(11)
    expect([world.router().state, world.router().faults, world.installed]).toEqual(['Active', [], [`${VIP}/32@2`]])
    expect(world.records.filter(({ level }) => level === 'error').map(({ fields }) => fields.code)).toEqual(['ENOBUFS'])
  })

  test('a success between two failures resets the backoff', () => {
    const world = new FakeWorld().start()
    const fail = () => world.addressFailures.set(`add ${VIP}`, failure('EPERM'))
    fail()
    world.advance(DOWN + 12)
    world.addressFailures.clear()
    world.advance(BACKOFF + DOWN + 1)
    expect(world.router().state).toBe('Active')
    world.hear(200)
    fail()
    world.advance(DOWN + 12)
    expect(world.router().faults).toEqual(['addressInstallFailed'])
    world.advance(BACKOFF - 20)
    expect(world.router().faults).toEqual(['addressInstallFailed'])
    world.advance(20)
    expect(world.router().faults).toEqual([])
  })
})

describe('an address that cannot be removed', () => {
  test('an address that cannot be removed is tried again after 10 ms and every second, and the plan stays', () => {
    const world = activeWorld()
    world.addressFailures.set(`remove ${VIP}`, failure('ETIMEDOUT'))
    world.hear(200)
    expect([world.router().state, world.plans.size, world.installed]).toEqual(['Backup', 1, [`${VIP}/32@2`]])
    world.takeCalls()
    for (let i = 0; i < 3; i++) {
      world.advance(900)
      world.hear(200)
    }
    expect(acts(world)).toEqual([1, 2, 3].map(() => `remove ${VIP}/32@2`))
    world.addressFailures.clear()
    world.advance(1_000)
    expect([world.plans.size, world.installed]).toEqual([0, []])
    const lines = world.records.filter(({ level }) => level === 'error')
    // The rate limit allows one line. The transition has lifted the limit once, so a second line is allowed.
    expect(lines.length, 'lines about it').toBe(2)
  })

  test('a router that is Active again does not remove the address, and keeps its new plan', () => {
    const world = activeWorld()
    world.addressFailures.set(`remove ${VIP}`, failure('ETIMEDOUT'))
    world.hear(200)
    world.hear(0)
    world.addressFailures.clear()
    world.holdNotifications = true
    world.advance(5)
    world.advance(600)
    world.holdNotifications = false
    world.advance(DOWN)
    expect([world.router().state, world.plans.size, world.installed]).toEqual(['Active', 1, [`${VIP}/32@2`]])
  })
})

describe('the address owner (255)', () => {
  const OWNER = { ...ROUTER, addresses: [SELF], priority: 255 }

  test('an owner is Active immediately, touches no address, and has no plan', () => {
    const world = new FakeWorld([OWNER]).start()
    expect(acts(world)).toEqual([
      'open eth0',
      'arm api',
      'advertise eth0 vrid 51 priority 255',
      `announce eth0 ${SELF}`,
    ])
    expect(world.plans.get(0)?.remove).toEqual([])
    expect(world.plans.get(0)?.packets.length).toBe(1)
  })

  test('an owner advertises after its link is up', () => {
    const world = new FakeWorld([OWNER])
    world.links.set(2, link(2, 'eth0', { running: false }))
    world.start()
    expect([world.router().faults, world.sent]).toEqual([['linkDown'], []])
    world.setLink(link(2, 'eth0'))
    expect([world.router().state, world.sent.length]).toEqual(['Active', 1])
  })

  test('an owner without its address is in fault until the address is back', () => {
    const world = new FakeWorld([OWNER]).start()
    world.foreign('remove', present(2, `${SELF}/24`))
    expect(world.router().faults).toEqual(['sourceAddressMissing'])
    world.foreign('add', present(2, `${SELF}/24`))
    expect(world.router().state).toBe('Active')
    expect(world.calls.filter((call) => /^(add|remove)/.test(call))).toEqual([])
  })
})
