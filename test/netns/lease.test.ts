/**
 * Groups with `lease: on`, seen from outside (docs/adr/0086). The guardian of the Active repeats the advertisements, and
 * the engine is not woken for them. No frame of the guardian contradicts a later frame of the engine, and no fault of one
 * process alone moves the addresses.
 */
import {
  closeSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect, type TestContext } from 'vitest'
import { Holdfast } from '../../src/lab/daemons/holdfast.ts'
import { createLab, LAB_VIP, LAB_VIP6 } from '../../src/lab/lab.ts'
import { eventually, sleep } from '../../src/lab/wait.ts'
import { Capture, type Frame } from '../../src/lab/watch/capture.ts'
import { judgeTime } from '../judge/time.ts'
import { Attacker } from '../support/attacker.ts'
import { advertisementFrame } from '../support/forged-frame.ts'
import { describeNetns } from '../support/require.ts'
import { Turns } from '../support/turns.ts'

const ON = { lease: 'on' }
const ADVERTISEMENTS = 'ip proto 112 or ip6 proto 112'
/** Milliseconds without a proof after which the lease ends, and those of a busy machine. */
const LEASE = 1_200
const MARGIN = 500
const DEMOTIONS = 50

type Options = {
  readonly intervalMs: number
  readonly address?: string
  readonly unicast?: boolean
  readonly realtime?: boolean
}

async function startGroup({ onTestFinished }: TestContext, options: Options, isSyncGroup = false) {
  const { intervalMs, address = LAB_VIP, realtime = false, unicast = false } = options
  const lab = createLab({ routers: 3, ipv6: address.includes(':') })
  onTestFinished(() => lab.destroy())
  const daemons = lab.routers.map((host, i) => {
    const unicastPeers = lab.routers.filter((other) => other !== host).map((other) => other.address)
    const plan = { host, priority: 200 - 50 * i, intervalMs, address, realtime }
    const top = isSyncGroup ? { ...ON, syncGroups: [{ name: 'all', members: ['vip'] }] } : ON
    return new Holdfast(lab, unicast ? { ...plan, unicastPeers } : plan, {}, [], top)
  })
  await Promise.all(daemons.map((daemon) => daemon.ready()))
  const [first, second] = daemons
  if (first === undefined || second === undefined) throw new Error('No daemon')
  await first.becomes('Active', 5 * intervalMs + 8_000)
  await clocked(first)
  return { lab, first, second, daemons }
}

const clocked = (daemon: Holdfast) =>
  eventually(`the clock of ${daemon.host.name} to run`, async () => (await daemon.router()).clock.armed, {
    sight: () => daemon.lastLines(5),
    within: 15_000,
    every: 20,
  })

const advertisements = (frames: readonly Frame[]) =>
  frames
    .filter(({ vrid }) => vrid !== '')
    .map(({ at, priority, source }) => ({ at: Number(at) * 1_000, priority: Number(priority), source }))

const longestGap = (all: readonly { readonly at: number }[]) =>
  Math.max(...all.slice(1).map(({ at }, i) => at - (all[i]?.at ?? 0)))

const transitionsOf = async (daemons: readonly Holdfast[]) =>
  (await Promise.all(daemons.map((daemon) => daemon.router()))).map(({ counters }) => counters.transitions)

/** Returns how often the main thread of a process has waited. */
const waitsOf = (pid: number) =>
  Number(/voluntary_ctxt_switches:\t(\d+)/.exec(readFileSync(`/proc/${pid}/task/${pid}/status`, 'utf8'))?.[1])

const parentOf = (pid: number) => Number(/PPid:\t(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])

/** Offset of `asked_at` in the memory that guardian and engine share (native/common/guardian-words.h). */
const ASKED_AT = 40

/**
 * Takes the net of the lease away: erases each question of the clock thread as soon as it is asked, as if an engine had
 * proved that it works. Returns a function that ends this.
 */
function eraseQuestions(guardian: number): () => void {
  const folder = `/proc/${guardian}/fd`
  const name = readdirSync(folder).find((fd) => readlinkSync(join(folder, fd)).includes('holdfast-words'))
  if (name === undefined) throw new Error('No shared memory')
  const memory = openSync(join(folder, name), 'r+')
  const timer = setInterval(() => writeSync(memory, Buffer.alloc(8), 0, 8, ASKED_AT), 20)
  return () => {
    clearInterval(timer)
    closeSync(memory)
  }
}

/** The tests wait for daemons on labs of their own. */
const turns = new Turns(3)

describeNetns('a group with lease on', () => {
  turns.test('the engine of an idle Active is not woken for its advertisements', async (context) => {
    const { lab, first } = await startGroup(context, { intervalMs: 100 })
    const { pid } = await first.status()
    // The announcements of the takeover, and its first code, wake the engine.
    await sleep(6_000)
    const capture = await Capture.start(lab, 'idle', ADVERTISEMENTS)
    const { clock } = await first.router()
    const before = waitsOf(pid)
    await sleep(10_000)
    const waits = waitsOf(pid) - before
    const { rounds } = (await first.router()).clock
    const sent = advertisements(await capture.stop())
    expect(sent.length).toBeGreaterThan(95)
    expect(rounds - clock.rounds).toBeGreaterThan(95)
    // Each advertisement of an engine is at least one wait.
    expect(waits, 'waits of the main thread in 10 s').toBeLessThan(80)
  })

  for (const [name, options] of [
    ['IPv4 at 100 ms', { intervalMs: 100 }],
    ['IPv4 at 1 s', { intervalMs: 1_000 }],
    ['unicast at 100 ms', { intervalMs: 100, unicast: true }],
    ['IPv6 at 100 ms', { intervalMs: 100, address: LAB_VIP6 }],
  ] as const)
    turns.test(`${name}: an engine that is stopped in good order sends priority 0 last`, async (context) => {
      const { lab, first, second } = await startGroup(context, options)
      const capture = await Capture.start(lab, 'stop', ADVERTISEMENTS)
      await sleep(2 * options.intervalMs)
      first.process.signal('SIGTERM')
      await second.becomes('Active', 5_000)
      await eventually('the process to end', () => first.process.exit !== undefined, {
        sight: () => first.lastLines(3),
        within: 10_000,
      })
      const own = advertisements(await capture.stop()).filter(({ priority }) => priority === 200 || priority === 0)
      const zero = own.findIndex(({ priority }) => priority === 0)
      expect(zero).toBeGreaterThan(0)
      expect(own.slice(zero).filter(({ priority }) => priority !== 0)).toEqual([])
    })

  turns.test('an engine that stands still for 500 ms moves nothing', async (context) => {
    const { lab, first, daemons } = await startGroup(context, { intervalMs: 100 })
    const { pid } = await first.status()
    const before = await transitionsOf(daemons)
    const capture = await Capture.start(lab, 'stall', ADVERTISEMENTS)
    await sleep(500)
    for (let i = 0; i < 5; i++) {
      process.kill(pid, 'SIGSTOP')
      await sleep(500)
      process.kill(pid, 'SIGCONT')
      await sleep(800)
    }
    const sent = advertisements(await capture.stop())
    judgeTime('ms between two advertisements', longestGap(sent), 250, 'docs/adr/0086')
    expect(await transitionsOf(daemons)).toEqual(before)
  })

  turns.test('an engine that stands still for 1.8 s moves nothing at an interval of 1 s', async (context) => {
    const { first, daemons } = await startGroup(context, { intervalMs: 1_000 })
    const { pid } = await first.status()
    const before = await transitionsOf(daemons)
    for (let i = 0; i < 2; i++) {
      process.kill(pid, 'SIGSTOP')
      await sleep(1_800)
      process.kill(pid, 'SIGCONT')
      await sleep(1_500)
    }
    expect(await transitionsOf(daemons)).toEqual(before)
  })

  turns.test('without the end of the lease, an engine that stands still keeps its addresses', async (context) => {
    const { lab, first } = await startGroup(context, { intervalMs: 100 })
    const { pid } = await first.status()
    const unasked = eraseQuestions(parentOf(pid))
    try {
      process.kill(pid, 'SIGSTOP')
      await sleep(2 * LEASE + MARGIN)
      expect(lab.holders(LAB_VIP)).toEqual(['r1'])
    } finally {
      unasked()
      process.kill(pid, 'SIGCONT')
    }
  })

  turns.test('an engine that stands still for good loses its addresses when the lease ends', async (context) => {
    const { lab, first, second } = await startGroup(context, { intervalMs: 100 }, true)
    const { pid } = await first.status()
    await sleep(1_000)
    const at = performance.now()
    process.kill(pid, 'SIGSTOP')
    await second.becomes('Active', 10_000)
    const took = performance.now() - at
    expect(lab.holders(LAB_VIP)).toEqual(['r2'])
    process.kill(pid, 'SIGCONT')
    judgeTime('ms until the next router has the address', took, LEASE + 300 + MARGIN, 'docs/adr/0089')
    await first.becomes('Active', 20_000)
    await clocked(first)
  })

  turns.test('the engine of a guardian that stands still advertises by itself', async (context) => {
    const { lab, first, daemons } = await startGroup(context, { intervalMs: 100 })
    const guardian = parentOf((await first.status()).pid)
    const before = await transitionsOf(daemons)
    const capture = await Capture.start(lab, 'guardian', ADVERTISEMENTS)
    await sleep(1_000)
    process.kill(guardian, 'SIGSTOP')
    await sleep(800)
    process.kill(guardian, 'SIGCONT')
    await sleep(3_000)
    const sent = advertisements(await capture.stop())
    judgeTime('ms between two advertisements', longestGap(sent), 320, 'docs/adr/0086')
    expect(await transitionsOf(daemons)).toEqual(before)
    await clocked(first)
  })

  for (const rate of [200, 2_000])
    turns.test(`${rate} forged packets a second neither silence the Active nor move the address`, async (context) => {
      const { lab, first, daemons } = await startGroup(context, { intervalMs: 100, realtime: true })
      const attacker = new Attacker(lab, lab.client)
      await attacker.ready()
      const before = await transitionsOf(daemons)
      const capture = await Capture.start(lab, 'forged', ADVERTISEMENTS)
      // Each of these packets is news that the engine has to read, although the engine refuses the TTL.
      const frame = advertisementFrame({ source: '10.77.0.66', priority: 255, ttl: 1 })
      const { sent } = await attacker.send([frame], 3 * rate, rate)
      const own = advertisements(await capture.stop()).filter(({ source }) => source === first.host.address)
      console.log(`${sent} forged packets: ${own.length} advertisements, longest gap ${longestGap(own).toFixed(1)} ms`)
      expect(sent).toBe(3 * rate)
      expect(own.length).toBeGreaterThan(20)
      judgeTime('ms between two advertisements', longestGap(own), 150 + 60, 'docs/adr/0094')
      expect(await transitionsOf(daemons)).toEqual(before)
    })

  turns.test(
    `after a demotion by a check no advertisement has the former priority, ${DEMOTIONS} times`,
    async (context) => {
      const lab = createLab({ routers: 2 })
      context.onTestFinished(() => lab.destroy())
      const weight = join(lab.directory, 'weight')
      writeFileSync(weight, '0')
      // A worker that gets no CPU for seconds would make the check unknown, and the priority 200 again.
      const healthchecks = [{ name: 'number', file: weight, content: 'weight', interval: '50ms', unknownAfter: '60s' }]
      const plan = { host: lab.router(1), priority: 200, intervalMs: 100, address: LAB_VIP }
      const extra = { track: [{ healthcheck: 'number', weight: 1 }] }
      const daemon = new Holdfast(lab, plan, extra, [], { ...ON, healthchecks })
      await daemon.becomes('Active', 15_000)
      await clocked(daemon)
      const capture = await Capture.start(lab, 'demotion', ADVERTISEMENTS)
      for (let i = 1; i <= DEMOTIONS; i++) {
        // An empty file holds 0, so the new content replaces the file in one step.
        writeFileSync(`${weight}.new`, `${-i}`)
        renameSync(`${weight}.new`, weight)
        await sleep(250 + Math.random() * 100)
      }
      const sent = advertisements(await capture.stop())
      expect(sent.slice(1).filter(({ priority }, i) => priority > (sent[i]?.priority ?? 0))).toEqual([])
      expect(new Set(sent.map(({ priority }) => priority)).size).toBeGreaterThan(DEMOTIONS / 2)
      expect((await daemon.router()).clock.rounds).toBeGreaterThan(DEMOTIONS / 2)
    },
  )

  turns.test('a yield hands the addresses over, and they come back', async (context) => {
    const { lab, first, second } = await startGroup(context, { intervalMs: 100 })
    await first.yieldFor(1_000)
    await second.becomes('Active', 5_000)
    await clocked(second)
    await first.becomes('Active', 20_000)
    await clocked(first)
    expect(lab.holders(LAB_VIP)).toEqual(['r1'])
  })

  turns.test('a reload to lease: on logs once for which routers the engine advertises', async ({ onTestFinished }) => {
    const lab = createLab({ routers: 1 })
    onTestFinished(() => lab.destroy())
    const [host] = lab.routers
    if (host === undefined) throw new Error('No node')
    const plan = { host, priority: 255, intervalMs: 1_000, address: LAB_VIP }
    const daemon = new Holdfast(lab, plan, { ownAddresses: 'installed' }, [], { lease: 'off' })
    await daemon.becomes('Active')
    const logged = () => daemon.records.filter(({ event }) => event === 'leaseNotInForce').map(({ msg }) => msg)
    const reloaded = async (count: number) => {
      daemon.process.signal('SIGHUP')
      await eventually('the reload', async () => (await daemon.status()).config.reloads.ok === count, {
        sight: () => daemon.lastLines(5),
        within: 10_000,
      })
    }
    expect(logged()).toEqual([])
    daemon.write({ ...JSON.parse(readFileSync(daemon.file, 'utf8')), lease: 'on' })
    await reloaded(1)
    await reloaded(2)
    expect(logged()).toEqual([expect.stringContaining('The engine sends each advertisement of vip')])
  })

  turns.test('after a reload the clock sends the new priority', async (context) => {
    const { lab, first } = await startGroup(context, { intervalMs: 100 })
    first.reload({ ...first.plan, priority: 210 })
    await eventually('the new priority', async () => (await first.router()).priority.effective === 210, {
      sight: () => first.lastLines(3),
      within: 10_000,
    })
    await clocked(first)
    const capture = await Capture.start(lab, 'reload', ADVERTISEMENTS)
    await sleep(2_000)
    const sent = advertisements(await capture.stop())
    expect(new Set(sent.map(({ priority }) => priority))).toEqual(new Set([210]))
  })
})
