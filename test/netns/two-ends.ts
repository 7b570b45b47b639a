/**
 * Provides two namespaces on one wire with an agent in each, and the contract that both backends of the socket port
 * must meet. The contract covers the own source, a link that goes down and comes up, a packet filter that refuses, and
 * a missing capability. This file does not know what only one backend can do (linux-sockets.test.ts,
 * raw-socket.test.ts).
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { cable, makeNamespace, removeAll } from '../../src/lab/cable.ts'
import { ip, nft } from '../../src/lab/ip.ts'
import { type Address, address, type Family } from '../../src/wire/address.ts'
import { Agent, type AgentPacket, until } from './linux-fixture.ts'

export const GROUP: Record<Family, Address> = { ipv4: address('224.0.0.18'), ipv6: address('ff02::12') }
export const LEFT: Record<Family, Address> = { ipv4: address('198.51.100.1'), ipv6: address('fe80::1') }
export const RIGHT: Record<Family, Address> = { ipv4: address('198.51.100.2'), ipv6: address('fe80::2') }
/** Interface that cable() creates on both sides. */
export const ETH = { interfaceIndex: 7, interfaceName: 'eth0' }
const BYTES = '31330102030405060708090a'

export type Ends = { here: string; there: string; left: Agent; right: Agent }

/**
 * Returns the two ends, which get their values before the first test. `wrap` is the command that starts the left agent. Must be called
 * inside a describe.
 */
export function twoEnds(wrap: readonly string[] = []): Ends {
  const ends = { here: '', there: '' }
  const agents: { left?: Agent; right?: Agent } = {}
  const started = (agent: Agent | undefined): Agent => {
    if (agent === undefined) throw new Error('Cannot use the agent before the first test')
    return agent
  }
  beforeAll(() => {
    ends.here = makeNamespace()
    ends.there = makeNamespace()
    cable(ends.here, ends.there)
    agents.left = new Agent(ends.here, wrap)
    agents.right = new Agent(ends.there)
  })
  afterAll(removeAll)
  return {
    get here() {
      return ends.here
    },
    get there() {
      return ends.there
    },
    get left() {
      return started(agents.left)
    },
    get right() {
      return started(agents.right)
    },
  }
}

export const open = (agent: Agent, family: Family, source: Address, group?: Address): Promise<number> =>
  agent.open({ ...ETH, family, source, ...(group === undefined ? {} : { group }) })

/** Drains until `count` packets have arrived. `now` in the returned record is the time of the last drain. */
export async function received(agent: Agent, socket: number, count = 1) {
  const kept: AgentPacket[] = []
  const drain = async () => {
    const drained = await agent.call('drain', socket, 4)
    kept.push(...drained.kept)
    return drained.now
  }
  const now = await until(`${count} packets`, drain, () => kept.length >= count)
  return { kept, now }
}

/** Declares the tests. `sends` is the system call in the error of a failed sending. The right end always uses the addon. */
export function socketContract(ends: Ends, { wrap, sends }: { wrap: readonly string[]; sends: string }): void {
  const datagram = { destination: GROUP.ipv4, bytes: BYTES }

  test.each([
    ['ipv4', '198.51.100.77', '198.51.100.77/24'],
    ['ipv6', 'fe80::77', 'fe80::77/64'],
  ] as const)('%s: the source is the one asked for, with several on the interface', async (family, second, prefix) => {
    const { here, left, right } = ends
    ip(here, `addr add ${prefix} dev eth0`)
    const receiver = await open(right, family, RIGHT[family], GROUP[family])
    // The kernel would choose one of the two sources by itself. To show this, one of the two sockets must use the other
    // source.
    const senders = await Promise.all([LEFT[family], address(second)].map((source) => open(left, family, source)))
    const datagrams = [GROUP[family], RIGHT[family]].map((destination) => ({ destination, bytes: BYTES }))
    for (const sender of senders) await left.call('send', sender, datagrams)
    const { kept } = await received(right, receiver, 4)
    expect(kept.map(({ source }) => source)).toEqual([LEFT[family], LEFT[family], second, second])
    ip(here, `addr del ${prefix} dev eth0`)
  })

  test('sending on a link that is down fails as a value, and the same socket works in both directions when the link is up again', async () => {
    const { here, left, right } = ends
    const ours = await open(left, 'ipv4', LEFT.ipv4, GROUP.ipv4)
    const theirs = await open(right, 'ipv4', RIGHT.ipv4, GROUP.ipv4)
    ip(here, 'link set eth0 down')
    const [outcome] = await left.call('send', ours, [datagram])
    expect(outcome).toMatchObject({ ok: false, failure: { syscall: sends, retryable: true } })
    ip(here, 'link set eth0 up')
    await until(
      'sending works',
      () => left.call('send', ours, [datagram]),
      ([again]) => again?.ok === true,
    )
    await received(right, theirs)
    // A packet in the other direction shows that the end that was down is in its group again.
    await right.call('send', theirs, [datagram])
    await received(left, ours)
    ip(here, 'addr replace fe80::1/64 dev eth0 nodad')
  })

  test('a packet filter that refuses a packet causes a failure that counts as temporary', async () => {
    const { here, left } = ends
    const sender = await open(left, 'ipv4', LEFT.ipv4, GROUP.ipv4)
    const rules = ['add table ip t', 'add chain ip t out { type filter hook output priority 0; }']
    nft(here, [...rules, 'add rule ip t out ip protocol 112 drop'].join('; '))
    const message = 'Cannot send to 224.0.0.18 on "eth0": refused by a packet filter'
    expect(await left.call('send', sender, [datagram])).toMatchObject([
      { ok: false, failure: { code: 'EPERM', message, retryable: true } },
    ])
    nft(here, 'delete table ip t')
    expect(await left.call('send', sender, [datagram])).toEqual([{ ok: true }])
  })

  test('without CAP_NET_RAW the failure names the capability', async () => {
    const weak = new Agent(ends.here, [...wrap, 'setpriv', '--bounding-set', '-net_raw', '--inh-caps', '-net_raw'])
    const message = 'Cannot open a raw socket: CAP_NET_RAW is missing'
    const options = { ...ETH, family: 'ipv4', source: LEFT.ipv4, group: GROUP.ipv4 } as const
    expect(await weak.call('openAdvert', options)).toMatchObject({
      failure: { code: 'EPERM', retryable: false, message },
    })
    weak.stop()
  })
}
