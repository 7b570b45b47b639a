/** Cleanup plans of the engine in the real guardian. ip(8) and the neighbour show the guardian's actions after the engine is gone. */
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { AddressStep } from '../../src/daemon/ports.ts'
import { cable, makeNamespace, removeAll } from '../../src/lab/cable.ts'
import { ip } from '../../src/lab/ip.ts'
import { type Address, address } from '../../src/wire/address.ts'
import { describeNetns } from '../support/require.ts'
import { Agent, type AgentPlan, until } from './linux-fixture.ts'

const GUARDIAN = join(import.meta.dirname, `../../native/prebuilds/linux-${process.arch}/holdfast-guardian`)
const ETH = { interfaceIndex: 7, interfaceName: 'eth0' }
const VIPS = [
  { interfaceIndex: 7, address: address('198.51.100.200'), prefixLength: 32 },
  { interfaceIndex: 7, address: address('2001:db8::200'), prefixLength: 128 },
]
const GROUP = address('224.0.0.18')
const GROUP6 = address('ff02::12')
const PEER = address('198.51.100.2')
const PEER6 = address('fe80::2')

const group = (family: 'ipv4' | 'ipv6', source: string, ...sent: readonly (readonly [Address, string, number?])[]) => ({
  family,
  interfaceIndex: 7,
  source: address(source),
  datagrams: sent.map(([destination, bytes, ttl]) => ({ destination, bytes, ...(ttl === undefined ? {} : { ttl }) })),
})
const PLAN: AgentPlan = {
  unit: 3,
  name: 'api',
  remove: VIPS,
  packets: [
    group('ipv4', '198.51.100.1', [GROUP, '3133000102030405'], [PEER, '31330001020304', 3], [PEER, '313300010203']),
    group('ipv6', 'fe80::1', [GROUP6, '3133000102'], [PEER6, '31330001', 7]),
  ],
}

describeNetns('the cleanup plan of an engine', () => {
  let here = ''
  let neighbour: Agent

  beforeAll(() => {
    here = makeNamespace()
    const there = makeNamespace()
    cable(here, there)
    neighbour = new Agent(there)
  })
  afterAll(removeAll)

  const present = (): readonly string[] => {
    const text = ip(here, '-o addr')
    return VIPS.filter((vip) => text.includes(` ${vip.address}/${vip.prefixLength} `)).map((vip) => vip.address)
  }

  /** Starts an engine below its guardian, with both VIPs installed. */
  async function engineWithVips(): Promise<Agent> {
    const engine = new Agent(here, [GUARDIAN, '--'])
    const add = VIPS.map((vip): AddressStep => ({ action: 'add', ...vip }))
    expect((await engine.call('apply', add)).map(({ ok }) => ok)).toEqual([true, true])
    expect(present()).toEqual(VIPS.map((vip) => vip.address))
    return engine
  }

  test('an armed plan removes addresses of both families and sends every packet as the engine would have sent it', async () => {
    const common = { ...ETH, group: GROUP }
    const four = await neighbour.open({ ...common, family: 'ipv4', source: PEER })
    const six = await neighbour.open({ ...ETH, family: 'ipv6', source: address('fe80::2'), group: GROUP6 })
    const engine = await engineWithVips()
    // The plan that is armed second replaces the first.
    await engine.call('arm', { ...PLAN, remove: [], packets: [] })
    await engine.call('arm', PLAN)
    expect(await engine.call('armed')).toBe(true)
    await expect(engine.call('die')).rejects.toThrow('agent ended')
    await until('the VIPs are gone', present, (list) => list.length === 0)
    const heard: unknown[] = []
    await until(
      'five packets',
      async () => {
        for (const socket of [four, six]) heard.push(...(await neighbour.call('drain', socket, 4)).kept)
        return heard
      },
      (list) => list.length === 5,
    )
    expect(heard).toMatchObject([
      {
        source: '198.51.100.1',
        destination: GROUP,
        ttl: 255,
        bytes: expect.stringMatching(/^45c0.*3133000102030405$/),
      },
      { source: '198.51.100.1', destination: PEER, ttl: 3, bytes: expect.stringMatching(/^45c0.*31330001020304$/) },
      { source: '198.51.100.1', destination: PEER, ttl: 255, bytes: expect.stringMatching(/^45c0.*313300010203$/) },
      { source: 'fe80::1', destination: GROUP6, ttl: 255, bytes: '3133000102' },
      { source: 'fe80::1', destination: PEER6, ttl: 7, bytes: '31330001' },
    ])
  })

  test('a withdrawn plan removes no address and sends no packet', async () => {
    const socket = await neighbour.open({ ...ETH, family: 'ipv4', source: PEER, group: GROUP })
    const engine = await engineWithVips()
    await engine.call('arm', PLAN)
    await engine.call('withdraw', PLAN.unit)
    expect(await engine.call('armed')).toBe(true)
    await expect(engine.call('die')).rejects.toThrow('agent ended')
    expect(present()).toEqual(VIPS.map((vip) => vip.address))
    expect((await neighbour.call('drain', socket, 4)).kept).toEqual([])
    for (const vip of VIPS) ip(here, `addr del ${vip.address}/${vip.prefixLength} dev eth0`)
  })
})
