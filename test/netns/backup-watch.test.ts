/**
 * Backups with `lease: on`, seen from outside (docs/adr/0087). The repetitions of an advertisement do not wake the
 * engine, and nothing that a Backup has to do comes later or not at all.
 */
import { expect, type TestContext } from 'vitest'
import { Holdfast } from '../../src/lab/daemons/holdfast.ts'
import { ip } from '../../src/lab/ip.ts'
import { createLab, LAB_VIP, LAB_VIP6 } from '../../src/lab/lab.ts'
import { eventually, monotonicMs, sleep } from '../../src/lab/wait.ts'
import { judgeTime } from '../judge/time.ts'
import { describeNetns } from '../support/require.ts'
import { Turns } from '../support/turns.ts'

const ON = { lease: 'on' }
const INTERVAL = 100
const REST = 10_000
/** Active_Down_Interval of a Backup with priority 150 at 100 ms, in milliseconds. */
const DOWN = 3 * INTERVAL + (INTERVAL * (256 - 150)) / 256
/** Milliseconds for a busy machine. */
const MARGIN = 400

type Options = { readonly address?: string; readonly unicast?: boolean }

function createGroup({ onTestFinished }: TestContext, options: Options = {}) {
  const { address = LAB_VIP, unicast = false } = options
  const lab = createLab({ routers: 2, ipv6: address.includes(':') })
  onTestFinished(() => lab.destroy())
  const start = (position: number, priority: number, extra: object = {}) => {
    const host = lab.router(position)
    const unicastPeers = lab.routers.filter((other) => other !== host).map((other) => other.address)
    const plan = { host, priority, intervalMs: INTERVAL, address }
    return new Holdfast(lab, unicast ? { ...plan, unicastPeers } : plan, { ...extra }, [], ON)
  }
  return { lab, start }
}

async function settled(context: TestContext, options: Options = {}) {
  const { lab, start } = createGroup(context, options)
  const [active, backup] = [start(1, 200), start(2, 150)]
  await Promise.all([active.ready(), backup.ready()])
  await active.becomes('Active', 10_000)
  await quiet(backup)
  return { lab, start, active, backup }
}

const turnsOf = async (daemon: Holdfast) => (await daemon.status()).turns

/** Returns the number of transitions to Active since the start of the daemon. */
async function takeovers(daemon: Holdfast): Promise<number> {
  const { transitions } = (await daemon.router()).counters
  return transitions.filter(({ to }) => to === 'Active').reduce((sum, { count }) => sum + count, 0)
}

/** Waits until the advertisements of the Active no longer wake the Backup. */
async function quiet(daemon: Holdfast): Promise<void> {
  await eventually(
    `the repetitions not to wake ${daemon.host.name}`,
    async () => {
      const before = await daemon.status()
      await sleep(10 * INTERVAL)
      const after = await daemon.status()
      const received = (after.routers[0]?.counters.received ?? 0) - (before.routers[0]?.counters.received ?? 0)
      return received > 5 && after.turns.advertisement === before.turns.advertisement
    },
    { sight: () => daemon.lastLines(5), within: 20_000, every: 50 },
  )
}

/** The tests wait for daemons on labs of their own. */
const turns = new Turns(3)

describeNetns('a Backup with lease on', () => {
  for (const [name, options] of [
    ['IPv4', {}],
    ['IPv6', { address: LAB_VIP6 }],
    ['unicast', { unicast: true }],
  ] as const)
    turns.test(
      `${name}: an idle Backup has less than one turn in a second, and its status has each advertisement`,
      async (context) => {
        const { backup } = await settled(context, options)
        const before = await backup.status()
        await sleep(REST)
        const after = await backup.status()
        const [first, last] = [before.routers[0], after.routers[0]]
        expect(last?.state).toBe('Backup')
        const received = (last?.counters.received ?? 0) - (first?.counters.received ?? 0)
        expect(received, `packets, transitions ${JSON.stringify(last?.counters.transitions)}`).toBeGreaterThan(90)
        expect(last?.holder.heardMsAgo ?? Number.POSITIVE_INFINITY, 'ms since the last advertisement').toBeLessThan(500)
        const causes = Object.entries(after.turns).map(([cause, count]) => [
          cause,
          count - (Object.entries(before.turns).find(([name]) => name === cause)?.[1] ?? 0),
        ])
        const count = causes.reduce((sum, [, own]) => sum + Number(own), 0)
        expect(count, `turns in ${REST} ms: ${JSON.stringify(causes)}`).toBeLessThan(REST / 1_000)
      },
    )

  turns.test(
    'a Backup takes over Active_Down_Interval after the last advertisement of a silent Active',
    async (context) => {
      const { backup, lab } = await settled(context)
      // On a busy machine, the routers may have taken over from each other at their start.
      const before = await takeovers(backup)
      ip(lab.router(1).namespace, 'link set eth0 down')
      const at = monotonicMs()
      await backup.becomes('Active', 5_000)
      judgeTime('ms from the silence to the takeover', monotonicMs() - at, DOWN + MARGIN, 'docs/adr/0087')
      expect((await backup.router()).reason).toBe('activeSilent')
      expect((await takeovers(backup)) - before).toBe(1)
    },
  )

  turns.test(
    'a Backup follows each change of the Active that it watches: other priority, priority 0, return',
    async (context) => {
      const { active, backup } = await settled(context)
      const plan = active.plan
      active.reload({ ...plan, priority: 180 })
      await eventually(
        'the Backup to know the new priority',
        async () => (await backup.router()).holder.priority === 180,
        { sight: () => backup.lastLines(3), within: 5_000 },
      )
      await quiet(backup)
      active.reload({ ...plan, priority: 100 })
      await backup.becomes('Active', 5_000)
      await active.becomes('Backup', 5_000)
      await quiet(active)
      backup.process.signal('SIGTERM')
      const at = monotonicMs()
      await active.becomes('Active', 5_000)
      judgeTime('ms from SIGTERM to the successor', monotonicMs() - at, INTERVAL + MARGIN, 'docs/adr/0087')
    },
  )

  turns.test(
    'a better Backup preempts at the end of preemptDelay, although the advertisements only repeat',
    async (context) => {
      const { start } = createGroup(context)
      const lower = start(1, 100)
      await lower.ready()
      await lower.becomes('Active', 5_000)
      const better = start(2, 200, { preemptDelay: '4s' })
      await better.ready()
      const at = monotonicMs()
      await sleep(2_000)
      const before = (await turnsOf(better)).advertisement
      await sleep(1_000)
      // The delay is watched as well.
      expect((await turnsOf(better)).advertisement - before, 'turns for advertisements in 1 s').toBeLessThan(5)
      expect(await better.state()).toBe('Backup')
      await better.becomes('Active', 10_000)
      judgeTime('ms from the start to the preemption', monotonicMs() - at, 4_000 + 3 * DOWN + MARGIN, 'docs/adr/0087')
      expect((await better.router()).reason).toBe('lowerPriorityActive')
      await lower.becomes('Backup', 5_000)
    },
  )

  turns.test('a Backup whose link was down is quiet again, with new sockets', async (context) => {
    const { lab, active, backup } = await settled(context)
    const before = (await backup.router()).counters.received
    const mute = lab.router(2)
    ip(mute.namespace, 'link set eth0 down')
    await backup.becomes('Initialize', 5_000)
    ip(mute.namespace, 'link set eth0 up')
    await backup.becomes('Backup', 10_000)
    await quiet(backup)
    expect((await backup.router()).counters.received).toBeGreaterThan(before)
    expect(await active.state()).toBe('Active')
  })
})
