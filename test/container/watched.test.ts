/**
 * A real Prometheus in a container scrapes three routers by their names. The addresses move away from a killed router, and back. The stored
 * values are compared with the observations of the clients: the number of moves, and the holder at each time.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually, monotonicMs, sleep } from '../../src/lab/wait.ts'
import { FASTER, Prometheus } from '../support/prometheus.ts'
import { describeContainer } from '../support/require.ts'
import { API_PORT, DockerRouters, FAMILIES, type Family } from './docker-routers.ts'

const SCRAPE = 15_000 / FASTER
/** Tolerance in ms. A scrape takes some time and may answer with values that are a moment old. */
const SLACK = SCRAPE + 1_500

describeContainer('a Prometheus that scrapes three routers in containers', () => {
  let routers: DockerRouters
  let prometheus: Prometheus
  /** Difference between the wall clock and CLOCK_MONOTONIC, in ms. */
  let epoch = 0

  beforeAll(async () => {
    routers = await DockerRouters.settled()
    const targets = routers.routers.map(({ name }) => `${routers.nameOf(name)}:${API_PORT}`)
    prometheus = await Prometheus.start(routers, 'prometheus', targets, [])
    epoch = Date.now() - monotonicMs()
    await eventually('all three to be scraped', () => prometheus.query('up == 1').length === 3, {
      sight: () => prometheus.query('up'),
      within: 30_000,
      every: 500,
    })
  }, 120_000)
  afterAll(() => routers?.destroy())

  const routerOf = (instance = '') =>
    routers.routers.find(({ name }) => instance === `${routers.nameOf(name)}:${API_PORT}`)?.name
  const activeBy = (family: Family) =>
    prometheus
      .query(`holdfast_vrrp_state{state="Active",router="${family}"} == 1`)
      .map(({ metric }) => routerOf(metric.instance))

  /** Waits for the scrapes that come after a move, in both families. */
  async function tellsOf(position: number): Promise<void> {
    const { name } = routers.router(position)
    await eventually(
      `Prometheus to tell of ${name} alone as Active`,
      () => FAMILIES.every((family) => activeBy(family).join() === name),
      { sight: () => FAMILIES.map(activeBy), within: 30_000, every: 500 },
    )
    expect(
      FAMILIES.map((family) => routers.prober(family).holder),
      'who answers the clients',
    ).toEqual([name, name])
  }

  /** Returns how often the router became Active since its start, by its counter at a time (seconds since 1970, or now). */
  const becameActive = (family: Family, position: number, at?: number): number => {
    const instance = `${routers.nameOf(routers.router(position).name)}:${API_PORT}`
    const counter = `holdfast_vrrp_transitions_total{to="Active",router="${family}",instance="${instance}"}`
    return prometheus.query(`sum(${counter})`, at)[0]?.values[0]?.[1] ?? 0
  }

  test('Prometheus has the moves that the clients saw after a kill and a return, and the holder at each time', async () => {
    await tellsOf(1)
    const at = monotonicMs()
    const from = Date.now() / 1_000
    const r1 = routers.router(1)
    await r1.container.kill()
    await routers.settlesOn(2, 'r1 was killed', [3])
    // After a failed scrape of r1, the series of r1 end.
    await tellsOf(2)
    await sleep(2 * SLACK)
    await r1.start()
    await routers.settlesOn(1, 'r1 was started')
    await tellsOf(1)
    await sleep(2 * SLACK)

    for (const family of FAMILIES) {
      const seen = routers.holdersSince(family, at)
      expect(seen, `routers that answered the client of ${family}`).toEqual(['r2', 'r1'])
      // r1 has restarted, and its counters begin at 0.
      const counted = [1, 2, 3].map((of) => becameActive(family, of) - (of === 1 ? 0 : becameActive(family, of, from)))
      expect(counted, `times that r1, r2 and r3 became Active for ${family}, by their counters`).toEqual([1, 1, 0])

      const seconds = Math.ceil(Date.now() / 1_000 - from)
      const told = prometheus.query(`holdfast_vrrp_state{state="Active",router="${family}"}[${seconds}s]`)
      const samples = told.flatMap(({ metric, values }) =>
        values.map(([time, value]) => ({ name: routerOf(metric.instance), value, at: 1_000 * time - epoch })),
      )
      const periods = periodsOf(routers.prober(family).holders, monotonicMs())
      for (const { name, value, at: time } of samples.filter((sample) => sample.value === 1)) {
        const own = periods.filter((period) => period.name === name)
        const inside = own.some((period) => period.from < time + SLACK && period.to > time - SLACK)
        expect(inside, `${family}: ${name} said ${value} at ${time}, the client saw ${JSON.stringify(periods)}`).toBe(
          true,
        )
      }
      // Check in the other direction: a router that answered for two scrapes must have been scraped as the Active.
      const long = periods.filter((period) => period.to - Math.max(period.from, at) > 2 * SLACK)
      expect(long.map(({ name }) => name).slice(-2), `long periods of ${family}`).toEqual(['r2', 'r1'])
      for (const period of long) {
        const meanwhile = samples.filter(
          (sample) => sample.name === period.name && sample.at > period.from && sample.at < period.to + SLACK,
        )
        const story = `${family}: what ${period.name} said while it answered the client`
        expect(
          meanwhile.map(({ value }) => value),
          story,
        ).toContain(1)
      }
    }
  }, 120_000)
}, ['nsenter', 'ip', 'curl', 'prometheus'])

type Period = { readonly name: string; readonly from: number; readonly to: number }

const periodsOf = (
  holders: readonly { readonly at: number; readonly name: string }[],
  until: number,
): readonly Period[] => holders.map(({ at, name }, i) => ({ name, from: at, to: holders[i + 1]?.at ?? until }))
