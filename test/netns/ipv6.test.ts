/**
 * The main task over IPv6: three daemons, one address, link-local sources and ff02::12. The assertions use a client that probes every
 * millisecond, an observer that asks for the address every 10 ms, the kernels' tables, and tshark.
 */
import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { Holdfast } from '../../src/lab/daemons/holdfast.ts'
import { ip, shownAddresses } from '../../src/lab/ip.ts'
import { type Host, LAB_VIP, LAB_VIP6, type Lab } from '../../src/lab/lab.ts'
import { eventually, monotonicMs, sleep } from '../../src/lab/wait.ts'
import { Capture } from '../../src/lab/watch/capture.ts'
import { Prober } from '../../src/lab/watch/probe.ts'
import { labOfTest } from '../support/lab-of-test.ts'
import { describeNetns } from '../support/require.ts'
import { INTERVAL, ThreeRouters, WITHIN } from './three-routers.ts'

/** Longest overlap in ms. Two routers may answer for a moment while they meet; a longer overlap is a split brain. */
const OVERLAP = 500
const SILENCE = 1_000
/** Options with real-time priority. An engine without CPU for three intervals rightly sends priority 0; that case is not tested here. */
const IN_TIME = ['--realtime']

const settled = () => ThreeRouters.settled(LAB_VIP6)

/** Returns an address on eth0 as the kernel shows it. */
const shown = (host: Host, address: string) => shownAddresses(host).find(({ local }) => local === address)

function linkLocalOf(host: Host): string {
  const text = ip(host, '-6 -o address show dev eth0 scope link')
  return /inet6 (fe80:[0-9a-f:]+)/.exec(text)?.[1] ?? ''
}

/** Returns one record for each frame that tshark's display filter selects, with the values of the fields. */
function fieldsOf(path: string, filter: string, fields: readonly string[]): string[][] {
  const argv = ['-n', '-r', path, '-Y', filter, '-T', 'fields', ...fields.flatMap((field) => ['-e', field])]
  const text = execFileSync('tshark', argv, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => line.split('\t'))
}

describeNetns('three IPv6 routers', () => {
  test('the best router is elected, and the kernel has the VIP with the right flags and groups', async () => {
    const group = await settled()
    const r1 = group.lab.router(1)
    expect(shown(r1, LAB_VIP6)).toMatchObject({ prefixlen: 128, deprecated: true, nodad: true, noprefixroute: true })
    expect(shown(r1, LAB_VIP6)).not.toHaveProperty('tentative')
    const status = await group.daemon(1).router()
    expect(status).toMatchObject({ family: 'ipv6', source: linkLocalOf(r1), transport: 'multicast ff02::12' })
    expect(await group.sight()).toEqual({ r1: 'Active', r2: 'Backup', r3: 'Backup', holders: ['r1'], client: 'r1' })
    const joined = ip(r1, '-6 maddress show dev eth0')
    expect(joined, 'groups of eth0, one of which is the solicited-node group of the VIP (VR-ND-05)').toContain(
      'ff02::1:ff00:100',
    )
    for (const position of [1, 2, 3]) {
      const { counters } = await group.daemon(position).router()
      expect(counters, `counters of r${position}`).toMatchObject({ warnings: {}, sendFailures: {}, discarded: {} })
    }
  })

  test('the Active sends advertisements from its link-local address with hop limit 255, and announcements at 0, 1 and 2 s', async () => {
    const threeRouters = new ThreeRouters(LAB_VIP6, IN_TIME)
    const capture = await Capture.start(threeRouters.lab, 'wire6', 'ip6 proto 112 or icmp6')
    await threeRouters.start(1, 200)
    await threeRouters.settlesOn(1, 'it started alone')
    const said = () => threeRouters.observer.announcements.map(({ at }) => at)
    await eventually('three announcements', () => said().length >= 3, { sight: said, within: WITHIN, every: 50 })
    // A fourth announcement would have come by then.
    await sleep(1_200)
    await capture.stop()
    const own = linkLocalOf(threeRouters.lab.router(1))
    const sent = fieldsOf(capture.path, 'vrrp', [
      ...['ipv6.src', 'ipv6.dst', 'ipv6.hlim', 'eth.dst', 'vrrp.typever', 'vrrp.virt_rtr_id', 'vrrp.prio'],
      ...['vrrp.ipv6_addr', 'vrrp.checksum.status', '_ws.malformed', '_ws.expert.message'],
    ])
    expect(sent.length).toBeGreaterThan(15)
    const advertisement = [own, 'ff02::12', '255', '33:33:00:00:00:12', '49', '51', '200', LAB_VIP6, '1', '', '']
    expect(
      sent.filter((record) => record.join() !== advertisement.join()),
      'other than expected',
    ).toEqual([])
    const na = `icmpv6.type == 136 && icmpv6.nd.na.target_address == ${LAB_VIP6} && ipv6.dst == ff02::1`
    const announced = fieldsOf(capture.path, na, [
      ...['frame.time_epoch', 'ipv6.src', 'ipv6.hlim', 'icmpv6.nd.na.flag.r', 'icmpv6.nd.na.flag.s'],
      ...['icmpv6.nd.na.flag.o', 'icmpv6.opt.linkaddr', 'eth.src', 'icmpv6.checksum.status', 'eth.dst'],
    ])
    const mac = announced[0]?.[7] ?? ''
    const truth = ['1', 'True', 'true']
    for (const [, source, hops, r = '', s = '', o = '', option, ethernet, checksum, to] of announced) {
      expect([source, hops, option, ethernet, checksum, to]).toEqual([
        LAB_VIP6,
        '255',
        mac,
        mac,
        '1',
        '33:33:00:00:00:01',
      ])
      expect(
        [r, s, o].map((flag) => truth.includes(flag)),
        'R, S and O',
      ).toEqual([true, false, true])
    }
    const [first = 0, ...others] = announced.map(([at]) => Number(at) * 1_000)
    const offsets = others.map((at) => at - first)
    expect(offsets.length, `announcements after the first one, at ${offsets} ms`).toBe(2)
    // RFC 4861 §7.2.6 demands at least a second between two announcements. On a busy machine an announcement comes later, never earlier.
    expect(offsets[0]).toBeGreaterThan(990)
    expect((offsets[1] ?? 0) - (offsets[0] ?? 0)).toBeGreaterThan(900)
    expect(offsets[1], `ms from the first announcement to the third, of ${offsets}`).toBeLessThan(4_000)
  })

  test('a host without a neighbor entry for the address is answered immediately', async () => {
    const group = await settled()
    // The observer uses a socket of its own, so its kernel has no entry for the VIP.
    const observer = group.lab.host('observer')
    const at = monotonicMs()
    const fresh = new Prober(group.lab, observer, LAB_VIP6)
    await fresh.answeredBy('r1', WITHIN)
    expect((fresh.holders[0]?.at ?? 0) - at, 'ms for a process start, neighbour resolution and an answer').toBeLessThan(
      SILENCE,
    )
    const { lost } = await fresh.stop()
    expect(lost, 'probes of the new host without an answer').toBe(0)
  })

  test('after SIGTERM, the client loses no probe and the daemon ends with status 0', async () => {
    const group = await settled()
    await group.longBackup(2, 3)
    const client = new Prober(group.lab, group.lab.client, LAB_VIP6)
    await client.answeredBy('r1', WITHIN)
    const at = group.daemon(1).terminate()
    await group.settlesOn(2, 'r1 got SIGTERM')
    expect(await group.daemon(1).exited).toMatchObject({ code: 0, signal: null })
    await sleep(300)
    const { sent, lost } = await client.stop()
    const story = () => ({
      leftAt: at,
      gaps: client.gaps,
      holders: client.holders,
      announced: group.observer.announcements.filter((each) => each.at >= at),
      answering: group.observer.claims.filter((each) => each.at >= at),
      successor: group.daemon(2).records.map(({ at: loggedAt, msg }) => [loggedAt, msg]),
    })
    expect(lost, `probes lost of ${sent}: ${JSON.stringify(story())}`).toBe(0)
    expect(group.overlapSince(at), 'ms in which two routers answered').toBeLessThan(OVERLAP)
  })

  test('after kill -9 of the engine, its guardian removes the address and the successor takes over', async () => {
    const group = await settled()
    const at = group.daemon(1).killEngine()
    await group.settlesOn(2, 'the engine on r1 was killed')
    expect(await group.daemon(1).exited).toMatchObject({ code: 137 })
    expect(group.overlapSince(at), 'ms in which two routers answered').toBeLessThan(OVERLAP)
    expect(group.prober.longestGap(at, at + WITHIN), 'ms without an answer').toBeLessThan(SILENCE)
  })

  test('after a cut is healed, a client with a cached neighbour entry is still answered', async () => {
    const group = await settled()
    const r1 = group.lab.router(1)
    group.lab.cut(r1)
    await group.answeredBy(2, 'r1 was cut off')
    await sleep(group.splitMs)
    expect(group.lab.holders(LAB_VIP6), 'holders while the LAN is cut: each side has one').toEqual(['r1', 'r2'])
    const at = group.lab.heal(r1)
    await group.settlesOn(1, 'the cut was healed')
    await sleep(300)
    expect(group.prober.longestGap(at, at + WITHIN), 'ms without an answer after the heal').toBeLessThan(SILENCE)
    expect(group.overlapSince(at), 'ms in which two routers answered').toBeLessThan(OVERLAP)
  })

  test("a host without VRRP that has the VIP is noticed by the Active's neighbour solicitation, and the Active stays Active", async () => {
    const group = await settled()
    const client = group.lab.host('observer')
    ip(client, `-6 address add ${LAB_VIP6}/128 dev eth0 nodad`)
    await eventually(
      'r1 to notice that another host answers',
      async () => (await group.daemon(1).router()).counters.competingAnswers > 0,
      { sight: async () => (await group.daemon(1).router()).counters, within: WITHIN },
    )
    expect(await group.daemon(1).state()).toBe('Active')
    ip(client, `-6 address del ${LAB_VIP6}/128 dev eth0`)
  })

  test('a VIP that was removed from the Active by hand is put back and announced, and a VIP that was added to a Backup is removed', async () => {
    const group = await settled()
    const [r1, r2] = [group.lab.router(1), group.lab.router(2)]
    await sleep(2_500)
    const before = group.observer.announcements.length
    const at = monotonicMs()
    ip(r1, `-6 address del ${LAB_VIP6}/128 dev eth0`)
    await group.settlesOn(1, 'its address was removed')
    await sleep(200)
    expect(group.observer.announcements.length).toBeGreaterThan(before)
    expect(group.prober.longestGap(at, monotonicMs()), 'ms without an answer').toBeLessThan(SILENCE)
    ip(r2, `-6 address add ${LAB_VIP6}/128 dev eth0 nodad`)
    await group.settlesOn(1, 'somebody put the address on r2')
    expect((await group.daemon(1).router()).counters.foreignChanges).toEqual({ removed: 1 })
    expect((await group.daemon(2).router()).counters.foreignChanges).toEqual({ added: 1 })
  })

  test('after the interface of the Active went down and up, the router has a link-local address and its groups again', async () => {
    const group = await settled()
    const r1 = group.lab.router(1)
    const at = group.lab.setLink(r1, 'down')
    await group.settlesOn(2, 'eth0 of r1 went down')
    // The kernel removed the IPv6 addresses when the link went down.
    group.lab.setLink(r1, 'up')
    // The route back to the client needs this address. holdfast itself needs only the link-local address that the kernel makes.
    ip(r1, 'address add fd00:77::11/64 dev eth0 nodad')
    await group.settlesOn(1, 'eth0 of r1 came up')
    const since = group
      .daemon(1)
      .records.filter((record) => record.at >= at)
      .map(({ msg }) => msg)
    expect(since, 'log of r1, which received r2 as a Backup and preempted r2').toContain(
      'vip: Backup → Active: the previous Active had a lower priority',
    )
  })
})

/** Creates two hosts whose only IPv6 address is the link-local address that the kernel makes. */
function bareLab(): Lab {
  const lab = labOfTest({ routers: 2 })
  return lab
}

describeNetns('the start and the peers of an IPv6 router', () => {
  const plan = (host: Host, priority: number, address = LAB_VIP6) => ({
    host,
    priority,
    intervalMs: INTERVAL,
    address,
  })

  test('if the interface comes up just before the daemon, the router starts as soon as the link-local address is ready', async () => {
    const network = bareLab()
    const r1 = network.router(1)
    network.setLink(r1, 'down')
    network.setLink(r1, 'up')
    const daemon = new Holdfast(network, plan(r1, 200))
    await eventually('holdfast to answer', async () => (await daemon.snapshot()) !== undefined, {
      sight: () => daemon.lines.slice(-3),
      within: WITHIN,
    })
    // A daemon that starts slowly answers after the address is ready. The reason then names the fault that has ended.
    const begun = await daemon.router()
    if (begun?.state === 'Initialize') expect(begun.faults).toEqual(['sourceAddressMissing'])
    else expect(begun?.reason).toBe('faultCleared')
    const ready = () => linkLocalOf(r1) !== '' && shown(r1, linkLocalOf(r1))?.tentative !== true
    await eventually('the link-local address to be ready', ready, {
      sight: () => linkLocalOf(r1),
      within: WITHIN,
      every: 2,
    })
    const at = monotonicMs()
    await eventually('the router to start', async () => (await daemon.state()) !== 'Initialize', {
      sight: () => daemon.lines.slice(-3),
      within: WITHIN,
      every: 2,
    })
    expect(monotonicMs() - at, 'ms from the ready link-local address to the start of the router').toBeLessThan(800)
    await sleep(1_000)
    expect(await daemon.router()).toMatchObject({ state: 'Active', counters: { sendFailures: {} } })
    expect(
      daemon.records.filter(({ level }) => level >= 50),
      'errors',
    ).toEqual([])
  })

  test('a link-local VIP comes first in the advertisement and is never its source', async () => {
    const network = bareLab()
    const capture = await Capture.start(network, 'linklocal', 'ip6 proto 112')
    const addresses = [LAB_VIP6, 'fe80::51']
    const daemons = [200, 100].map(
      (priority, i) => new Holdfast(network, plan(network.router(i + 1), priority), { addresses }),
    )
    for (const daemon of daemons) await daemon.ready()
    const [first, second] = daemons
    await eventually(
      'r1 alone to hold both',
      () => addresses.every((address) => network.holders(address).join() === 'r1'),
      { sight: () => addresses.map((address) => network.holders(address)), within: WITHIN },
    )
    first?.killEngine()
    await eventually(
      'r2 alone to hold both',
      () => addresses.every((address) => network.holders(address).join() === 'r2'),
      { sight: () => addresses.map((address) => network.holders(address)), within: WITHIN },
    )
    await capture.stop()
    const sent = fieldsOf(capture.path, 'vrrp', ['ipv6.src', 'vrrp.ipv6_addr', 'vrrp.checksum.status'])
    expect([...new Set(sent.map(([, ...rest]) => rest.join()))]).toEqual(['fe80::51,fd00:77::100,1'])
    expect(sent.map(([source]) => source).filter((source) => source === 'fe80::51')).toEqual([])
    expect((await second?.router())?.counters.warnings).toEqual({})
  })

  test('unicast routers fail over with global and with link-local addresses', async () => {
    const network = bareLab()
    const [r1, r2] = [network.router(1), network.router(2)]
    for (const [i, host] of [r1, r2].entries()) ip(host, `address add fd00:77::1${i + 1}/64 dev eth0 nodad`)
    await eventually(
      'link-local addresses',
      () => [r1, r2].every((host) => shown(host, linkLocalOf(host))?.tentative !== true && linkLocalOf(host) !== ''),
      { sight: () => [r1, r2].map(linkLocalOf), within: WITHIN },
    )
    for (const [kind, own] of [
      ['global', [`fd00:77::11`, `fd00:77::12`]],
      ['link-local', [linkLocalOf(r1), linkLocalOf(r2)]],
    ] as const) {
      const capture = await Capture.start(network, `unicast-${kind}`, 'ip6 proto 112')
      const transport = { unicast: { source: 'auto', peers: own } }
      const daemons = [r1, r2].map((host, i) => new Holdfast(network, plan(host, i === 0 ? 200 : 100), { transport }))
      for (const daemon of daemons) await daemon.ready()
      const holders = () => network.holders(LAB_VIP6).join()
      await eventually(`r1 to hold it (${kind})`, () => holders() === 'r1', { sight: holders, within: WITHIN })
      await sleep(500)
      expect(await daemons[1]?.router(), kind).toMatchObject({
        state: 'Backup',
        counters: { discarded: {}, warnings: {} },
      })
      daemons[0]?.terminate()
      await eventually(`r2 to hold it (${kind})`, () => holders() === 'r2', { sight: holders, within: WITHIN })
      for (const daemon of daemons) daemon.terminate()
      await Promise.all(daemons.map(({ exited }) => exited))
      await capture.stop()
      const ends = fieldsOf(capture.path, 'vrrp', ['ipv6.src', 'ipv6.dst', 'ipv6.hlim', 'vrrp.checksum.status'])
      const [a, b] = own
      expect([...new Set(ends.map((record) => record.join()))].sort(), kind).toEqual(
        [`${a},${b},255,1`, `${b},${a},255,1`].sort(),
      )
    }
  })

  test('an IPv4 router and an IPv6 router with one VRID on one interface are independent of each other', async () => {
    const network = bareLab()
    const node = (position: number, v4: number, v6: number) => {
      const router = { vrid: 51, interface: 'eth0', advertisementInterval: `${INTERVAL}ms` }
      const virtualRouters = [
        { ...router, name: 'v4', addresses: [LAB_VIP], priority: v4 },
        { ...router, name: 'v6', addresses: [LAB_VIP6], priority: v6 },
      ]
      return new Holdfast(network, plan(network.router(position), v4, LAB_VIP), {}, [], { virtualRouters })
    }
    const daemons = [node(1, 200, 100), node(2, 100, 200)]
    for (const daemon of daemons) await daemon.ready()
    const holders = () => [LAB_VIP, LAB_VIP6].map((address) => network.holders(address).join())
    await eventually('r1 to hold IPv4 and r2 IPv6', () => holders().join() === 'r1,r2', {
      sight: holders,
      within: WITHIN,
    })
    daemons[0]?.killEngine()
    await eventually('r2 to hold both', () => holders().join() === 'r2,r2', { sight: holders, within: WITHIN })
    const snapshot = await daemons[1]?.status()
    expect(snapshot?.interfaces.map(({ name, family, discarded }) => [name, family, discarded])).toEqual([
      ['eth0', 'ipv4', {}],
      ['eth0', 'ipv6', {}],
    ])
  })
})
