/**
 * The lifetime of the addresses as a watcher of the kernel sees it (NetworkManager, Multus and their like act upon what
 * they read there): renewals are confirmations and nothing else. And `lifetime: off`, where nothing is renewed and the
 * kernel drops nothing.
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
/** An engine that gets no CPU for three intervals rightly loses its addresses, and here they are to stay. */
const IN_TIME = ['--realtime']
const LIFETIME = 2_000
/** Every third of it, and one may fall outside of the time watched. */
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
      // Seconds that have begun count as over in ip(8).
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
    expect(Math.min(...seen), 'seconds that were left, at the least').toBeGreaterThanOrEqual(1)
    expect(Math.max(...seen), 'seconds that were left, at most').toBeLessThanOrEqual(LIFETIME / 1000)
    expect((await prober.stop()).lost, 'probes lost').toBe(0)
  })

  test('with lifetime off the guardian still removes an address, but with engine and guardian gone the address stays', async () => {
    lan = new CrashLan({ nodes: 3, columns: COLUMN, options: IN_TIME, extra: { lifetime: 'off' } })
    for (const node of lan.nodes) node.start()
    await lan.settled()
    const [r1, r2] = [lan.lab.router(1), lan.lab.router(2)]
    expect(lifetimes(r1)).toEqual(COLUMN.map(() => FOREVER))

    lan.node(1).killGroup()
    const killed = monotonicMs()
    await eventually(
      'r2 to have the addresses',
      () => lifetimes(r2).every((each) => each === FOREVER),
      () => shownAddresses(r2),
      {
        within: 5_000,
      },
    )
    await sleep(killed + LIFETIME + 1_500 - monotonicMs())
    expect(lifetimes(r1), 'on the dead node').toEqual(COLUMN.map(() => FOREVER))

    lan.node(2).signal(['engine'], 'SIGKILL')
    await eventually(
      'r2 without addresses',
      () => lifetimes(r2).every((each) => each === undefined),
      () => shownAddresses(r2),
      {
        within: 1_000,
      },
    )
  })
})
