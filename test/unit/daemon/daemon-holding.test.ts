/**
 * `interface: { holding: … }`: the router runs where an address is, from NIC to bridge and as a file says it. Each rule
 * of docs/configuration.md on a virtual node: what is chosen, what stays when the file is of no use, and what is told.
 */
import { describe, expect, test } from 'vitest'
import { formatStatus } from '../../../src/cli/status/status.ts'
import { wordsOf } from '../../../src/explain/words.ts'
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
  test('is where the router runs, and what it sends from in unicast and in multicast', () => {
    for (const transport of ['multicast', unicast]) {
      const { world } = worldOf({ ...literal, transport })
      world.foreign('add', present(2, '192.0.2.9/24'))
      world.start()
      expect(world.router()).toMatchObject({ interface: 'eth0', source: SELF, state: 'Backup' })
      expect(world.router().holding).toEqual({ file: null, address: SELF, problem: null })
    }
  })

  test('goes to a bridge without a moment without it: the VIP goes along, is announced there and gone here', () => {
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

  test('goes away and comes up on a bridge: nothing stays on the old interface meanwhile', () => {
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

  test('that nobody has: in fault with a name, and nothing is sent', () => {
    const { world } = worldOf({ ...ROUTER, interface: { holding: '192.0.2.77' } })
    world.start().advance(2 * DOWN)
    expect(world.router()).toMatchObject({ state: 'Initialize', faults: ['interfaceMissing'], interface: null })
    expect([world.sent, world.installed]).toEqual([[], []])
    world.foreign('add', present(3, '192.0.2.77/24'))
    expect(world.router()).toMatchObject({ state: 'Backup', interface: 'eth1', source: '192.0.2.77' })
  })

  test('on a port and on its bridge: the bridge; on a port alone: a fault of its own', () => {
    const { world } = active(literal)
    world.setLink(link(7, 'br-ex'))
    world.setLink(link(2, 'eth0', { portOf: 'bridge' }))
    world.advance(20)
    expect(world.router().faults).toEqual(['interfaceIsPort'])
    world.foreign('add', present(7, `${SELF}/24`))
    expect(world.router()).toMatchObject({ interface: 'br-ex', faults: [] })
  })

  test('news of interfaces that have nothing to do with it are not looked at', () => {
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

test('status says where, by which address of which file, and why not', () => {
  const { world, tell } = active(byFile, { address: SELF })
  const lines = () => formatStatus(world.daemon.snapshot()).split('\n')
  expect(lines()).toContainEqual(expect.stringContaining(`vrid 51 on eth0, which has ${SELF} of ${FILE}, IPv4`))
  tell(MISSING)
  expect(lines()).toContain(`  CANNOT FOLLOW ITS ADDRESS: ${FILE}: it does not exist`)
})

test('the journal tells the news of the file and the move, in words', () => {
  const { world, tell } = active({ ...byFile, transport: unicast }, { address: SELF })
  const before = eventsOf(world).length
  tell({ address: OTHER })
  tell(MISSING)
  const words = eventsOf(world)
    .slice(before)
    .filter(({ kind }) => kind === 'addressNamed' || kind === 'interfaceMoved')
    .map((event) => wordsOf(event, (name) => name))
  expect(words).toEqual([
    `read ${OTHER} from ${FILE}`,
    `moves from eth0 to eth1, where ${OTHER} is now, without an election`,
    `${FILE}: it does not exist`,
  ])
})

describe('a file', () => {
  test('missing at the start: waited for, told, and followed when it comes', () => {
    const { world, tell } = worldOf(byFile)
    world.start().advance(1_000)
    expect(world.router()).toMatchObject({ state: 'Initialize', faults: ['interfaceMissing'] })
    expect(world.router().holding).toEqual({ file: FILE, address: null, problem: `${FILE}: it does not exist` })
    tell({ address: OTHER })
    expect(world.router()).toMatchObject({ state: 'Backup', interface: 'eth1', source: OTHER, faults: [] })
    expect(world.router().holding).toEqual({ file: FILE, address: OTHER, problem: null })
  })

  test('names another address: the router goes there, with its addresses', () => {
    const { world, tell } = active({ ...byFile, transport: unicast }, { address: SELF })
    tell({ address: OTHER })
    expect(world.router()).toMatchObject({ state: 'Active', interface: 'eth1', source: OTHER })
    expect(world.installed).toEqual([`${VIP}/32@3`])
    expect(moved(world)).toMatchObject([{ from: 'eth0', to: 'eth1', self: OTHER, holding: OTHER }])
  })

  test('names another address of the same interface: that is the source from then on', () => {
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
  ])('%s: what was in force stays, and why is told', (_, reading) => {
    const { world, tell } = active(byFile, { address: SELF })
    tell(reading)
    world.advance(1_000)
    expect(world.router()).toMatchObject({ state: 'Active', interface: 'eth0', source: SELF, faults: [] })
    expect(world.router().holding).toMatchObject({ file: FILE, address: SELF, problem: expect.any(String) })
    expect([world.installed, world.transitions.length]).toEqual([[`${VIP}/32@2`], 2])
    tell({ address: SELF })
    expect(world.router().holding?.problem).toBeNull()
  })

  test('vanishes, and then the address goes: in fault, until it is somewhere again', () => {
    const { world, tell } = active(byFile, { address: SELF })
    tell(MISSING)
    world.foreign('remove', present(2, `${SELF}/24`))
    world.advance(20)
    expect([world.router().state, world.installed]).toEqual(['Initialize', []])
    world.foreign('add', present(3, `${SELF}/24`))
    expect(world.router()).toMatchObject({ state: 'Backup', interface: 'eth1' })
  })

  test('an address that was in force before the present one is no refuge (a pinned second one)', () => {
    const { world, tell } = active(byFile, { address: SELF })
    tell({ address: OTHER })
    expect(world.router().interface).toBe('eth1')
    world.foreign('remove', present(3, `${OTHER}/24`))
    world.advance(20)
    expect(world.router().faults).toEqual(['sourceAddressMissing'])
    expect(world.installed, 'and nothing is installed beside the first').toEqual([])
  })

  test('early for its address: the router goes when the address is there', () => {
    const { world, tell } = active(byFile, { address: SELF })
    tell({ address: '192.0.2.66' })
    expect(world.router().interface).toBe('eth0')
    world.foreign('add', present(3, '192.0.2.66/24'))
    expect(world.router()).toMatchObject({ interface: 'eth1', source: '192.0.2.66', state: 'Active' })
  })

  test('the same news again are no news', () => {
    const { world, tell } = active(byFile, { address: SELF })
    const events = eventsOf(world).length
    for (let i = 0; i < 100; i++) tell({ address: SELF })
    expect([eventsOf(world).length, world.takeCalls()]).toEqual([events, []])
  })

  test('comes and goes with a reload', () => {
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
