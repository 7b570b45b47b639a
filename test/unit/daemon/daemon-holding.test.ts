/**
 * `interface: { holding: … }`: the router runs where an address is, moves from NIC to bridge with it, and follows a
 * file that names it. Each rule of docs/configuration.md on a virtual node: the choice, the handling of a bad file, and
 * the reports.
 */
import { describe, expect, test } from 'vitest'
import { formatStatus } from '../../../src/cli/status/status.ts'
import { eventText } from '../../../src/explain/event-text.ts'
import { PaperFiles, type Written } from '../../support/paper-files.ts'
import { FakeWorld, link, present, ROUTER, SELF, VIP } from './fake-world.ts'

const DOWN = 3_500
const FILE = '/run/nodeip-configuration/primary-ip'
const OTHER = '198.51.100.10'
const MISSING = { problem: 'it does not exist' }

const literal = { ...ROUTER, interface: { holding: SELF } }
const byFile = { ...ROUTER, interface: { holding: FILE } }
const unicast = { unicast: { peers: ['192.0.2.20'] } }

function worldOf(router: Readonly<Record<string, unknown>>, says?: Written) {
  const files = new PaperFiles()
  if (says !== undefined) files.write(FILE, says)
  const world = new FakeWorld([router], { addressFiles: files })
  const tell = (reading: Written) => {
    files.write(FILE, reading)
    world.settle()
  }
  return { world, files, tell }
}

function active(router: Readonly<Record<string, unknown>>, says?: Written) {
  const made = worldOf(router, says)
  made.world.start().advance(2 * DOWN)
  expect(made.world.router().state, 'before the test begins').toBe('Active')
  made.world.takeCalls()
  return made
}

const eventsOf = (world: FakeWorld) => world.recorder.chronicle.read().events

const moved = (world: FakeWorld) => eventsOf(world).filter(({ kind }) => kind === 'interfaceMoved')

describe('an address that is written', () => {
  test('a followed address decides the interface and the source, in unicast and in multicast', () => {
    for (const transport of ['multicast', unicast]) {
      const { world } = worldOf({ ...literal, transport })
      world.foreign('add', present(2, '192.0.2.9/24'))
      world.start()
      expect(world.router()).toMatchObject({ interface: 'eth0', source: SELF, state: 'Backup' })
      expect(world.router().holding).toEqual({ file: null, address: SELF, problem: null })
    }
  })

  test('an address that moves to a bridge without a gap takes the VIP along', () => {
    const { world } = active(literal)
    world.setLink(link(7, 'br-ex'))
    const before = world.announced.length
    world.foreign('add', present(7, `${SELF}/24`))
    expect(world.router().interface, 'stays where it is while both have it').toBe('eth0')
    world.foreign('remove', present(2, `${SELF}/24`))
    expect([world.router().interface, world.router().state, world.installed]).toEqual([
      'br-ex',
      'Active',
      [`${VIP}/32@7`],
    ])
    world.advance(100)
    expect(world.announced.slice(before).map(({ address }) => address)).toContain(VIP)
    expect(world.transitions.length, 'no election').toBe(2)
  })

  test('an address that appears on a bridge later leaves nothing on the old interface', () => {
    const { world } = active(literal)
    world.setLink(link(7, 'br-ex'))
    world.foreign('remove', present(2, `${SELF}/24`))
    world.advance(20)
    expect([world.router().state, world.installed]).toEqual(['Initialize', []])
    expect(world.router().holding?.problem).toBe(`no interface has ${SELF}`)
    world.foreign('add', present(7, `${SELF}/24`))
    expect(world.router()).toMatchObject({ interface: 'br-ex', state: 'Backup', faults: [] })
    world.advance(DOWN + 1)
    expect([world.router().state, world.installed]).toEqual(['Active', [`${VIP}/32@7`]])
  })

  test('an address that no interface has puts the router in fault, and nothing is sent', () => {
    const { world } = worldOf({ ...ROUTER, interface: { holding: '192.0.2.77' } })
    world.start().advance(2 * DOWN)
    expect(world.router()).toMatchObject({ state: 'Initialize', faults: ['interfaceMissing'], interface: null })
    expect([world.sent, world.installed]).toEqual([[], []])
    world.foreign('add', present(3, '192.0.2.77/24'))
    expect(world.router()).toMatchObject({ state: 'Backup', interface: 'eth1', source: '192.0.2.77' })
  })

  test('an address on a port and on its bridge means the bridge, and on the port alone a fault', () => {
    const { world } = active(literal)
    world.setLink(link(7, 'br-ex'))
    world.setLink(link(2, 'eth0', { portOf: 'bridge' }))
    world.advance(20)
    expect(world.router().faults).toEqual(['interfaceIsPort'])
    world.foreign('add', present(7, `${SELF}/24`))
    expect(world.router()).toMatchObject({ interface: 'br-ex', faults: [] })
  })

  test('changes of other interfaces are not looked at', () => {
    const { world } = active(literal)
    const before = world.router().holding
    for (let index = 20; index < 220; index++) {
      world.setLink(link(index, `veth${index}`))
      world.foreign('add', present(index, `10.1.${index}.1/24`))
    }
    expect(
      world.takeCalls().filter((call) => !call.startsWith('send')),
      'what the daemon did',
    ).toEqual([])
    expect(world.router().holding).toEqual(before)
  })
})

test('status names the interface, the address, its file and the problem', () => {
  const { world, tell } = active(byFile, { address: SELF })
  const lines = () => formatStatus(world.daemon.snapshot()).split('\n')
  expect(lines()).toContainEqual(expect.stringContaining(`vrid 51 on eth0, which has ${SELF} of ${FILE}, IPv4`))
  tell(MISSING)
  expect(lines()).toContain(`  CANNOT FOLLOW ITS ADDRESS: ${FILE}: it does not exist`)
})

test('the journal records the change of the file and the move', () => {
  const { world, tell } = active({ ...byFile, transport: unicast }, { address: SELF })
  const before = eventsOf(world).length
  tell({ address: OTHER })
  tell(MISSING)
  const words = eventsOf(world)
    .slice(before)
    .filter(({ kind }) => kind === 'addressNamed' || kind === 'interfaceMoved')
    .map((event) => eventText(event, (name) => name))
  expect(words).toEqual([
    `read ${OTHER} from ${FILE}`,
    `moves from eth0 to eth1, where ${OTHER} is now, without an election`,
    `${FILE}: it does not exist`,
  ])
})

describe('a file', () => {
  test('a file that is missing at the start is waited for, reported, and followed later', () => {
    const { world, tell } = worldOf(byFile)
    world.start().advance(1_000)
    expect(world.router()).toMatchObject({ state: 'Initialize', faults: ['interfaceMissing'] })
    expect(world.router().holding).toEqual({ file: FILE, address: null, problem: `${FILE}: it does not exist` })
    tell({ address: OTHER })
    expect(world.router()).toMatchObject({ state: 'Backup', interface: 'eth1', source: OTHER, faults: [] })
    expect(world.router().holding).toEqual({ file: FILE, address: OTHER, problem: null })
  })

  test('a file that names another address moves the router with its addresses', () => {
    const { world, tell } = active({ ...byFile, transport: unicast }, { address: SELF })
    tell({ address: OTHER })
    expect(world.router()).toMatchObject({ state: 'Active', interface: 'eth1', source: OTHER })
    expect(world.installed).toEqual([`${VIP}/32@3`])
    expect(moved(world)).toMatchObject([{ from: 'eth0', to: 'eth1', self: OTHER, holding: OTHER }])
  })

  test('a file that names another address of the same interface changes the source', () => {
    const { world, tell } = active({ ...byFile, transport: unicast }, { address: SELF })
    world.foreign('add', present(2, '192.0.2.9/24'))
    tell({ address: '192.0.2.9' })
    expect(world.router()).toMatchObject({ state: 'Active', interface: 'eth0', source: '192.0.2.9' })
    expect(moved(world), 'of interfaces').toEqual([])
  })

  test.each<[string, Written]>([
    ['vanishes', MISSING],
    ['is garbage', { problem: 'it says "x": an IP address wanted' }],
    ['names an address that nobody has', { address: '192.0.2.66' }],
    ['names one of the other family', { address: 'fd00::5' }],
    ['names the VIP', { address: VIP }],
  ])('%s: the former address stays in force, and the problem is logged', (_, reading) => {
    const { world, tell } = active(byFile, { address: SELF })
    tell(reading)
    world.advance(1_000)
    expect(world.router()).toMatchObject({ state: 'Active', interface: 'eth0', source: SELF, faults: [] })
    expect(world.router().holding).toMatchObject({ file: FILE, address: SELF, problem: expect.any(String) })
    expect([world.installed, world.transitions.length]).toEqual([[`${VIP}/32@2`], 2])
    tell({ address: SELF })
    expect(world.router().holding?.problem).toBeNull()
  })

  test('after a file and its address have disappeared, the router is in fault until the address is back', () => {
    const { world, tell } = active(byFile, { address: SELF })
    tell(MISSING)
    world.foreign('remove', present(2, `${SELF}/24`))
    world.advance(20)
    expect([world.router().state, world.installed]).toEqual(['Initialize', []])
    world.foreign('add', present(3, `${SELF}/24`))
    expect(world.router()).toMatchObject({ state: 'Backup', interface: 'eth1' })
  })

  test('an earlier address is not used again when the present one disappears', () => {
    const { world, tell } = active(byFile, { address: SELF })
    tell({ address: OTHER })
    expect(world.router().interface).toBe('eth1')
    world.foreign('remove', present(3, `${OTHER}/24`))
    world.advance(20)
    expect(world.router().faults).toEqual(['sourceAddressMissing'])
    expect(world.installed, 'and nothing is installed beside the first').toEqual([])
  })

  test('a file that names an address too early moves the router when the address appears', () => {
    const { world, tell } = active(byFile, { address: SELF })
    tell({ address: '192.0.2.66' })
    expect(world.router().interface).toBe('eth0')
    world.foreign('add', present(3, '192.0.2.66/24'))
    expect(world.router()).toMatchObject({ interface: 'eth1', source: '192.0.2.66', state: 'Active' })
  })

  test('the same content again is not reported', () => {
    const { world, tell } = active(byFile, { address: SELF })
    const events = eventsOf(world).length
    for (let i = 0; i < 100; i++) tell({ address: SELF })
    expect([eventsOf(world).length, world.takeCalls()]).toEqual([events, []])
  })

  test('a reload adds and removes the file of a followed address', () => {
    const { world, files } = active(literal)
    files.write(FILE, { address: OTHER })
    world.reload([byFile])
    world.advance(2 * DOWN)
    expect(files.asked.at(-1)).toEqual([FILE])
    expect(world.router()).toMatchObject({ state: 'Active', interface: 'eth1' })
    world.reload([ROUTER])
    expect(files.asked.at(-1)).toEqual([])
    world.advance(2 * DOWN)
    expect(world.router()).toMatchObject({ state: 'Active', interface: 'eth0', holding: null })
  })
})
