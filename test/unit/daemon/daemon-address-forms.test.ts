/** Addresses with a label, a prefix, another interface, and those that are in no packet (VR-CFG-06). */
import { describe, expect, test } from 'vitest'
import { resolveRouters } from '../../../src/config/resolve.ts'
import { advertisementDatagrams } from '../../../src/vrrp/transmit.ts'
import { FakeWorld, link, present, ROUTER, type RouterConfig, VIP, VIP2 } from './fake-world.ts'

const DOWN = 3_500
const SIX = '2001:db8::100'
const LABELLED: RouterConfig = { ...ROUTER, addresses: [{ address: VIP, label: 'vip' }] }

function active(keys: RouterConfig = {}): FakeWorld {
  const world = new FakeWorld([{ ...ROUTER, ...keys }]).start()
  world.advance(DOWN + 1)
  expect(world.router().state).toBe('Active')
  return world
}

const planned = (world: FakeWorld) =>
  (world.plans.get(0)?.remove ?? []).map((one) => `${one.address}/${one.prefixLength}@${one.interfaceIndex}`)

describe('excluded addresses', () => {
  test('excluded addresses of either family are installed, announced, in the cleanup plan and removed, but not in the packet', async () => {
    const world = active({ excludedAddresses: [VIP2, SIX] })
    expect(world.installed).toEqual([`${VIP}/32@2`, `${VIP2}/32@2`, `${SIX}/128@2`])
    expect(planned(world)).toEqual(world.installed)
    world.advance(3_000)
    expect(new Set(world.announced.map(({ address }) => address))).toEqual(new Set([VIP, VIP2, SIX]))
    const [router] = resolveRouters(world.daemon.config, { interfaces: [] }).routers
    const sent = router === undefined ? [] : advertisementDatagrams(router.parameters, 100)
    expect(
      sent.map(({ bytes }) => [bytes[3], bytes.length]),
      'one address in the packet',
    ).toEqual([[1, 12]])
    expect(world.router().addresses).toEqual([VIP, VIP2, SIX].map((address) => ({ address, present: true })))
    world.foreign('remove', present(2, `${SIX}/128`))
    expect(world.installed).toContain(`${SIX}/128@2`)
    const stopped = world.daemon.stop()
    world.advance(10_000)
    await stopped
    expect(world.installed).toEqual([])
  })

  test('a reload adds and removes excluded addresses without touching other ones', () => {
    const world = active()
    world.takeCalls()
    world.reload([{ ...ROUTER, excludedAddresses: [VIP2] }])
    expect([world.router().state, world.installed]).toEqual(['Active', [`${VIP}/32@2`, `${VIP2}/32@2`]])
    expect(
      world.takeCalls().filter((call) => call.includes('remove')),
      'removals',
    ).toEqual([])
    world.reload([ROUTER])
    expect([world.router().state, world.installed]).toEqual(['Active', [`${VIP}/32@2`]])
  })

  test('excluded addresses of an earlier run are swept', () => {
    const left = [present(3, `${VIP2}/32`), present(2, `${SIX}/128`)]
    const world = new FakeWorld([{ ...ROUTER, excludedAddresses: [VIP2, SIX] }], { present: left }).start()
    expect(world.installed).toEqual([])
  })
})

describe('on another interface', () => {
  const AWAY: RouterConfig = { addresses: [VIP, { address: VIP2, interface: 'eth1' }] }

  test('an address on another interface is installed, announced and removed there', () => {
    const world = active(AWAY)
    expect(world.installed).toEqual([`${VIP}/32@2`, `${VIP2}/32@3`])
    expect(planned(world)).toEqual(world.installed)
    expect(new Set(world.announced.map(({ address, mac }) => `${address} ${mac}`))).toEqual(
      new Set([`${VIP} 02:00:00:00:00:02`, `${VIP2} 02:00:00:00:00:03`]),
    )
    world.reload([{ ...ROUTER, fault: 'maintenance' }])
    expect(world.installed).toEqual([])
  })

  test('a router is in fault while the other interface is down, as keepalived is', () => {
    const world = active(AWAY)
    world.sent.length = 0
    world.setLink(link(3, 'eth1', { running: false }))
    expect([world.router().faults, world.installed]).toEqual([['addressInterfaceDown:eth1'], []])
    expect(world.sent.map(({ priority }) => priority)).toEqual([0])
    world.setLink(link(3, 'eth1'))
    expect(world.router()).toMatchObject({ state: 'Backup', faults: [] })
  })

  test('a reload moves an address to another interface, and clears the fault of an interface that is no longer named', () => {
    const world = active({ addresses: [VIP, VIP2] })
    world.announced.length = 0
    world.reload([{ ...ROUTER, ...AWAY }])
    expect([world.router().state, world.installed]).toEqual(['Active', [`${VIP}/32@2`, `${VIP2}/32@3`]])
    world.advance(1)
    expect(world.announced.some(({ address, mac }) => address === VIP2 && mac === '02:00:00:00:00:03')).toBe(true)
    world.setLink(link(3, 'eth1', { up: false }))
    expect(world.router().faults).toEqual(['addressInterfaceDown:eth1'])
    world.reload([{ ...ROUTER, addresses: [VIP, VIP2] }])
    expect(world.router()).toMatchObject({ state: 'Backup', faults: [] })
  })

  test('duplicate address detection asks on another interface as well', () => {
    const world = active(AWAY)
    world.advance(2_500)
    expect(new Set(world.asked.map(({ address }) => address))).toContain(VIP2)
  })
})

describe('prefix and label', () => {
  test('addressPrefix: written installs the configured prefix, as profile keepalived does by default', () => {
    const written = [`${VIP}/24`, VIP2]
    expect(active({ addresses: written }).installed).toEqual([`${VIP}/32@2`, `${VIP2}/32@2`])
    expect(active({ addresses: written, addressPrefix: 'written' }).installed).toEqual([`${VIP}/24@2`, `${VIP2}/32@2`])
    const world = active({ addresses: written, profile: 'keepalived' })
    expect([world.installed, planned(world)]).toEqual([
      [`${VIP}/24@2`, `${VIP2}/32@2`],
      [`${VIP}/24@2`, `${VIP2}/32@2`],
    ])
  })

  test('a reload with another prefix removes the old form and installs the new one', () => {
    const world = active({ addresses: [`${VIP}/24`] })
    world.reload([{ ...ROUTER, addresses: [`${VIP}/24`], addressPrefix: 'written' }])
    expect([world.router().state, world.installed]).toEqual(['Active', [`${VIP}/24@2`]])
    expect(planned(world)).toEqual([`${VIP}/24@2`])
  })

  test('an address has its label, and a changed label installs it again', () => {
    const world = new FakeWorld([LABELLED]).start()
    world.advance(DOWN + 1)
    expect(world.plans.get(0)?.remove).toMatchObject([{ address: VIP, label: 'vip' }])
    world.takeCalls()
    world.reload([{ ...ROUTER, addresses: [{ address: VIP, label: 'other' }] }])
    const calls = world.takeCalls().filter((call) => call.includes(VIP) && /add|remove/.test(call))
    expect(calls.map((call) => (call.includes('remove') ? 'remove' : 'add'))).toEqual(['remove', 'add'])
    expect([world.router().state, world.installed]).toEqual(['Active', [`${VIP}/32@2`]])
    world.reload([{ ...ROUTER, addresses: [{ address: VIP, label: 'other' }] }])
    expect(
      world.takeCalls().filter((call) => call.includes('remove')),
      'the same again',
    ).toEqual([])
  })
})
