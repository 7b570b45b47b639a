/** Real rtnetlink, seen from outside by ip(8): adding and removing VIPs, and reports about the changes of other programs. */
import { execFileSync } from 'node:child_process'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { AddressStep, NetworkEvent } from '../../src/daemon/ports.ts'
import { cable, makeNamespace, removeAll } from '../../src/lab/cable.ts'
import { ip } from '../../src/lab/ip.ts'
import { address } from '../../src/wire/address.ts'
import { describeNetns } from '../support/require.ts'
import { Agent, until } from './linux-fixture.ts'

const VIP = '198.51.100.200'
const VIP6 = '2001:db8::200'

const step = (action: AddressStep['action'], text: string, prefixLength: number, index = 7): AddressStep => ({
  action,
  interfaceIndex: index,
  address: address(text),
  prefixLength,
})

type Shown = { readonly local: string; readonly prefixlen: number; readonly [flag: string]: unknown }
function shown(namespace: string, text: string): Shown | undefined {
  const list: readonly { readonly addr_info: readonly Shown[] }[] = JSON.parse(ip(namespace, '-json addr'))
  return list.flatMap(({ addr_info }) => addr_info).find(({ local }) => local === text)
}

describeNetns('the addresses and links of src/linux', () => {
  let here = ''
  let agent: Agent

  beforeAll(async () => {
    here = makeNamespace()
    cable(here, makeNamespace())
    agent = new Agent(here)
    await agent.call('watch')
  })
  afterAll(removeAll)
  beforeEach(() => {
    agent.events.length = 0
    agent.failures.length = 0
  })

  const told = (what: string, matches: (event: NetworkEvent) => boolean): Promise<readonly NetworkEvent[]> =>
    until(what, agent.events, (events) => events.some(matches))

  test('an IPv4 VIP is added as /32 without a prefix route, and a repeated addition or removal succeeds', async () => {
    const add = step('add', VIP, 32)
    expect(await agent.call('apply', [add])).toEqual([{ step: add, ok: true, changed: true }])
    expect(await agent.call('apply', [add])).toEqual([{ step: add, ok: true, changed: false }])
    expect(shown(here, VIP)).toMatchObject({ prefixlen: 32, scope: 'global', noprefixroute: true, label: 'eth0' })
    expect(await agent.call('addresses')).toContainEqual({
      interfaceIndex: 7,
      address: VIP,
      prefixLength: 32,
      tentative: false,
      deprecated: false,
      permanent: true,
      flags: 0x280,
      label: 'eth0',
    })

    const remove = step('remove', VIP, 32)
    expect(await agent.call('apply', [remove])).toEqual([{ step: remove, ok: true, changed: true }])
    expect(await agent.call('apply', [remove])).toEqual([{ step: remove, ok: true, changed: false }])
    expect(shown(here, VIP)).toBeUndefined()
  })

  test('an IPv6 VIP is added as /128, is usable immediately and is never a source address', async () => {
    const add = step('add', VIP6, 128)
    expect(await agent.call('apply', [add, add])).toEqual([
      { step: add, ok: true, changed: true },
      { step: add, ok: true, changed: false },
    ])
    const vip = shown(here, VIP6)
    expect(vip).toMatchObject({ prefixlen: 128, noprefixroute: true, nodad: true, deprecated: true })
    expect(vip).not.toHaveProperty('tentative')
    expect(vip).toMatchObject({ preferred_life_time: 0, valid_life_time: 0xffffffff })

    const remove = step('remove', VIP6, 128)
    expect(await agent.call('apply', [remove, remove])).toEqual([
      { step: remove, ok: true, changed: true },
      { step: remove, ok: true, changed: false },
    ])
    expect(shown(here, VIP6)).toBeUndefined()
  })

  test('each step of a batch of changes has its own outcome, and a failed step does not stop the others', async () => {
    const steps = [step('add', VIP, 32), step('add', '198.51.100.201', 32, 4711), step('add', '198.51.100.202', 32)]
    const outcomes = await agent.call('apply', steps)
    expect(outcomes).toMatchObject([
      { ok: true },
      {
        ok: false,
        failure: {
          code: 'ENODEV',
          syscall: 'RTM_NEWADDR',
          message: 'Cannot add 198.51.100.201/32 to interface 4711: interface does not exist',
          retryable: true,
        },
      },
      { ok: true },
    ])
    expect(shown(here, '198.51.100.202')).toBeDefined()
    const off = [step('remove', VIP, 32), step('remove', VIP, 32, 4711), step('remove', '198.51.100.202', 32)]
    expect((await agent.call('apply', off)).map(({ ok }) => ok)).toEqual([true, true, true])
  })

  test('300 VIPs are added in one call and removed in one call', async () => {
    const many = Array.from({ length: 300 }, (_, i) => `10.9.${i >> 8}.${i & 255}`)
    const count = () => ip(here, '-o addr').match(/ 10\.9\.\d+\.\d+\/32 /g)?.length ?? 0
    const on = await agent.call(
      'apply',
      many.map((text) => step('add', text, 32)),
    )
    expect(on.filter(({ ok }) => !ok)).toEqual([])
    expect(count()).toBe(300)
    const off = await agent.call(
      'apply',
      many.map((text) => step('remove', text, 32)),
    )
    expect(off.filter(({ ok }) => !ok)).toEqual([])
    expect(count()).toBe(0)
  })

  test('links() returns name, MAC, MTU and state as ip does', async () => {
    type Row = { ifindex: number; ifname: string; address: string; mtu: number; flags: readonly string[] }
    const rows: readonly Row[] = JSON.parse(ip(here, '-json link'))
    expect(await agent.call('links')).toEqual(
      rows.map(({ ifindex, ifname, address: mac, mtu, flags }) => ({
        index: ifindex,
        name: ifname,
        mac,
        mtu,
        up: flags.includes('UP'),
        running: flags.includes('LOWER_UP'),
      })),
    )
  })

  test('an address that another program removes or adds is reported', async () => {
    await agent.call('apply', [step('add', VIP, 32)])
    await told('our own addition', ({ kind }) => kind === 'addressAdded')
    ip(here, `addr del ${VIP}/32 dev eth0`)
    const present = {
      interfaceIndex: 7,
      address: VIP,
      prefixLength: 32,
      tentative: false,
      deprecated: false,
      permanent: true,
      flags: 0x280,
      label: 'eth0',
    }
    expect(await told('the deletion', ({ kind }) => kind === 'addressRemoved')).toContainEqual({
      kind: 'addressRemoved',
      present,
    })
    ip(here, `addr add ${VIP}/24 dev eth0`)
    await told('the foreign addition', (event) => event.kind === 'addressAdded' && event.present.prefixLength === 24)
    expect(await agent.call('apply', [step('remove', VIP, 24)])).toMatchObject([{ ok: true }])
  })

  test('a link that goes down or up is reported', async () => {
    ip(here, 'link set eth0 down')
    await told('down', (event) => event.kind === 'link' && event.link.index === 7 && !event.link.up)
    agent.events.length = 0
    ip(here, 'link set eth0 up')
    await told('up', (event) => event.kind === 'link' && event.link.index === 7 && event.link.up && event.link.running)
  })

  test('an interface that is deleted and created again under its name is reported with another index', async () => {
    ip(here, 'link add probe0 type veth peer name probe1')
    await told('there', (event) => event.kind === 'link' && event.link.name === 'probe0')
    ip(here, 'link del probe0')
    const events = await told('gone', (event) => event.kind === 'linkGone' && event.name === 'probe0')
    const gone = events.find((event) => event.kind === 'linkGone')
    ip(here, 'link add probe0 type veth peer name probe1')
    await told(
      'back',
      (event) => event.kind === 'link' && event.link.name === 'probe0' && event.link.index !== gone?.index,
    )
    ip(here, 'link del probe0')
  })

  test('a port that leaves its bridge is not reported as deleted', async () => {
    ip(here, 'link add br0 type bridge')
    ip(here, 'link add port0 type veth peer name port1')
    ip(here, 'link set port0 master br0')
    ip(here, 'link set port0 nomaster')
    ip(here, 'link del br0')
    const events = await told('the bridge is gone', (event) => event.kind === 'linkGone' && event.name === 'br0')
    expect(events.filter((event) => event.kind === 'linkGone' && event.name === 'port0')).toEqual([])
    ip(here, 'link del port0')
  })

  test('after an overrun of the netlink queue, the lists of links and addresses are read again and the watch continues', async () => {
    // The agent is stopped while another process makes more changes than the queue (4 MiB, doubled) holds. Each report of a link takes 4 KiB
    // and more, so few changes suffice. Each change waits for a lock that all namespaces of the machine share.
    const lines = Array.from({ length: 4_000 }, (_, i) => `link set dev eth0 alias ${'x'.repeat(200)}${i}`)
    const batch = [...lines, 'addr add 10.8.0.1/32 dev eth0'].join('\n')
    agent.frozen(() => execFileSync('ip', ['-n', here, '-batch', '-'], { input: batch }))
    await told('resync', ({ kind }) => kind === 'resync')
    await until(
      'the list agrees',
      () => agent.call('addresses'),
      (list) => list.some((present) => present.address === '10.8.0.1'),
    )
    ip(here, 'addr del 10.8.0.1/32 dev eth0')
    agent.events.length = 0
    ip(here, `addr add ${VIP}/32 dev eth0`)
    await told('the next change', (event) => event.kind === 'addressAdded' && event.present.address === VIP)
    ip(here, `addr del ${VIP}/32 dev eth0`)
  })

  test('without CAP_NET_ADMIN the error names the capability', async () => {
    const weak = new Agent(here, ['setpriv', '--bounding-set', '-net_admin', '--inh-caps', '-net_admin'])
    expect(await weak.call('apply', [step('add', VIP, 32)])).toMatchObject([
      {
        ok: false,
        failure: {
          code: 'EPERM',
          message: `Cannot add ${VIP}/32 to "eth0": CAP_NET_ADMIN is missing`,
          retryable: false,
        },
      },
    ])
    weak.stop()
  })
})
