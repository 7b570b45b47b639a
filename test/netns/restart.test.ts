/**
 * An engine with `onCrash: restart` that crashes, seen from a client (docs/adr/0088): the guardian starts the engine
 * again, and the addresses stay. Whatever else happens before the new engine is there releases the addresses.
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { Holdfast } from '../../src/lab/daemons/holdfast.ts'
import { packageRoot } from '../../src/lab/installation.ts'
import { createLab, LAB_VIP, LAB_VIP6, type Lab } from '../../src/lab/lab.ts'
import { eventually, sleep } from '../../src/lab/wait.ts'
import { Prober, startResponder } from '../../src/lab/watch/probe.ts'
import { judge, judgeTime } from '../judge/time.ts'
import { describeNetns } from '../support/require.ts'

const ON = { lease: 'on', onCrash: 'restart' }
const KILLS = Number(process.env.HOLDFAST_TEST_KILLS ?? 1)

type Options = {
  readonly intervalMs?: number
  readonly address?: string
  readonly realtime?: boolean
  readonly unicast?: boolean
  readonly top?: object
  readonly extra?: object
}

async function startGroup({ intervalMs = 100, address = LAB_VIP, realtime = false, ...more }: Options = {}) {
  const lab = createLab({ routers: 2, ipv6: address.includes(':') })
  onTestFinished(() => lab.destroy())
  for (const host of lab.routers) startResponder(lab, host)
  const daemons = lab.routers.map((host, i) => {
    const unicastPeers = lab.routers.filter((other) => other !== host).map((other) => other.address)
    const plan = { host, priority: 200 - 50 * i, intervalMs, address, realtime }
    const whole = more.unicast === true ? { ...plan, unicastPeers } : plan
    return new Holdfast(lab, whole, { ...more.extra }, [], { ...ON, ...more.top })
  })
  const [first, second] = daemons
  if (first === undefined || second === undefined) throw new Error('Cannot start the group')
  await Promise.all(daemons.map((daemon) => daemon.ready()))
  await first.becomes('Active', 5 * intervalMs + 15_000)
  await clocked(first)
  return { lab, first, second, daemons }
}

/** Resolves when the clock has sent a round. Before its first round it may wait for a proof that everything was read. */
function clocked(daemon: Holdfast): Promise<unknown> {
  let before = Number.POSITIVE_INFINITY
  const runs = async () => {
    const { armed, rounds } = (await daemon.router()).clock
    if (armed && rounds > before) return true
    before = armed ? Math.min(before, rounds) : Number.POSITIVE_INFINITY
    return false
  }
  const sight = () => daemon.lastLines(5)
  return eventually(`the clock of ${daemon.host.name} to run`, runs, { sight, within: 15_000, every: 20 })
}

const parentOf = (pid: number) => Number(/PPid:\t(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])

/**
 * Ends the engine of an Active by `end`. Judges the two conditions on which nothing moves: the clock ran until the crash, and the next
 * engine adopted the addresses within 2 s. Resolves with the process id of the next engine, once that engine advertises by the clock.
 */
async function crash(daemon: Holdfast, end = (pid: number) => process.kill(pid, 'SIGKILL')): Promise<number> {
  const { pid } = await daemon.status()
  end(pid)
  const found = (name: string) => daemon.records.find(({ event }) => event === name)
  const report = () => found('engineNotRestarted') ?? found('engineAdopted')
  const { reason, silent } = await eventually('the report of a crash', report, { ...SIGHT(daemon), within: 30_000 })
  judge('the end of an engine', { late: reason === undefined ? [] : [`expected a restart, saw: ${reason}`] })
  judgeTime('ms until an engine is there again', Number(silent), 2_000, 'docs/failures.md')
  await clocked(daemon)
  return (await daemon.status()).pid
}

async function probing(lab: Lab, address: string): Promise<Prober> {
  const prober = new Prober(lab, lab.client, address)
  await prober.answeredBy('r1')
  return prober
}

const SIGHT = (daemon: Holdfast) => ({ sight: () => daemon.lastLines(8), within: 10_000, every: 20 })
const has = (daemon: Holdfast, event: string) => daemon.records.some((record) => record.event === event)
const ended = (daemon: Holdfast) =>
  eventually('the guardian to end', () => daemon.process.exit !== undefined, SIGHT(daemon))

/** Kills the engine, and stops the next one as soon as it exists. Resolves with the process id of the next engine. */
async function stopNextEngine(daemon: Holdfast, pid: number): Promise<number> {
  const guardian = parentOf(pid)
  process.kill(pid, 'SIGKILL')
  const children = () =>
    readFileSync(`/proc/${guardian}/task/${guardian}/children`, 'utf8').trim().split(' ').map(Number)
  const next = await eventually(
    'another engine',
    () => children().find((child) => child !== pid && child > 0 && isNode(child)),
    { sight: () => daemon.lastLines(8), within: 5_000, every: 1 },
  )
  process.kill(next, 'SIGSTOP')
  return next
}

const isNode = (pid: number): boolean => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('node')
  } catch {
    return false
  }
}

const transitionsOf = async (daemon: Holdfast) => (await daemon.router()).counters.transitions

describeNetns('an engine with onCrash: restart', () => {
  test.each<[string, Options]>([
    ['at 10 ms', { intervalMs: 10 }],
    ['at 100 ms', { intervalMs: 100 }],
    ['at 1 s', { intervalMs: 1_000 }],
    ['at 100 ms with --realtime', { intervalMs: 100, realtime: true }],
    ['over IPv6 at 100 ms', { address: LAB_VIP6 }],
    ['with unicast at 100 ms', { unicast: true }],
    ['in a sync group at 100 ms', { top: { syncGroups: [{ name: 'all', members: ['vip'] }] } }],
  ])('%s: a killed engine returns, and no client loses a probe', async (name, options) => {
    const lost: number[] = []
    for (let i = 0; i < KILLS; i++) {
      const { lab, first, second } = await startGroup(options)
      const before = await transitionsOf(second)
      const prober = await probing(lab, options.address ?? LAB_VIP)
      await sleep(300)
      await crash(first)
      await sleep(1_500)
      lost.push((await prober.stop()).lost)
      expect(await transitionsOf(second), 'transitions of the Backup').toEqual(before)
      expect((await first.router()).state).toBe('Active')
      expect(lab.holders(options.address ?? LAB_VIP)).toEqual(['r1'])
      lab.destroy()
    }
    console.log(`${name}: lost probes by kill: ${lost.join(' ')}`)
    expect(Math.max(...lost), 'lost probes').toBe(0)
  })

  test('a killed Backup returns, and nothing moves', async () => {
    const { lab, first, second } = await startGroup()
    const before = await transitionsOf(first)
    const { pid } = await second.status()
    process.kill(pid, 'SIGKILL')
    await eventually('another engine', async () => ((await second.snapshot())?.pid ?? pid) !== pid, SIGHT(second))
    await second.becomes('Backup')
    expect(await transitionsOf(first)).toEqual(before)
    await eventually('r1 alone to have the address', () => lab.holders(LAB_VIP).join() === 'r1', SIGHT(first))
  })

  test('status, journal and log report the restart', async () => {
    const { first } = await startGroup()
    const before = first.records.length
    await crash(first)
    const { engineRestarts } = await first.status()
    expect(engineRestarts).toBe(1)
    expect((await first.router()).reason).toBe('engineRestarted')
    const events = first.records.slice(before).map(({ event }) => event)
    expect(events).toContain('engineRestarted')
    expect(events).toContain('engineAdopted')
    expect(events).not.toContain('plansExecuted')
    const journal = await eventually(
      'the event in the journal',
      () => {
        const text = readFileSync(join(first.directory, 'events.jsonl'), 'utf8')
        return text.includes('"engineRestarted"') ? text : undefined
      },
      SIGHT(first),
    )
    expect(journal).toMatch(/"routers":\["vip"\]/)
  })

  test('a second crash within a minute releases the addresses', async () => {
    const { lab, first, second } = await startGroup()
    process.kill(await crash(first), 'SIGKILL')
    await second.becomes('Active', 5_000)
    await eventually('r2 alone to have the address', () => lab.holders(LAB_VIP).join() === 'r2', SIGHT(first))
    await ended(first)
    expect(first.records.map(({ event }) => event)).toContain('plansExecuted')
    const refusals = first.records.filter(({ event }) => event === 'engineNotRestarted')
    expect(refusals.map(({ reason }) => reason)).toEqual(['the engine was started again less than a minute ago'])
  })

  test('SIGTERM before the new engine is there releases the addresses', async () => {
    const { lab, first, second } = await startGroup()
    const { pid } = await first.status()
    const guardian = parentOf(pid)
    process.kill(pid, 'SIGKILL')
    process.kill(guardian, 'SIGTERM')
    await second.becomes('Active', 5_000)
    await ended(first)
    await eventually('r2 alone to have the address', () => lab.holders(LAB_VIP).join() === 'r2', SIGHT(first))
  })

  test('a better router that starts to advertise before the new engine is there gets the addresses', async () => {
    const { lab, first, second } = await startGroup()
    const { pid } = await first.status()
    // The new engine starts, and stands still before it can adopt anything.
    const stopped = await stopNextEngine(first, pid)
    await second.becomes('Backup')
    second.reload({ ...second.plan, priority: 250 })
    await second.becomes('Active', 5_000)
    await eventually('r2 alone to have the address', () => lab.holders(LAB_VIP).join() === 'r2', SIGHT(first))
    process.kill(stopped, 'SIGCONT')
    await first.becomes('Backup', 10_000)
    await eventually('r2 alone to have the address', () => lab.holders(LAB_VIP).join() === 'r2', SIGHT(first))
  })

  test('a new engine that is not there after two seconds loses the addresses', async () => {
    const { lab, first, second } = await startGroup()
    const { pid } = await first.status()
    const stopped = await stopNextEngine(first, pid)
    await second.becomes('Active', 8_000)
    await eventually('r2 alone to have the address', () => lab.holders(LAB_VIP).join() === 'r2', SIGHT(first))
    process.kill(stopped, 'SIGCONT')
    await first.becomes('Active', 20_000)
    await eventually('r1 alone to have the address', () => lab.holders(LAB_VIP).join() === 'r1', SIGHT(first))
  })

  test('a link that was down before the new engine is there releases the addresses', async () => {
    const { lab, first, second } = await startGroup()
    const { pid } = await first.status()
    const stopped = await stopNextEngine(first, pid)
    lab.unplug(lab.router(1))
    lab.plug(lab.router(1))
    process.kill(stopped, 'SIGCONT')
    await eventually('the plan of the crashed engine to be executed', () => has(first, 'plansExecuted'), SIGHT(first))
    await eventually('the report of the restart', () => has(first, 'engineAdopted'), SIGHT(first))
    await eventually('one holder', () => lab.holders(LAB_VIP).length === 1, { ...SIGHT(first), within: 15_000 })
    expect((await first.router()).reason).not.toBe('engineRestarted')
    expect((await second.status()).routers).toHaveLength(1)
  })

  test('a file that was edited and not reloaded releases the addresses, with a line in the log', async () => {
    const { first, second } = await startGroup()
    writeFileSync(first.file, `${readFileSync(first.file, 'utf8')}\n# edited\n`)
    const { pid } = await first.status()
    process.kill(pid, 'SIGKILL')
    await second.becomes('Active', 5_000)
    await eventually('a line about the file', () => has(first, 'engineNotAdopted'), SIGHT(first))
  })

  test('a router that yields is not kept by a restart', async () => {
    const { first, second } = await startGroup()
    await first.yieldFor(60_000)
    await second.becomes('Active', 5_000)
    const { pid } = await first.status()
    process.kill(pid, 'SIGKILL')
    await ended(first)
    expect(has(first, 'engineRestarted')).toBe(false)
  })

  test('an engine whose health check lowers its priority returns with that priority', async () => {
    const top = { healthchecks: [{ name: 'dead', file: '/nowhere/at/all', content: 'present', interval: '200ms' }] }
    const { lab, first, second } = await startGroup({ top, extra: { track: [{ healthcheck: 'dead', weight: -20 }] } })
    const before = await transitionsOf(second)
    await eventually(
      'the check to lower the priority',
      async () => (await first.router()).priority.effective === 180,
      SIGHT(first),
    )
    const prober = await probing(lab, LAB_VIP)
    await crash(first)
    expect((await first.router()).priority.effective).toBe(180)
    await sleep(1_000)
    expect((await prober.stop()).lost).toBe(0)
    expect(await transitionsOf(second)).toEqual(before)
  })

  test('a guardian that dies before the new engine is there leaves no address after its lifetime', async () => {
    const { lab, first, second } = await startGroup()
    const { pid } = await first.status()
    const guardian = parentOf(pid)
    process.kill(pid, 'SIGKILL')
    process.kill(guardian, 'SIGKILL')
    await second.becomes('Active', 8_000)
    await eventually('r2 alone to have the address', () => lab.holders(LAB_VIP).join() === 'r2', SIGHT(first))
  })

  // An engine that collects garbage for 1.2 s before its end is a blocked one: its clock stops, and nothing is kept.
  test.each(['throw', 'SIGABRT', 'fill'])(
    'an engine that ends by %s returns, and no client loses a probe',
    async (deed) => {
      const file = join(packageRoot(), 'test', 'support', 'misbehaving-engine.mjs')
      process.env.NODE_OPTIONS = `--import=${file} --max-old-space-size=64`
      const order = join(tmpdir(), `deed-${process.pid}-${deed}`)
      process.env.MISBEHAVIOUR = order
      onTestFinished(() => {
        rmSync(order, { force: true })
        delete process.env.NODE_OPTIONS
        delete process.env.MISBEHAVIOUR
      })
      writeFileSync(order, deed)
      const { lab, first, second } = await startGroup()
      const before = await transitionsOf(second)
      const prober = await probing(lab, LAB_VIP)
      await crash(first, (pid) => process.kill(pid, deed === 'SIGABRT' ? 'SIGABRT' : 'SIGWINCH'))
      expect((await prober.stop()).lost, 'lost probes').toBe(0)
      expect(await transitionsOf(second), 'transitions of the Backup').toEqual(before)
    },
  )
})
