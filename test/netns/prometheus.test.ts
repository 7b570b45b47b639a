/**
 * A real Prometheus with the shipped rules scrapes three real nodes. In a clean failover no alert may fire, and in a split brain two alerts
 * must fire. The true holder comes from an observer on the LAN, which asks by ARP every 10 ms and knows neither the daemons nor Prometheus.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Holdfast } from '../../src/lab/daemons/holdfast.ts'
import { packageRoot } from '../../src/lab/installation.ts'
import { macOf, nft } from '../../src/lab/ip.ts'
import { createLab, type Host, LAB_VIP, type Lab } from '../../src/lab/lab.ts'
import { eventually, monotonicMs, sleep } from '../../src/lab/wait.ts'
import { ArpObserver } from '../../src/lab/watch/arp-observer.ts'
import { FASTER, Prometheus } from '../support/prometheus.ts'
import { describePrometheusLab } from '../support/require.ts'

/** Default interval in ms. Failovers have their real length, and scrapes are five times as fast as in a deployment. */
const INTERVAL = 1_000
const PRIORITIES = [200, 150, 100]
const PORT = 9655
/** Time in ms between two scrapes, shorter than in a deployment. */
const SCRAPE = 15_000 / FASTER
/**
 * Tolerance in ms. A scrape takes some time and may answer with values that are a moment old. The observer's questions also take some time.
 */
const SLACK = SCRAPE + 300

/**
 * Command that gives all processes of the lab real-time priority. Alerts rightly report a machine without CPU time, and here the alerts
 * must report the LAN.
 */
const IN_TIME = ['chrt', '--rr', '1']
/**
 * Alerts that are right on a machine without CPU time, even with real-time priority. The kernel's schedstat has the time in which an engine
 * was ready and did not run. An alert does not count only if that time explains the alert.
 */
const OF_THE_MACHINE = ['HoldfastTimerLate', 'HoldfastDown', 'HoldfastCleanupPlanExecuted', 'HoldfastNearMiss']
const STARVED_MS = 400

const minutes = (count: number): number => (count * 60_000) / FASTER

describePrometheusLab('a Prometheus that scrapes three nodes', () => {
  let lab: Lab
  let observer: ArpObserver
  let prometheus: Prometheus
  /** Difference between the wall clock and CLOCK_MONOTONIC, in ms. */
  let epoch = 0
  /** Time of the first scrapes, in seconds since 1970. */
  let begunAt = 0
  const daemons = new Map<Host, Holdfast>()

  async function start(host: Host): Promise<void> {
    const priority = PRIORITIES[lab.routers.indexOf(host)] ?? 100
    const api = { listen: `${host.address}:${PORT}`, public: true }
    const healthchecks = [{ name: 'self', http: `http://${api.listen}/healthz`, interval: '1s' }]
    const track = [
      { healthcheck: 'self', weight: 5 },
      { interface: 'lo', weight: -5 },
    ]
    const plan = { host, priority, intervalMs: INTERVAL, address: LAB_VIP }
    const daemon = new Holdfast(lab, plan, { minHold: '0s', track }, [], { api, healthchecks }, IN_TIME)
    daemons.set(host, daemon)
    await daemon.ready()
  }

  /** Time in ms for which the main thread of each engine has waited for a CPU. */
  const waited = new Map<number, number>()
  function lookAtWaits(): void {
    for (const { process } of daemons.values())
      for (const pid of process.children) {
        const [, delay] = schedstat(pid).split(' ')
        if (delay !== undefined) waited.set(pid, Number(delay) / 1e6)
      }
  }
  const ofTheLan = (names: readonly string[]): readonly string[] => {
    lookAtWaits()
    const isStarved = Math.max(0, ...waited.values()) >= STARVED_MS
    return names.filter((name) => !isStarved || !OF_THE_MACHINE.includes(name)).sort()
  }

  const daemonOn = (position: number): Holdfast => {
    const daemon = daemons.get(lab.router(position))
    if (daemon === undefined) throw new Error(`Cannot use the daemon on r${position}: it was not started`)
    return daemon
  }

  async function settlesOn(position: number, occasion: string): Promise<void> {
    const { name } = lab.router(position)
    const alone = async () => lab.holders(LAB_VIP).join() === name && (await daemonOn(position).state()) === 'Active'
    await eventually(`${name} alone to have the address after ${occasion}`, alone, {
      sight: () => lab.holders(LAB_VIP),
      within: 15_000,
      every: 50,
    })
  }

  const fires = (names: readonly string[], within: number) =>
    eventually(`these alerts to fire: ${names}`, () => ofTheLan(prometheus.firing()).join() === names.join(), {
      sight: () => prometheus.alerts().map(({ labels, state }) => ({ ...labels, state })),
      within,
      every: 500,
    })

  /** Returns every alert that fired after `from` (seconds since 1970). */
  const firedSince = (from: number): readonly string[] => {
    const seconds = Math.ceil(Date.now() / 1_000 - from)
    const fired = prometheus
      .query(`count by (alertname) (count_over_time(ALERTS{alertstate="firing"}[${seconds}s]))`)
      .map(({ metric }) => metric.alertname ?? '')
    return ofTheLan(fired)
  }

  const allScraped = () =>
    eventually('all of them to be scraped', () => prometheus.query('up == 1').length === 3, {
      sight: () => prometheus.query('up'),
      within: 30_000,
      every: 500,
    })

  beforeAll(async () => {
    lab = createLab({ routers: 3, clients: ['observer', 'prometheus'] })
    observer = new ArpObserver(lab, lab.host('observer'), LAB_VIP)
    await Promise.all(lab.routers.map(start))
    await settlesOn(1, 'all started')
    const targets = lab.routers.map(({ address }) => `${address}:${PORT}`)
    prometheus = await Prometheus.start(lab, lab.host('prometheus'), targets, IN_TIME)
    epoch = Date.now() - monotonicMs()
    begunAt = Date.now() / 1_000
    await allScraped()
  }, 120_000)

  afterAll(() => lab?.destroy())

  test('sees a clean failover as the LAN saw it, and no alert fires', async () => {
    const from = Date.now() / 1_000
    await sleep(3 * SCRAPE)
    lookAtWaits()
    daemonOn(1).killEngine()
    await settlesOn(2, 'the engine on r1 was killed')
    // The wait is long enough for scrapes to see the move and for a comparison with the observer.
    await sleep(2 * SLACK + SCRAPE)
    // The restart of r1, as by a supervisor.
    await daemonOn(1).exited
    await start(lab.router(1))
    await settlesOn(1, 'r1 was back')
    // The wait is longer than the `for` of every alert that could fire. The alert about redundancy cannot fire: there are never fewer than
    // two nodes.
    await sleep(minutes(1) + 3 * SCRAPE)
    expect(firedSince(from), 'alerts that have fired during the failover').toEqual([])

    const seconds = Math.ceil(Date.now() / 1_000 - from)
    const seen = prometheus.query(`holdfast_vrrp_address_present[${seconds}s]`)
    expect(seen.map(({ metric }) => metric.instance?.split(':')[0]).sort()).toEqual(lab.routers.map((r) => r.address))
    for (const { metric, values } of seen) {
      const host = lab.routers.find(({ address }) => metric.instance === `${address}:${PORT}`)
      const mac = host === undefined ? '' : macOf(host)
      for (const [at, value] of values) {
        const told = `${metric.instance}: ${value} at ${at}`
        const heard = answers(observer, mac, 1_000 * at - epoch - SLACK, 1_000 * at - epoch + SLACK)
        if (value === 1) expect(heard, `${told}: how often this node answered the observer then`).not.toBe('never')
        else expect(heard, `${told}: how often this node answered the observer then`).not.toBe('always')
      }
    }
    const hadIt = seen.filter(({ values }) => values.some(([, value]) => value === 1))
    const [one, two] = lab.routers.map(({ address }) => `${address}:${PORT}`)
    expect(
      hadIt.map(({ metric }) => metric.instance).sort(),
      'nodes that were holders, according to the samples',
    ).toEqual([one, two])
    // Check in the other direction: Prometheus must have seen each node that answered for two scrapes.
    let compared = 0
    for (const [host, periods] of lab.routers.map((host) => [host, periodsOf(observer, macOf(host))] as const)) {
      for (const [begin, end] of periods) {
        if (begin < 1_000 * from - epoch || end - begin < 2 * SLACK) continue
        compared++
        const samples = seen.find(({ metric }) => metric.instance === `${host.address}:${PORT}`)?.values ?? []
        const inside = samples.filter(([at]) => 1_000 * at - epoch > begin && 1_000 * at - epoch < end + SLACK)
        expect(
          inside.map(([, value]) => value),
          `${host.name} answered for ${end - begin} ms`,
        ).toContain(1)
      }
    }
    expect(compared, 'periods of a holder that are long enough for scrapes, of r1, r2, r1').toBeGreaterThanOrEqual(2)
    // The counters also show moves between two scrapes. The counters of r1 begin at 0 after its restart.
    const became = (position: number, at?: number) =>
      prometheus.query(
        `sum(holdfast_vrrp_transitions_total{to="Active",instance="${lab.router(position).address}:${PORT}"})`,
        at,
      )[0]?.values[0]?.[1] ?? 0
    expect([became(1), became(2) - became(2, from), became(3)], 'became Active, by their counters').toEqual([1, 1, 0])
  }, 120_000)

  test('sees a split brain on both sides, and no alert about anything else fires', async () => {
    const from = Date.now() / 1_000
    // The two nodes with different settings do not receive each other's advertisements. All other packets pass.
    for (const position of [1, 2]) {
      const rule = 'table inet split { chain in { type filter hook input priority 0; meta l4proto 112 drop; }; }'
      nft(lab.router(position), rule)
    }
    await fires(['HoldfastDuplicateAddress', 'HoldfastTwoHolders'], 60_000)
    expect(lab.holders(LAB_VIP), 'nodes whose kernel has the VIP').toEqual(['r1', 'r2'])
    const both = [1, 2].map((position) => macOf(lab.router(position))).sort()
    expect([...(observer.claims.at(-1)?.macs ?? [])].sort(), 'MACs that answer the observer').toEqual(both)
    expect(
      prometheus.query('holdfast:address_holders:sum')[0]?.values[0]?.[1],
      'number of holders, according to the rules',
    ).toBe(2)
    const [two] = prometheus.alerts().filter(({ labels }) => labels.alertname === 'HoldfastTwoHolders')
    expect(two?.annotations.summary).toBe(`2 nodes hold ${LAB_VIP}`)

    for (const position of [1, 2]) nft(lab.router(position), 'delete table inet split')
    await settlesOn(1, 'the heal')
    const alone = () => observer.claims.at(-1)?.macs.join() === macOf(lab.router(1))
    await eventually('r1 alone to answer the observer', alone, {
      sight: () => observer.claims.slice(-3),
      within: 5_000,
    })
    // The next alert covers the last 5 minutes, so it also fires.
    await fires(['HoldfastDuplicateAddress'], 30_000)
    expect(firedSince(from), 'alerts that have fired during the split brain').toEqual([
      'HoldfastDuplicateAddress',
      'HoldfastTwoHolders',
    ])
  }, 180_000)

  test('has a value for every expression of the dashboard', async () => {
    await allScraped()
    const file = join(packageRoot(), 'deploy', 'grafana', 'holdfast.json')
    const dashboard: Dashboard = JSON.parse(readFileSync(file, 'utf8'))
    const now = Math.floor(Date.now() / 1_000)
    const from = Math.floor(begunAt)
    const step = SCRAPE / 1_000
    const filled = (expression: string) =>
      expression
        .replace(/\$__range/g, `${now - from}s`)
        .replace(/\$__rate_interval/g, `${4 * SCRAPE}ms`)
        .replace(/\$__interval/g, `${SCRAPE}ms`)
        .replace(/\$(job|cluster|router)/g, '.*')
    const answers = (told: string, expression: string, instant = false) => {
      expect(expression, told).not.toMatch(/\$/)
      const series = instant ? prometheus.query(expression) : prometheus.range(expression, from, now, step)
      if (MAY_BE_EMPTY.some((name) => expression.includes(name))) return
      const values = series.flatMap((each) => each.values.map(([, value]) => value))
      expect(values.filter(Number.isFinite).length, `${told}: number of values of ${expression}`).toBeGreaterThan(0)
    }
    const asked = dashboard.panels.flatMap(({ title, targets = [] }) => targets.map((target) => ({ title, ...target })))
    expect(asked.length).toBeGreaterThan(15)
    for (const { title, expr, instant } of asked) answers(title, filled(expr), instant)
    for (const { name, expr } of dashboard.annotations.list) answers(name, filled(expr))
    for (const { name, type, definition } of dashboard.templating.list) {
      if (type !== 'query') continue
      const [, selector = '', label = ''] = /^label_values\((.+), (\w+)\)$/.exec(definition) ?? []
      const values = prometheus.query(`count by (${label}) (${filled(selector)})`).map(({ metric }) => metric[label])
      expect(values, `${name}: ${definition}`).toEqual([expect.stringMatching(/./)])
    }
  })
})

type Target = { readonly expr: string; readonly instant?: boolean }
type Panel = { readonly title: string; readonly targets?: readonly Target[] }
type Dashboard = {
  readonly panels: readonly Panel[]
  readonly annotations: { readonly list: readonly { readonly name: string; readonly expr: string }[] }
  readonly templating: {
    readonly list: readonly { readonly name: string; readonly type: string; readonly definition: string }[]
  }
}

/** Expressions that may have no value on a LAN without other hosts, or for a Prometheus without errors. */
const MAY_BE_EMPTY = [
  'ALERTS',
  'holdfast_healthcheck_up == 0',
  'holdfast_vrrp_advertisements_discarded_total',
  'holdfast_vrrp_advertisements_send_failures_total',
  'holdfast_vrrp_foreign_changes_total',
]

/** Returns the schedstat of a process, or '' after its end. */
function schedstat(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/schedstat`, 'utf8')
  } catch {
    return ''
  }
}

/** Returns whether this MAC answered never, sometimes or always in that time. The ends of observed periods are open. */
function answers({ claims }: ArpObserver, mac: string, from: number, to: number): 'never' | 'always' | 'partly' {
  const spans = claims.map(({ at, macs }, i) => ({ at, until: claims[i + 1]?.at ?? Number.POSITIVE_INFINITY, macs }))
  const inside = spans.filter(({ at, until }) => until > from && at < to).map(({ macs }) => macs.includes(mac))
  if (!inside.includes(true)) return 'never'
  return inside.includes(false) ? 'partly' : 'always'
}

/** Returns the periods in which this MAC answered, alone or together with others. */
function periodsOf({ claims }: ArpObserver, mac: string): readonly (readonly [number, number])[] {
  const periods: [number, number][] = []
  for (const [i, { at, macs }] of claims.entries()) {
    if (!macs.includes(mac)) continue
    const until = claims[i + 1]?.at ?? monotonicMs()
    const last = periods.at(-1)
    if (last !== undefined && last[1] === at) last[1] = until
    else periods.push([at, until])
  }
  return periods
}
