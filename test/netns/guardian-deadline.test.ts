/**
 * Deadlines, kernel lifetime and the shared word, watched from outside by ip(8) in the namespace and a raw socket in the neighbour's
 * namespace. The engine is guarded-engine.ts, which is stopped without notice.
 */
import { join } from 'node:path'
import { afterAll, expect, type TestContext, test } from 'vitest'
import { cable, makeNamespace, removeAll, Talker } from '../../src/lab/cable.ts'
import { linkOf, shownAddresses } from '../../src/lab/ip.ts'
import type { Said } from '../../src/lab/json-process.ts'
import { eventually, monotonicMs, sleep } from '../../src/lab/wait.ts'
import { judge, judgeTime } from '../judge/time.ts'
import { describeNetns } from '../support/require.ts'
import { Turns } from '../support/turns.ts'
import type { Order } from './guarded-engine.ts'
import { runSource } from './linux-fixture.ts'
import { agent, GUARDIAN } from './native-fixture.ts'

const VIPS = ['198.51.100.200', '198.51.100.201', '2001:db8::200']
const ENGINE = runSource(join(import.meta.dirname, 'guarded-engine.ts'))
/** Duration of `ip addr` in ms, plus the wait between two samples. */
const LOOKING = 15
/**
 * Limit in ms for the removal after a death. docs/performance.md, Budgets has 50 ms for the benchmark. The kernel of a busy machine alone
 * took 178 ms to report a death. Other causes of a removal come much later: the next interval, the deadline of 3 s, the lifetime.
 */
const NOTICED = 500
/**
 * Delay of the kernel in ms. The kernel looks for expired addresses at a whole second, by a coarse timer, and not again within a second.
 */
const KERNEL = 1250

/** The tests wait for deadlines and lifetimes on cables of their own. */
const turns = new Turns(3)

/** An engine that starts beside another one can make it late by more than 30 ms, so the tests at 10 ms run alone. */
const playerOf = (interval: number) => (interval === 10 ? test : turns.test.bind(turns))

const log = (talker: Talker): readonly Said[] => talker.stderr.map((line) => JSON.parse(line))
const executions = (talker: Talker) =>
  log(talker).filter(({ msg }) => /^engine (?:died|missed its deadline): removed /.test(String(msg)))

/** Joins two namespaces for one test: here is the engine, there its neighbour. */
function place({ onTestFinished }: TestContext) {
  const here = makeNamespace()
  const there = makeNamespace()
  cable(here, there)
  const index = linkOf(here, 'eth0').ifindex
  const stopped = new Set<number>()
  let running: Talker | undefined
  onTestFinished(async () => {
    for (const pid of stopped) signal(pid, 'SIGCONT')
    running?.signal('SIGCONT')
    running?.hush()
    await running?.ended
  })

  function signal(pid: number, name: NodeJS.Signals): void {
    try {
      process.kill(pid, name)
    } catch {
      // The test has already ended this process.
    }
    if (name === 'SIGSTOP') stopped.add(pid)
  }

  const present = () => shownAddresses(here).filter(({ local }) => VIPS.includes(local))

  /** Starts the engine with all VIPs installed, and waits until the engine holds them. */
  async function engineWithVips(interval: number, more: Partial<NonNullable<Order['take']>> = {}) {
    const talker = new Talker(here, [GUARDIAN, '--', ...ENGINE])
    running = talker
    const pid = Number((await talker.line('ready', ({ ready }) => ready === true)).pid)
    const order = (wanted: Order): void => talker.tell(wanted)
    order({ take: { index, vips: VIPS, interval, ...more } })
    expect(await talker.line('the addresses', ({ taken }) => taken !== undefined)).toEqual({
      taken: true,
      guarded: true,
    })
    expect(present().map(({ local }) => local)).toEqual(VIPS)
    return { talker, pid, order }
  }

  async function gone(within: number): Promise<number> {
    await eventually('no VIP', () => present().length === 0, { sight: present, within, every: 1 })
    return monotonicMs()
  }

  async function listen(): Promise<Talker> {
    const listener = agent(there, 'listen')
    await listener.line('ready', ({ ready }) => ready === true)
    return listener
  }

  return { engineWithVips, gone, index, listen, present, signal }
}

async function releases(listener: Talker): Promise<number> {
  await sleep(50)
  listener.tell('end')
  await listener.ended
  return listener.said.filter(({ family, bytes }) => family === 'ipv4' && String(bytes).endsWith('313300010064')).length
}

describeNetns('the guardian of an engine with deadlines', () => {
  afterAll(removeAll)

  for (const interval of [10, 100, 1000])
    playerOf(interval)(
      `an engine frozen at ${interval} ms loses its addresses at its deadline, with one log line, and the resumed engine notices the removal`,
      async (context) => {
        const { engineWithVips, gone, index, listen, present, signal } = place(context)
        const { talker, pid, order } = await engineWithVips(interval, { lifetime: 6 })
        const listener = await listen()
        await sleep(3 * interval)
        signal(pid, 'SIGSTOP')
        const at = monotonicMs()
        const took = (await gone(3 * interval + 2000)) - at
        console.log(`${interval} ms: gone ${took.toFixed(1)} ms after SIGSTOP, deadline at most ${3 * interval}`)
        // The last advertisement may be an interval old. The guardian must not act before the deadline that counts from
        // that advertisement.
        expect(
          took,
          'ms from the stop of the engine to the removal, which comes at the deadline or later',
        ).toBeGreaterThan(2 * interval - LOOKING)
        judgeTime('ms, at the deadline, not at the lifetime', took, 3 * interval + NOTICED, 'docs/failures.md')
        expect(await releases(listener)).toBe(1)
        expect(executions(talker)).toMatchObject([{ plans: 1, removed: 3, failed: 0, packets: 1, sent: 1 }])
        signal(pid, 'SIGCONT')
        await talker.line('the word', ({ state }) => state === 'executed')
        order({ take: { index, vips: VIPS, interval } })
        await talker.line('a refusal: not acknowledged', ({ taken }) => taken === false)
        expect(present()).toEqual([])
        order({ acknowledge: true })
        expect(await talker.line('yes', ({ acknowledged }) => acknowledged !== undefined)).toMatchObject({
          acknowledged: true,
          state: 'withdrawn',
        })
        const before = talker.said.length
        order({ take: { index, vips: VIPS, interval } })
        await talker.line('the taken address', (line) => line.taken === true && talker.said.indexOf(line) >= before)
        // A deadline from before the stop must have no effect.
        await sleep(3 * interval + 200)
        expect(present()).toHaveLength(VIPS.length)
        expect(executions(talker)).toHaveLength(1)
      },
    )

  turns.test('the addresses of a killed engine are removed immediately', async (context) => {
    const { engineWithVips, gone, listen, signal } = place(context)
    const { talker, pid } = await engineWithVips(1000, { lifetime: 4 })
    const listener = await listen()
    signal(pid, 'SIGKILL')
    const at = monotonicMs()
    const took = (await gone(2000)) - at
    console.log(`gone ${took.toFixed(1)} ms after SIGKILL`)
    judgeTime('ms, not at its deadline', took, NOTICED, 'docs/performance.md')
    expect((await talker.ended).code).toBe(137)
    expect(await releases(listener)).toBe(1)
  })

  turns.test(
    'if the engine is killed after it has stepped down, its addresses are removed without priority 0',
    async (context) => {
      const { engineWithVips, gone, listen, present, signal } = place(context)
      const { talker, pid, order } = await engineWithVips(100)
      const listener = await listen()
      order({ stepDown: true })
      expect(await talker.line('its answer', ({ steppedDown }) => steppedDown !== undefined)).toEqual({
        steppedDown: { executed: false, late: false },
      })
      // The deadline of an executed plan must have no effect either.
      await sleep(400)
      expect(present()).toHaveLength(VIPS.length)
      signal(pid, 'SIGKILL')
      await gone(2000)
      expect((await talker.ended).code).toBe(137)
      expect(await releases(listener)).toBe(0)
      expect(executions(talker)).toMatchObject([{ plans: 1, silent: 1, removed: 3, packets: 0 }])
    },
  )

  turns.test('the guardian acts at a nearer deadline, although it sleeps until a later deadline', async (context) => {
    const { engineWithVips, gone } = place(context)
    const { talker, order } = await engineWithVips(1000)
    await sleep(50)
    order({ nearer: 30 })
    const nearer = Number((await talker.line('a nearer deadline', (line) => line.nearer !== undefined)).nearer)
    const late = (await gone(2000)) - nearer
    console.log(`gone ${late.toFixed(1)} ms after the nearer deadline`)
    judgeTime('ms behind the nearer deadline, not the later one', late, NOTICED, 'docs/adr/0015')
  })

  turns.test(
    'a renewed address is never missing, never tentative and never near the end of its lifetime',
    async (context) => {
      const { engineWithVips, present } = place(context)
      const { talker } = await engineWithVips(100, { lifetime: 3 })
      const until = monotonicMs() + 6000
      let lowest = Number.POSITIVE_INFINITY
      let looks = 0
      while (monotonicMs() < until) {
        const now = present()
        expect(now.map(({ local }) => local)).toEqual(VIPS)
        expect(now.some(({ tentative }) => tentative)).toBe(false)
        lowest = Math.min(lowest, ...now.map(({ valid_life_time }) => valid_life_time))
        looks++
        await sleep(20)
      }
      console.log(`${looks} looks in 6 s, lowest valid lifetime ${lowest} s of 3`)
      expect(lowest, 'shortest remaining lifetime in s, of 3 s').toBeGreaterThanOrEqual(1)
      expect(log(talker)).toEqual([])
    },
  )

  turns.test('no renewal by the guardian brings back an address that the engine has withdrawn', async (context) => {
    const { engineWithVips, index, present } = place(context)
    const { talker, order } = await engineWithVips(100, { lifetime: 2 })
    for (let round = 0; round < 10; round++) {
      const before = talker.said.length
      order({ withdraw: true })
      const said = await talker.line('off', (line) => line.removed !== undefined && talker.said.indexOf(line) >= before)
      expect(said).toEqual({ withdrawn: { executed: false, late: false }, removed: true })
      // The first wait of the test is longer than the time between two renewals.
      const until = monotonicMs() + (round === 0 ? 1500 : 70)
      while (monotonicMs() < until) {
        expect(present()).toEqual([])
        await sleep(5)
      }
      const next = talker.said.length
      order({ take: { index, vips: VIPS, interval: 100, lifetime: 2 } })
      await talker.line('on', (line) => line.taken === true && talker.said.indexOf(line) >= next)
      await sleep(67 * round)
      expect(present(), `VIPs after repetition ${round}`).toHaveLength(VIPS.length)
    }
  })

  turns.test(
    'if an address is withdrawn while the channel is full and a renewal is due, the shared word decides and the address stays away',
    async (context) => {
      const { engineWithVips, present } = place(context)
      const { talker, order } = await engineWithVips(100, { lifetime: 3 })
      talker.signal('SIGSTOP')
      order({ fill: true })
      await talker.line('a full channel', ({ filled }) => filled === true)
      // The renewal is due by then, and is the first task of the resumed guardian.
      await sleep(1100)
      order({ withdraw: true })
      await talker.line('off', ({ removed }) => removed === true)
      talker.signal('SIGCONT')
      const until = monotonicMs() + 700
      while (monotonicMs() < until) {
        expect(present()).toEqual([])
        await sleep(5)
      }
      expect(executions(talker)).toEqual([])
    },
  )

  turns.test(
    'if engine and guardian are frozen, the kernel removes the VIPs, and the resumed guardian sends no late priority 0',
    async (context) => {
      const { engineWithVips, gone, listen, present, signal } = place(context)
      const { talker, pid } = await engineWithVips(100, { lifetime: 2 })
      const listener = await listen()
      await sleep(1000)
      talker.signal('SIGSTOP')
      signal(pid, 'SIGSTOP')
      const at = monotonicMs()
      try {
        const took = (await gone(6000)) - at
        console.log(`both frozen: gone after ${took.toFixed(0)} ms, lifetime 2000`)
        // Each address is renewed every third of its lifetime. At the stop 1.33 to 2 s are left, or less if the guardian was late.
        expect(took, 'ms from the stop of both processes to the removal by the kernel').toBeGreaterThan(1000)
        judgeTime('ms', took, 2000 + KERNEL, 'docs/failures.md')
      } finally {
        talker.signal('SIGCONT')
      }
      await eventually('an execution', () => executions(talker).length > 0, { sight: () => log(talker), within: 2000 })
      signal(pid, 'SIGCONT')
      await talker.line('the word', ({ state }) => state === 'executed')
      await sleep(300)
      expect(present()).toEqual([])
      expect(await releases(listener), 'packets with priority 0 from the resumed guardian').toBe(0)
      expect(executions(talker)).toMatchObject([{ silent: 1, packets: 0 }])
    },
  )

  turns.test('an engine notices a killed or silent guardian', async (context) => {
    const { engineWithVips, signal } = place(context)
    const one = await engineWithVips(100)
    one.talker.signal('SIGSTOP')
    const stoppedAt = monotonicMs()
    const silent = await one.talker.line('silence', ({ guardian }) => guardian !== undefined)
    one.talker.signal('SIGCONT')
    expect(silent.guardian).toBe('silent')
    expect(Number(silent.now) - stoppedAt, 'ms from the stop of the guardian until the engine noticed').toBeLessThan(
      3000,
    )
    one.talker.signal('SIGKILL')
    await one.talker.line('the fault', ({ fault }) => String(fault).startsWith('Guardian died'))
    signal(one.pid, 'SIGKILL')
  })

  for (const interval of [100, 10])
    playerOf(interval)(
      `an engine on time at ${interval} ms keeps its addresses although the guardian is stopped for half a second`,
      async (context) => {
        const { engineWithVips, present } = place(context)
        const { talker } = await engineWithVips(interval, { lifetime: 2 })
        await sleep(1000)
        talker.signal('SIGSTOP')
        await sleep(500)
        talker.signal('SIGCONT')
        await sleep(1500)
        // On a busy machine an engine is sometimes late by 30 ms. If the addresses are gone, the engine's own clock
        // must show that it was late. If the clock shows no lateness, the guardian was wrong.
        const missed =
          executions(talker).length === 0
            ? talker.said.find(({ state }) => state === 'executed')
            : await talker.line('the word of the execution', ({ state }) => state === 'executed')
        if (missed !== undefined)
          expect(
            Number(missed.late),
            'ms from the last advertisement of the engine to the cleanup',
          ).toBeGreaterThanOrEqual(3 * interval)
        expect(executions(talker)).toHaveLength(missed === undefined ? 0 : 1)
        expect(present()).toHaveLength(missed === undefined ? VIPS.length : 0)
        // At 10 ms an engine without real-time priority may be late. With a late engine the test judges only the
        // actions of the guardian.
        const late =
          missed === undefined || interval === 10 ? [] : [`expected it on time, saw it ${missed.late} ms late`]
        judge('the engine', { late })
      },
    )

  test('storing a deadline costs less than 0.1 ms', async (context) => {
    const { engineWithVips } = place(context)
    const { talker, order } = await engineWithVips(1000)
    order({ cost: 10_000 })
    const { cost } = await talker.line('the cost', (line) => line.cost !== undefined)
    console.log(`one deadline: ${(Number(cost) * 1000).toFixed(2)} µs`)
    expect(Number(cost), 'ms to store a deadline').toBeLessThan(0.1)
  })
})
