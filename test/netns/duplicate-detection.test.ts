/**
 * Another host has the address, on a real LAN: a station that got the address by `ip address add`, or a router that does not receive the
 * other router's advertisements. The tests judge the client's neighbour entry, the kernels' tables, tshark and an observer. In normal
 * operation, no host may be reported as a duplicate (docs/adr/0018).
 */
import { execFileSync } from 'node:child_process'
import { describe, expect, type TestContext } from 'vitest'
import { type Extra, Holdfast } from '../../src/lab/daemons/holdfast.ts'
import { ip, macOf, nft } from '../../src/lab/ip.ts'
import { createLab, type Host, LAB_VIP, LAB_VIP6, type Lab } from '../../src/lab/lab.ts'
import { eventually, monotonicMs, sleep } from '../../src/lab/wait.ts'
import { ArpObserver } from '../../src/lab/watch/arp-observer.ts'
import { Capture } from '../../src/lab/watch/capture.ts'
import { Prober, startResponder } from '../../src/lab/watch/probe.ts'
import { describeNetns } from '../support/require.ts'
import { Turns } from '../support/turns.ts'
import { INTERVAL, PRIORITIES, ThreeRouters } from './three-routers.ts'

/**
 * Interval in ms of a lone router. An Active without CPU for three intervals removes its addresses and announces them again (ground rule
 * 3). On a machine with two busy cores, that happens at 100 ms.
 */
const STEADY = 1_000
/**
 * Limit in ms until a duplicate is found: a second with jitter, the next advertisement and two steps are 2.5 s. The rest is for a machine
 * with two busy cores.
 */
const FOUND_WITHIN = 5_000
/** Limit in ms until a duplicate that is gone is forgotten: four searches. */
const GONE_WITHIN = 8_000

/** Turns of the tests; each test waits on a LAN of its own. */
const turns = new Turns(5)

const FAMILIES = [
  ['IPv4', LAB_VIP],
  ['IPv6', LAB_VIP6],
] as const

const change = (action: 'add' | 'delete', host: Host, vip: string) => {
  const [length, flags] = vip.includes(':') ? [128, action === 'add' ? ' nodad' : ''] : [32, '']
  ip(host, `address ${action} ${vip}/${length} dev eth0${flags}`)
}
const duplicatesOf = async (daemon: Holdfast) => (await daemon.router()).duplicates
/** Returns the log lines that may explain why a duplicate was forgotten. */
const changesOf = (daemon: Holdfast) => daemon.records.flatMap(({ msg, to }) => (to === undefined ? [] : [msg]))
const told = (daemon: Holdfast) => daemon.records.filter(({ msg }) => msg.includes('duplicate holder'))

type Scene = {
  readonly lab: Lab
  readonly vip: string
  readonly router: Host
  readonly daemon: Holdfast
  readonly station: Host
  readonly prober: Prober
  readonly observer: ArpObserver
}

/** Creates one router that is Active and has finished its own announcements, and a station without VRRP. */
async function scene({ onTestFinished }: TestContext, vip: string, extra: Extra = {}): Promise<Scene> {
  const built = createLab({ routers: 1, clients: ['client', 'observer', 'station'], ipv6: vip.includes(':') })
  onTestFinished(() => built.destroy())
  const [router, station] = [built.router(1), built.host('station')]
  for (const host of [router, station]) startResponder(built, host)
  const daemon = new Holdfast(built, { host: router, priority: 200, intervalMs: STEADY, address: vip }, extra)
  await daemon.ready()
  const prober = new Prober(built, built.client, vip)
  const observer = new ArpObserver(built, built.host('observer'), vip)
  await prober.answeredBy('r1', 5_000)
  return { lab: built, vip, router, daemon, station, prober, observer }
}

/** Gives the station the address, and makes the client ask for the address while the station answers. */
function intrude({ lab: { client }, vip, station }: Scene): number {
  change('add', station, vip)
  const at = monotonicMs()
  ip(client, `neigh replace ${vip} lladdr ${macOf(station)} dev eth0 nud reachable`)
  return at
}

async function found({ daemon, vip, station }: Scene, at: number): Promise<number> {
  const mac = macOf(station)
  const isThere = async () => (await duplicatesOf(daemon)).some((one) => one.address === vip && one.mac === mac)
  await eventually(`r1 to find that ${mac} has ${vip}`, isThere, { sight: () => daemon.router(), within: FOUND_WITHIN })
  // A log line and the status arrive by different ways.
  const first = await eventually('it to be in the log', () => told(daemon)[0], {
    sight: () => daemon.lines.slice(-3),
    within: 1_000,
  })
  expect(first).toMatchObject({ address: vip, mac })
  return first.at - at
}

/** Returns the sources of the frames in which r1 asks for the address. */
function questionsIn(capture: Capture, mac: string, vip: string): string[] {
  const [filter, field] = vip.includes(':')
    ? [`icmpv6.nd.ns.target_address == ${vip}`, 'ipv6.src']
    : [`arp.opcode == 1 && arp.dst.proto_ipv4 == ${vip} && arp.src.proto_ipv4 != ${vip}`, 'arp.src.proto_ipv4']
  const argv = ['-n', '-r', capture.path, '-Y', `eth.src == ${mac} && ${filter}`, '-T', 'fields', '-e', field]
  return execFileSync('tshark', argv, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
    .split('\n')
    .filter(Boolean)
}

describeNetns('a station that also has the address', () => {
  describe.each(FAMILIES)('%s', (_, vip) => {
    turns.test(
      "is found and named, and the client gets the Active's MAC back, and the report ends when the station is gone",
      async (context) => {
        // Only duplicate detection asks here. The question before an advertisement (a peer check) would find a VRRP router on real hardware,
        // and every host on veth.
        const group = await scene(context, vip, { probeRivals: false })
        const { daemon, prober, router } = group
        const capture = await Capture.start(group.lab, 'radar', 'arp or icmp6')
        const at = intrude(group)
        await eventually('the client to be misled', () => prober.movedFrom('r1', at), {
          sight: () => prober.holders,
          within: 1_000,
        })
        const took = await found(group, at)
        expect(took, 'ms until the duplicate was found').toBeLessThan(FOUND_WITHIN)
        await prober.answeredBy('r1', 2_000)
        change('delete', group.station, vip)
        const isOver = async () => (await duplicatesOf(daemon)).length === 0
        await eventually('nobody to be a duplicate', isOver, { sight: () => daemon.router(), within: GONE_WITHIN })
        await eventually('its end to be in the log', () => told(daemon).length > 1, {
          sight: () => told(daemon),
          within: 1_000,
        })
        expect(told(daemon).map(({ msg }) => msg)).toEqual([
          `vip: duplicate holder: ${macOf(group.station)} (no VRRP heard from it) has ${vip} as well: gratuitous ARP or NA sent again`,
          `vip: duplicate holder ${macOf(group.station)} no longer answers for ${vip}`,
        ])
        expect([await daemon.state(), prober.holder]).toEqual(['Active', 'r1'])
        await capture.stop()
        const asked = questionsIn(capture, macOf(router), vip)
        expect(asked.length, 'questions of r1 for the address').toBeGreaterThan(3)
        const sources = new Set(asked)
        if (vip.includes(':')) expect([...sources]).toEqual([expect.stringMatching(/^fe80:/)])
        else expect([...sources]).toEqual(['0.0.0.0'])
      },
    )

    const answers = [
      ['alarm: is told of, and nothing is sent', true],
      ['allowed: is none', false],
    ] as const
    const passive = async (context: TestContext, isTold: boolean) => {
      const mac = '02:00:5e:10:00:07'
      const other = await scene(context, vip, {
        announce: { at: ['0ms'], refresh: false },
        ...(isTold ? { onDuplicate: 'alarm' } : { duplicateAllowed: [mac] }),
      })
      ip(other.station, `link set eth0 address ${mac}`)
      await sleep(500)
      const at = intrude(other)
      if (isTold) await found(other, at)
      else await sleep(FOUND_WITHIN)
      await sleep(500)
      expect(
        (await duplicatesOf(other.daemon)).map((one) => one.mac),
        `${changesOf(other.daemon)}`,
      ).toEqual(isTold ? [mac] : [])
      const { counters } = await other.daemon.router()
      expect(counters.competingAnswers > 0).toBe(isTold)
      const announced = other.observer.announcements.filter((one) => one.at >= at)
      expect(announced, `announcements of r1 after ${changesOf(other.daemon)}`).toEqual([])
      expect(other.prober.holder, 'host that answers the client').toBe('station')
      expect(
        told(other.daemon).map(({ msg }) => msg),
        'log lines',
      ).toHaveLength(isTold ? 1 : 0)
    }
    for (const [name, isTold] of answers) turns.test(name, (context) => passive(context, isTold))
  })
})

/** Rules that drop received advertisements; ARP packets pass. */
const DEAF =
  'table ip cut {\n chain arriving {\n type filter hook prerouting priority -300\n ip protocol 112 drop\n }\n }\n'

describeNetns('two routers that do not receive each other', () => {
  turns.test(
    'with onDuplicate yield, the loser gives the address up, does not flap, and is Backup when the advertisements arrive again',
    async (context) => {
      const pair = createLab({ routers: 2 })
      context.onTestFinished(() => pair.destroy())
      for (const host of pair.routers) startResponder(pair, host)
      const prober = new Prober(pair, pair.client, LAB_VIP)
      const start = (position: number, priority: number) =>
        new Holdfast(
          pair,
          { host: pair.router(position), priority, intervalMs: INTERVAL, address: LAB_VIP },
          {
            onDuplicate: 'yield',
          },
        )
      const [winner, loser] = [start(1, 200), start(2, 100)]
      const sight = async () => ({ r1: await winner.state(), r2: await loser.state(), holders: pair.holders(LAB_VIP) })
      const become = (states: string, holders: string, within: number) =>
        eventually(
          `${states}, held by ${holders}`,
          async () => {
            const seen = await sight()
            return `${seen.r1} ${seen.r2}` === states && seen.holders.join() === holders
          },
          { sight, within },
        )
      await Promise.all([winner.ready(), loser.ready()])
      await become('Active Backup', 'r1', 5_000)
      for (const host of pair.routers) nft(host, DEAF)
      await become('Active Active', 'r1,r2', 3_000)
      const split = monotonicMs()
      await become('Active Initialize', 'r1', FOUND_WITHIN)
      const first = await eventually('the loser to log it', () => told(loser)[0], {
        sight: () => loser.lines.slice(-3),
        within: 1_000,
      })
      const took = first.at - split
      expect(took, 'ms until the loser found the duplicate').toBeLessThan(FOUND_WITHIN)
      expect((await loser.router()).faults).toEqual(['duplicateHolder'])
      expect(first).toMatchObject({ peer: pair.router(1).address, onDuplicate: 'yield' })
      const since = monotonicMs()
      await sleep(8_000)
      const later = loser.records.filter((record) => record.at > since && record.to !== undefined)
      expect(
        later.map(({ msg }) => msg),
        'transitions of the loser while the cut lasts',
      ).toEqual([])
      expect([await sight(), prober.holder]).toEqual([{ r1: 'Active', r2: 'Initialize', holders: ['r1'] }, 'r1'])
      for (const host of pair.routers) nft(host, 'flush ruleset')
      await become('Active Backup', 'r1', 3_000)
      expect([(await loser.router()).faults, (await loser.router()).holder.address]).toEqual([
        [],
        pair.router(1).address,
      ])
    },
  )
})

describeNetns('three routers in normal operation', () => {
  const endures = async ({ onTestFinished }: TestContext, vip: string) => {
    const threeRouters = await ThreeRouters.settled(vip, {}, onTestFinished)
    const [first] = PRIORITIES
    const r1 = threeRouters.lab.router(1)
    const everybody: Holdfast[] = [1, 2, 3].map((position) => threeRouters.daemon(position))
    const again = async () => everybody.push(await threeRouters.start(1, first))

    threeRouters.daemon(1).terminate()
    await threeRouters.settlesOn(2, 'r1 has left')
    await threeRouters.daemon(1).exited
    await sleep(1_500)
    await again()
    await threeRouters.settlesOn(1, 'r1 is back')
    await sleep(1_500)

    threeRouters.daemon(1).killEngine()
    await threeRouters.settlesOn(2, 'the engine of r1 was killed')
    await threeRouters.daemon(1).exited
    await sleep(1_500)
    await again()
    await threeRouters.settlesOn(1, 'r1 is back')

    threeRouters.lab.cut(r1)
    await threeRouters.holdersBecome(['r1', 'r2'], 'r1 was cut off')
    await sleep(1_500)
    threeRouters.lab.heal(r1)
    await threeRouters.settlesOn(1, 'it was healed')
    await sleep(1_500)

    threeRouters.lab.cut(r1)
    threeRouters.daemon(1).killAll()
    await threeRouters.daemon(1).exited
    if (threeRouters.lab.holders(vip).includes('r1')) change('delete', r1, vip)
    await threeRouters.settlesOn(2, 'r1 has no power')
    threeRouters.lab.heal(r1)
    await again()
    await threeRouters.settlesOn(1, 'r1 has booted')
    await sleep(1_500)

    expect(everybody.flatMap((daemon) => told(daemon).map(({ at, msg }) => [daemon.plan.host.name, at, msg]))).toEqual(
      [],
    )
    expect(await Promise.all([1, 2, 3].map((position) => duplicatesOf(threeRouters.daemon(position))))).toEqual([
      [],
      [],
      [],
    ])
  }
  for (const [family, vip] of FAMILIES)
    turns.test(`report no duplicate in a planned move, a failover, a heal and a reboot (${family})`, (context) =>
      endures(context, vip),
    )
})
