/**
 * The lifetime of the addresses in the kernel, as programs such as NetworkManager and Multus read its notifications. A renewal is a
 * confirmation and nothing else. With `lifetime: off`, nothing is renewed and the kernel removes nothing.
 */
import { afterEach, expect, test } from 'vitest'
import { shownAddresses } from '../../src/lab/ip.ts'
import type { Host } from '../../src/lab/lab.ts'
import { eventually, monotonicMs, sleep } from '../../src/lab/wait.ts'
import { Prober } from '../../src/lab/watch/probe.ts'
import { describeNetns } from '../support/require.ts'
import { CrashLan } from './crash-lan.ts'
import { COLUMNS } from './crash-node.ts'

const COLUMN = COLUMNS.filter(({ interval }) => interval === 100)
const FOREVER = 2 ** 32 - 1
const WATCHED = 10_000
/** Real-time priority. An engine without CPU for three intervals rightly loses its addresses, and here the addresses must stay. */
const IN_TIME = ['--realtime']
const LIFETIME = 2_000
/** Least number of renewals: one in every third of the lifetime. One of them may fall outside the watched time. */
const RENEWALS = Math.floor(WATCHED / (LIFETIME / 3)) - 1

let lan: CrashLan | undefined
afterEach(() => {
  lan?.lab.destroy()
  lan = undefined
})

const lifetimes = (host: Host) =>
  COLUMN.map(({ vip }) => shownAddresses(host).find(({ local }) => local === vip)?.valid_life_time)

describeNetns('the lifetime of the addresses in the kernel', () => {
  test('a watcher sees a confirmation every third of the lifetime and no removal, and the client loses no probe', async () => {
    lan = new CrashLan({ nodes: 1, columns: COLUMN, options: IN_TIME })
    lan.node(1).start()
    await lan.settled()
    const [v4 = ''] = COLUMN.map(({ vip }) => vip)
    const prober = new Prober(lan.lab, lan.lab.host('observer'), v4)
    const from = monotonicMs()
    const seen: number[] = []
    while (monotonicMs() - from < WATCHED) {
      const left = lifetimes(lan.lab.router(1))
      // ip(8) rounds the remaining lifetime down to whole seconds.
      for (const each of left) seen.push(each ?? -1)
      await sleep(200)
    }
    const to = monotonicMs()
    const news = lan.news.filter(({ at }) => at > from && at < to)
    for (const { vip } of COLUMN) {
      const own = news.filter(({ text }) => text.includes(` ${vip}/`))
      expect(
        own.filter(({ gone }) => gone),
        `removals of ${vip}`,
      ).toEqual([])
      expect(own.length, `confirmations of ${vip} in ${WATCHED} ms`).toBeGreaterThanOrEqual(RENEWALS)
      expect(own.length, `confirmations of ${vip} in ${WATCHED} ms`).toBeLessThanOrEqual(RENEWALS + 4)
      expect(
        own.filter(({ text }) => /tentative/.test(text)),
        `${vip} tentative`,
      ).toEqual([])
      expect(
        own.filter(({ text }) => !/valid_lft 2sec/.test(text)),
        `${vip} with another lifetime`,
      ).toEqual([])
    }
    expect(Math.min(...seen), 'shortest remaining lifetime in s').toBeGreaterThanOrEqual(1)
    expect(Math.max(...seen), 'longest remaining lifetime in s').toBeLessThanOrEqual(LIFETIME / 1000)
    expect((await prober.stop()).lost, 'probes of the client without an answer').toBe(0)
  })

  test('with lifetime off the guardian still removes an address, but with engine and guardian gone the address stays', async () => {
    lan = new CrashLan({ nodes: 3, columns: COLUMN, options: IN_TIME, extra: { lifetime: 'off' } })
    for (const node of lan.nodes) node.start()
    await lan.settled()
    const [r1, r2] = [lan.lab.router(1), lan.lab.router(2)]
    expect(lifetimes(r1)).toEqual(COLUMN.map(() => FOREVER))

    lan.node(1).killGroup()
    const killed = monotonicMs()
    await eventually('r2 to have the addresses', () => lifetimes(r2).every((each) => each === FOREVER), {
      sight: () => shownAddresses(r2),
      within: 5_000,
    })
    await sleep(killed + LIFETIME + 1_500 - monotonicMs())
    expect(lifetimes(r1), 'lifetimes of the addresses on the node without engine and guardian').toEqual(
      COLUMN.map(() => FOREVER),
    )

    lan.node(2).signal(['engine'], 'SIGKILL')
    await eventually('r2 without addresses', () => lifetimes(r2).every((each) => each === undefined), {
      sight: () => shownAddresses(r2),
      within: 1_000,
    })
  })
})
