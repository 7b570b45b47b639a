/**
 * One failover, from the outside: three routers (priorities 200, 150, 100, preempting, multicast), one accident to the
 * first, and what a client with a cached neighbour entry and an observer without one saw of it. Decides what an
 * accident is and how long to look; refuses to know which daemon runs.
 */
import { Prober, startResponder } from '../../src/cli/demo-probe.ts'
import { ArpObserver } from '../../test/support/arp-observer.ts'
import { activeDownIntervalMs, type Daemon, type DaemonKind, skewTimeMs } from '../../test/support/daemon.ts'
import { createLab, LAB_VIP, type Lab } from '../../test/support/lab.ts'
import { startDaemon } from '../../test/support/start-daemon.ts'
import { eventually, monotonicMs, sleep } from '../../test/support/wait.ts'
import { CHECK_SCENARIOS, checkTheory, isCheckScenario, measureCheck } from './check-scenario.ts'

export const PRIORITIES = [200, 150, 100] as const
/** Of unicast routers that know each other. */
const EQUAL = 100
const successor = (scenario: Scenario): number => (scenario === 'equal' ? EQUAL : PRIORITIES[1])

/** What happens to a router; what happens to the service behind the address is check-scenario.ts. */
export const ROUTER_SCENARIOS = ['cut', 'sigterm', 'engine', 'group', 'heal', 'frozen', 'equal'] as const
type RouterScenario = (typeof ROUTER_SCENARIOS)[number]
export const SCENARIOS = [...ROUTER_SCENARIOS, ...CHECK_SCENARIOS] as const
export type Scenario = (typeof SCENARIOS)[number]

/** Who runs on r1, and who on the others: a group in the middle of a migration is a case of its own. */
export const LINE_UPS = {
  holdfast: ['holdfast', 'holdfast'],
  keepalived: ['keepalived', 'keepalived'],
  'holdfast+keepalived': ['holdfast', 'keepalived'],
  'keepalived+holdfast': ['keepalived', 'holdfast'],
} as const satisfies Record<string, readonly [DaemonKind, DaemonKind]>
export type LineUp = keyof typeof LINE_UPS

export type Cell = { readonly scenario: Scenario; readonly intervalMs: number; readonly lineUp: LineUp }

export type Measurement = {
  /** Longest time between two replies around the accident; one probe interval when nothing was lost. */
  readonly outageMs: number
  readonly lost: number
  /** Accident until the first reply of another router; undefined when none came. */
  readonly movedMs: number | undefined
  /** Time in which two routers answered ARP requests for the address. */
  readonly overlapMs: number
  /** The old owner's kernel still answered when the observation ended. */
  readonly stale: boolean
}

/** What the protocol alone makes of it, in ms: the accident comes at a random phase of the advertisement interval. */
export function theory({ scenario, intervalMs }: Cell): { readonly from: number; readonly to: number } {
  if (isCheckScenario(scenario)) return checkTheory(scenario, intervalMs)
  const down = activeDownIntervalMs(successor(scenario), intervalMs)
  const skew = skewTimeMs(successor(scenario), intervalMs)
  switch (scenario) {
    case 'cut':
    case 'equal':
    case 'frozen':
    case 'group':
      return { from: down - intervalMs, to: down }
    // Priority 0 is heard, Skew_Time passes.
    case 'engine':
    case 'sigterm':
      return { from: skew, to: skew }
    case 'heal':
      return { from: 0, to: 0 }
  }
}

function accident(lab: Lab, first: Daemon, scenario: RouterScenario): number {
  switch (scenario) {
    case 'cut':
    case 'equal':
      return lab.cut(lab.router(1))
    case 'frozen':
      return first.freeze()
    case 'heal':
      return lab.heal(lab.router(1))
    case 'sigterm':
      return first.terminate()
    case 'engine':
      return first.killEngine()
    case 'group':
      return first.killAll()
  }
}

const ANNOUNCED = 5_500
/** How long the engine is stopped. */
const FROZEN = 5_000
/** How long the kernel keeps an address that nobody renews (holdfast, up to 100 ms advertisements), and a little. */
const FORGOTTEN = 2_300
/** The longest that a client is left waiting before the run is called hopeless. */
const PATIENCE = 40_000

export async function measure({ scenario, intervalMs, lineUp }: Cell): Promise<Measurement> {
  if (isCheckScenario(scenario)) return measureCheck(scenario, intervalMs, lineUp)
  const lab = createLab({ routers: PRIORITIES.length })
  const down = activeDownIntervalMs(successor(scenario), intervalMs)
  try {
    const equals = scenario === 'equal' ? { unicastPeers: lab.routers.map(({ address }) => address) } : undefined
    const start = (i: number) =>
      startDaemon(LINE_UPS[lineUp][i === 0 ? 0 : 1], lab, {
        host: lab.router(i + 1),
        priority: equals === undefined ? (PRIORITIES[i] ?? 1) : EQUAL,
        intervalMs,
        address: LAB_VIP,
        ...equals,
      })
    const holds = (name: string) => () => lab.holders(LAB_VIP).join() === name
    const holders = () => lab.holders(LAB_VIP)
    const wait = { within: 5_000 + 6 * down, every: 20 }
    const daemons = [start(0)]
    // Of equals the first to come is Active.
    if (equals !== undefined) await eventually('r1 to hold the address', holds('r1'), holders, wait)
    daemons.push(start(1), start(2))
    for (const host of lab.routers) startResponder(lab, host)
    await Promise.all(daemons.map((daemon) => daemon.ready()))
    await eventually('r1 alone to hold the address', holds('r1'), holders, wait)

    const prober = new Prober(lab, lab.client, LAB_VIP)
    const observer = new ArpObserver(lab, lab.host('observer'), LAB_VIP)
    const owner = (name: string) => () => prober.owner === name
    await eventually('the client to reach r1', owner('r1'), () => prober.owners, { within: 5_000 })
    await sleep(300)
    if (scenario === 'heal') {
      // The announcements that follow a takeover (the last after 5 s, with either daemon) would hide a stale entry.
      await sleep(ANNOUNCED)
      // Both sides Active for two Active_Down_Intervals at least, the client following the second.
      const cutAt = lab.cut(lab.router(1))
      await eventually('the client to reach r2', owner('r2'), () => prober.owners, { within: 5_000 + 3 * down })
      await sleep(Math.max(0, cutAt + 3.5 * down - monotonicMs()))
    }
    await sleep(Math.random() * intervalMs)

    const [daemon] = daemons
    if (daemon === undefined) throw new Error('no daemon was started')
    const before = scenario === 'heal' ? 'r2' : 'r1'
    const at = accident(lab, daemon, scenario)
    // keepalived's parent respawns a killed engine, which may win before anybody else does: then nothing moves.
    if (scenario === 'engine') await sleep(4 * down)
    else
      await eventually(
        'another router to answer',
        () => prober.movedFrom(before, at),
        () => prober.owners,
        { within: PATIENCE, every: 20 },
      )
    if (scenario === 'frozen') {
      await sleep(at + FROZEN - monotonicMs())
      daemon.thaw()
      // Back as a Backup, and Active again because it is the better one.
      await sleep(2 * down)
    }
    if (scenario === 'group') await sleep(at + FORGOTTEN - monotonicMs())
    // A second accident may follow the first: duels, late announcements, a respawned daemon that wants it back.
    await sleep(Math.max(500, 2 * down))
    const until = monotonicMs()
    const { lost } = await prober.stop()
    await observer.stop()
    const gaps = prober.gaps.filter((gap) => gap.to >= at - 5 && gap.from <= until)
    const earlier = prober.gaps.filter((gap) => gap.to < at - 5)
    const moved = prober.movedFrom(before, at)
    return {
      outageMs: Math.max(1, ...gaps.map((gap) => gap.to - gap.from)),
      lost: lost - earlier.reduce((sum, gap) => sum + gap.lost, 0),
      movedMs: moved === undefined ? undefined : moved.at - at,
      overlapMs: observer.overlap(at, until),
      stale: (observer.claims.at(-1)?.macs.length ?? 0) > 1,
    }
  } finally {
    lab.destroy()
  }
}
