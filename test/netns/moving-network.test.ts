/**
 * A network that changes under a running daemon. Interfaces appear late, disappear, return with another index, or join a bridge. Addresses,
 * MAC and MTU change, and a program removes the VIP repeatedly. The daemon never exits. If a router cannot go on, another router takes
 * over, and the first router returns by itself. Assertions use a client that probes every millisecond, an observer that asks for the
 * address every 10 ms, and the kernels.
 */
import { expect, test } from 'vitest'
import { ip, linkOf, linksOf, type ShownLink } from '../../src/lab/ip.ts'
import { type Host, LAB_VIP, LAB_VIP6, type Lab } from '../../src/lab/lab.ts'
import { eventually, monotonicMs, sleep } from '../../src/lab/wait.ts'
import { ArpObserver } from '../../src/lab/watch/arp-observer.ts'
import { judgeTime } from '../judge/time.ts'
import { removeRepeatedly } from '../support/removed-again.ts'
import { describeNetns } from '../support/require.ts'
import { PRIORITIES, ThreeRouters, WITHIN } from './three-routers.ts'

/** Longest overlap in ms. Two routers may answer for a moment while they meet; a longer overlap is a split brain. */
const OVERLAP = 500
/**
 * Limit in ms. The daemon reacts within 100 ms; the rest is for the process starts of the test and a busy machine. A daemon that ignores
 * the kernel's notifications never reacts, or reacts at its next announcement after 5 s.
 */
const REACTION = 1_000

/** Log text of a router that takes over although it receives another router. The text shows that its socket is in the group. */
const HEARD = 'vip: Backup → Active: the previous Active had a lower priority'

/** Replaces the cable of a host by a new one, with another index at both ends. */
function rewire(lab: Lab, host: Host): void {
  ip(lab.bridge, `link add ${host.port} type veth peer name eth0 netns ${host.namespace}`)
  ip(lab.bridge, `link set ${host.port} master br0 up`)
  ip(host, `address add ${host.address}/24 dev eth0`, 'link set eth0 up')
}

const indexOf = (host: Host, name: string): number => linkOf(host, name).ifindex

/** Returns the interfaces of the host that have the address. */
function interfacesWith(host: Host, address: string): string[] {
  const has = ({ addr_info = [] }: ShownLink) => addr_info.some(({ local }) => local === address)
  return linksOf(host)
    .filter(has)
    .map(({ ifname }) => ifname)
}

async function settled(...options: Parameters<typeof ThreeRouters.settled>) {
  const group = await ThreeRouters.settled(...options)
  return { group, lab: group.lab, r1: group.lab.router(1) }
}

const faultsOf = async (group: ThreeRouters, position: number) => (await group.daemon(position).router()).faults

function faulted(group: ThreeRouters, position: number, fault: string): Promise<true> {
  return eventually(`r${position} to say ${fault}`, async () => (await faultsOf(group, position)).includes(fault), {
    sight: () => faultsOf(group, position),
    within: WITHIN,
  })
}

/** Returns the time of the first such log line at or after `since`. */
async function logged(group: ThreeRouters, position: number, message: string, since: number): Promise<number> {
  const found = () => group.daemon(position).records.find(({ msg, at }) => at >= since && msg === message)
  const seen = () => group.daemon(position).records.slice(-5)
  return (await eventually(`r${position} to log "${message}"`, found, { sight: seen, within: WITHIN })).at
}

function intact(group: ThreeRouters, since: number): void {
  judgeTime('ms in which two routers answered', group.overlapSince(since), OVERLAP, 'docs/failures.md')
  for (const position of PRIORITIES.keys())
    expect(
      group.daemon(position + 1).process.exit,
      `exit of the daemon on r${position + 1}, which must still run`,
    ).toBeUndefined()
}

describeNetns('the interface of a router', () => {
  test('may be missing at the start, and the daemon waits for it', async () => {
    const threeRouters = new ThreeRouters()
    const { lab } = threeRouters
    const r1 = lab.router(1)
    ip(r1, 'link delete eth0')
    await threeRouters.start(2, 150)
    await threeRouters.answeredBy(2, 'it started alone')
    const daemon = await threeRouters.launch(1, 200)
    await faulted(threeRouters, 1, 'interfaceMissing')
    rewire(lab, r1)
    const at = monotonicMs()
    const took = (await logged(threeRouters, 1, 'vip: Initialize → Backup: its fault is gone', 0)) - at
    judgeTime('ms from the new interface to Backup', took, REACTION, 'docs/failures.md')
    await threeRouters.settlesOn(1, 'its interface appeared')
    expect(daemon.process.exit).toBeUndefined()
  })

  test('may be deleted and created again with another index, and the router joins its group on the new interface', async () => {
    const { group, lab, r1 } = await settled()
    const before = indexOf(r1, 'eth0')
    const at = monotonicMs()
    ip(r1, 'link delete eth0')
    await group.answeredBy(2, 'eth0 of r1 was deleted')
    expect(await faultsOf(group, 1)).toEqual(['interfaceMissing'])
    rewire(lab, r1)
    await group.settlesOn(1, 'eth0 of r1 was made again')
    expect(indexOf(r1, 'eth0')).not.toBe(before)
    await logged(group, 1, HEARD, at)
    intact(group, at)
  })

  test('may join a bridge that gets its address, and a router with interface `auto` follows to the bridge', async () => {
    const { group, r1 } = await settled(LAB_VIP, { interface: 'auto' })
    const at = monotonicMs()
    ip(
      r1,
      'link add br-ex type bridge stp_state 0 forward_delay 0 mcast_snooping 0',
      'link set br-ex up',
      'link set eth0 master br-ex',
      `address del ${r1.address}/24 dev eth0`,
    )
    await group.answeredBy(2, 'eth0 of r1 lost its address')
    expect(interfacesWith(r1, LAB_VIP)).toEqual([])
    ip(r1, `address add ${r1.address}/24 dev br-ex`)
    await group.answeredBy(1, 'its address moved to br-ex')
    expect([interfacesWith(r1, LAB_VIP), (await group.daemon(1).router()).interface]).toEqual([['br-ex'], 'br-ex'])
    intact(group, at)
  })

  test('may join a bridge that already has its address, and the VIP moves to the bridge without a new election', async () => {
    const { group, r1 } = await settled(LAB_VIP, { interface: 'auto' })
    await sleep(300)
    const { transitions } = (await group.daemon(1).router()).counters
    const at = monotonicMs()
    // The steps of a careful operator: the node has its address at every moment.
    ip(
      r1,
      'link add br-ex type bridge stp_state 0 forward_delay 0 mcast_snooping 0',
      'link set br-ex up',
      `address add ${r1.address}/24 dev br-ex`,
      'link set eth0 master br-ex',
      `address del ${r1.address}/24 dev eth0`,
    )
    await group.answeredBy(1, 'its address moved to br-ex')
    await eventually('the VIP on br-ex alone', () => interfacesWith(r1, LAB_VIP).join() === 'br-ex', {
      sight: () => interfacesWith(r1, LAB_VIP),
      within: WITHIN,
    })
    await sleep(500)
    expect((await group.daemon(1).router()).counters.transitions, 'transitions of r1').toEqual(transitions)
    judgeTime('ms without an answer', group.prober.longestGap(at, monotonicMs()), REACTION, 'docs/failures.md')
    intact(group, at)
  })

  test('may become a port of a bridge and keep its address, and a Backup that then receives nothing does not take over', async () => {
    const { group, lab } = await settled()
    const r2 = lab.router(2)
    const at = monotonicMs()
    ip(
      r2,
      'link add br-ex type bridge stp_state 0 forward_delay 0 mcast_snooping 0',
      'link set br-ex up',
      'link set eth0 master br-ex',
    )
    await faulted(group, 2, 'interfaceIsPort')
    await sleep(3_000)
    expect(interfacesWith(r2, LAB_VIP)).toEqual([])
    ip(r2, 'link set eth0 nomaster')
    await logged(group, 2, 'vip: Initialize → Backup: its fault is gone', at)
    await sleep(2_000)
    expect(interfacesWith(r2, LAB_VIP)).toEqual([])
    intact(group, at)
  })

  test('may get another MAC, which is announced, so that a client with a cached entry still gets answers', async () => {
    const { group, r1 } = await settled()
    await sleep(1_000)
    const at = monotonicMs()
    ip(r1, 'link set dev eth0 address 02:00:5e:77:00:99')
    await sleep(1_000)
    const said = group.observer.announcements.filter((each) => each.at >= at).map(({ mac }) => mac)
    expect(said.slice(0, 3)).toEqual(Array(3).fill('02:00:5e:77:00:99'))
    judgeTime('ms without an answer', group.prober.longestGap(at, monotonicMs()), REACTION, 'docs/failures.md')
    expect(await group.sight()).toEqual({ r1: 'Active', r2: 'Backup', r3: 'Backup', holders: ['r1'], client: 'r1' })
    intact(group, at)
  })

  test('may get an MTU that is too small for the advertisement, which is a fault until the MTU is raised', async () => {
    // The packet has 20 octets of IP, 8 of VRRP and 4 for each of 201 addresses.
    const addresses = [LAB_VIP, ...Array.from({ length: 200 }, (_, i) => `10.77.1.${i + 1}`)]
    const { group, r1 } = await settled(LAB_VIP, { addresses })
    const at = monotonicMs()
    ip(r1, 'link set dev eth0 mtu 832')
    await sleep(300)
    expect(await faultsOf(group, 1), 'it just fits').toEqual([])
    ip(r1, 'link set dev eth0 mtu 831')
    await faulted(group, 1, 'messageTooLarge')
    await group.settlesOn(2, 'the MTU of r1 was lowered')
    ip(r1, 'link set dev eth0 mtu 1500')
    await group.settlesOn(1, 'the MTU of r1 was raised')
    intact(group, at)
  })
})

describeNetns('addresses that other programs change', () => {
  test('a VIP that was removed by hand is put back and announced, and the log names another program as the cause', async () => {
    const { group, r1 } = await settled()
    await sleep(1_000)
    for (let round = 1; round <= 5; round++) {
      const at = monotonicMs()
      ip(r1, `address del ${LAB_VIP}/32 dev eth0`)
      await sleep(400)
      expect(group.lab.holders(LAB_VIP)).toEqual(['r1'])
      const gap = group.prober.longestGap(at, monotonicMs())
      judgeTime(`ms without an answer, round ${round}`, gap, REACTION, 'docs/failures.md')
      const announced = group.observer.announcements.filter((each) => each.at >= at)
      expect(announced.length, `announcements after removal ${round} of the VIP`).toBeGreaterThanOrEqual(3)
    }
    const { counters, restorationsPaused } = await group.daemon(1).router()
    expect([counters.foreignChanges, restorationsPaused]).toEqual([{ removed: 5 }, null])
    const told = group.daemon(1).records.find(({ change }) => change === 'removed')
    expect(told).toMatchObject({ interface: 'eth0', address: LAB_VIP, prefixLength: 32, state: 'Active' })
  })

  test('if the primary address is replaced, the client sees no gap, and the other routers receive the new source', async () => {
    const { group, r1 } = await settled()
    await sleep(500)
    const at = monotonicMs()
    // The new address has another prefix. In the same network, it would be a secondary address that goes with its primary address.
    ip(r1, 'address add 10.77.0.61/25 dev eth0')
    ip(r1, `address del ${r1.address}/24 dev eth0`)
    await eventually(
      'r2 to hear the new source',
      async () => (await group.daemon(2).router()).holder.address === '10.77.0.61',
      { sight: async () => (await group.daemon(2).router()).holder, within: WITHIN },
    )
    await sleep(500)
    expect(await group.sight()).toEqual({ r1: 'Active', r2: 'Backup', r3: 'Backup', holders: ['r1'], client: 'r1' })
    expect(
      group.prober.gaps.filter(({ to }) => to >= at),
      'gaps that the client saw',
    ).toEqual([])
    intact(group, at)
  })

  test('if the primary address is removed, another router takes over, and the first one returns with its address', async () => {
    const { group, r1 } = await settled()
    const at = monotonicMs()
    ip(r1, `address del ${r1.address}/24 dev eth0`)
    await faulted(group, 1, 'sourceAddressMissing')
    await group.settlesOn(2, 'r1 lost its address')
    ip(r1, `address add ${r1.address}/24 dev eth0`)
    const back = monotonicMs()
    const took = (await logged(group, 1, 'vip: Initialize → Backup: its fault is gone', at)) - back
    judgeTime('ms from the address to Backup', took, REACTION, 'docs/failures.md')
    await group.settlesOn(1, 'its address was back')
    intact(group, at)
  })

  test('a unicast router whose link was down announces its own address once (VR-UC-08)', async () => {
    const peers = PRIORITIES.map((_, i) => `10.77.0.${11 + i}`)
    const { group, lab, r1 } = await settled(LAB_VIP, { transport: { unicast: { source: 'auto', peers } } })
    const observer = new ArpObserver(lab, lab.host('observer'), r1.address)
    const at = monotonicMs()
    ip(r1, 'link set eth0 down')
    await group.settlesOn(2, 'the link of r1 was down')
    ip(r1, 'link set eth0 up')
    await group.settlesOn(1, 'the link of r1 was up again')
    await sleep(300)
    await observer.stop()
    expect(observer.announcements, `announcements of ${r1.address}`).toHaveLength(1)
    intact(group, at)
  })

  test('a router whose interface is flushed waits for an address, and returns with it', async () => {
    const { group, r1 } = await settled()
    const at = monotonicMs()
    ip(r1, 'address flush dev eth0')
    await group.settlesOn(2, 'eth0 of r1 was flushed')
    expect(await faultsOf(group, 1)).toEqual(['sourceAddressMissing'])
    ip(r1, `address add ${r1.address}/24 dev eth0`)
    await group.settlesOn(1, 'its address was back')
    intact(group, at)
  })

  test('if a program removes the VIP repeatedly, the router resigns with a log line, and returns after the removals end', async () => {
    const { group, lab, r1 } = await settled()
    const at = monotonicMs()
    const stop = removeRepeatedly(lab, r1)
    await faulted(group, 1, 'restorationsPaused')
    await group.answeredBy(2, 'r1 resigned')
    expect(
      group
        .daemon(1)
        .records.filter(({ level }) => level >= 50)
        .map(({ msg }) => msg),
    ).toEqual([
      `vip: ${LAB_VIP} was removed more than 30 times in a minute by another program: the router gives its addresses up for a while`,
    ])
    stop()
    await group.settlesOn(1, 'nobody removed the address any more')
    expect((await group.daemon(1).router()).restorationsPaused).toBeNull()
    intact(group, at)
  })
})

describeNetns('IPv6 that is turned off and on again on the interface', () => {
  const route = (host: Host) => ip(host, `address add fd00:77::${host.address.split('.')[3]}/64 dev eth0 nodad`)

  test.each([
    [
      'by an MTU below 1280',
      ['ip', 'link', 'set', 'dev', 'eth0', 'mtu', '1279'],
      ['ip', 'link', 'set', 'dev', 'eth0', 'mtu', '1500'],
    ],
    ['by sysctl', sysctl(1), sysctl(0)],
  ])('%s: the group is joined again', async (_, off, on) => {
    const { group, lab, r1 } = await settled(LAB_VIP6)
    const at = monotonicMs()
    lab.exec(r1, off)
    await group.answeredBy(2, 'IPv6 was turned off on r1')
    lab.exec(r1, on)
    // The node's own route leads back to the client. holdfast waits only for the link-local address that the kernel makes.
    route(r1)
    await group.settlesOn(1, 'IPv6 was turned on again on r1')
    await logged(group, 1, HEARD, at)
    intact(group, at)
  })
})

function sysctl(value: 0 | 1): string[] {
  return ['sh', '-c', `echo ${value} >/proc/sys/net/ipv6/conf/eth0/disable_ipv6`]
}
