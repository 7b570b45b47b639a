/**
 * A hostile or broken neighbour on the LAN sends packets that every router must discard, faster than any router sends.
 * The packets change no state and no timer, and delay no failover. These packets are counted by reason, cause few log
 * lines and use no memory.
 */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { activeDownIntervalMs } from '../../src/lab/daemons/daemon.ts'
import type { Holdfast } from '../../src/lab/daemons/holdfast.ts'
import { packageRoot } from '../../src/lab/installation.ts'
import { LAB_VIP, type Lab } from '../../src/lab/lab.ts'
import { LoggedProcess } from '../../src/lab/logged-process.ts'
import { monotonicMs, sleep } from '../../src/lab/wait.ts'
import { Capture } from '../../src/lab/watch/capture.ts'
import { judgeTime } from '../judge/time.ts'
import { describeNetns } from '../support/require.ts'
import { residentKilobytes } from './resident-memory.ts'
import { INTERVAL, PRIORITIES, ThreeRouters } from './three-routers.ts'

const PACKETS = 100_000
/** Number of starts. Without the drain of docs/adr/0003, the Active lost its addresses in two of five starts. */
const STARTS = 4
/** Every discard reason that the flood causes, in alphabetical order. */
const REASONS = [
  'addr-count-zero',
  'adver-int-zero',
  'checksum',
  'length',
  'truncated',
  'ttl',
  'type',
  'version',
  'vrid-unknown',
]

/** Starts a flood. With `packets` 0, the flood lasts until the lab ends. */
function flood(lab: Lab, packets: number, perSecond: number): LoggedProcess {
  const program = join(packageRoot(), 'test', 'support', 'flood.mjs')
  const words = ['eth0', '51', LAB_VIP, packets, perSecond].map(String)
  return new LoggedProcess(lab, lab.host('observer'), [process.execPath, program, ...words])
}

async function account(daemon: Holdfast) {
  const { interfaces } = await daemon.status()
  const router = await daemon.router()
  const segment = interfaces[0]
  const discarded = segment?.discarded ?? {}
  const total = Object.values(discarded).reduce((sum, count) => sum + count, 0)
  return {
    state: router.state,
    transitions: router.counters.transitions,
    discarded,
    total,
    lost: segment?.overflowed ?? 0,
  }
}

describeNetns('a flood of packets that must be discarded', () => {
  test(`${PACKETS} packets change no state and no timer, are counted by reason, and cause neither log lines nor a growth of memory`, async () => {
    const group = await ThreeRouters.settled()
    const daemons = [1, 2, 3].map((position) => group.daemon(position))
    // A first burst causes allocations that stay. Such allocations are no leak.
    await flood(group.lab, 20_000, 20_000).exited
    await sleep(300)
    const before = await Promise.all(daemons.map(account))
    const holders = group.prober.holders.length
    const memory = daemons.map(residentKilobytes)
    const lines = daemons.map((daemon) => daemon.lines.length)
    const routers = group.lab.routers.map(({ address }) => `src host ${address}`).join(' or ')
    const capture = await Capture.start(group.lab, 'flood', `ip proto 112 and (${routers})`)

    const source = flood(group.lab, PACKETS, 20_000)
    await source.exited
    const { sent } = JSON.parse(source.lines.at(-1)?.text ?? '{}')
    expect(sent, 'packets that the flood sent').toBe(PACKETS)
    await sleep(500)

    const advertisements = await capture.stop()
    const after = await Promise.all(daemons.map(account))
    for (const [i, daemon] of daemons.entries()) {
      const { name } = daemon.plan.host
      const [then, now] = [before[i], after[i]]
      if (then === undefined || now === undefined) throw new Error(`Cannot find the counters of ${name}`)
      expect(now.state, `state of ${name}`).toBe(then.state)
      expect(now.transitions, `transitions of ${name}`).toEqual(then.transitions)
      expect(Object.keys(now.discarded).sort(), `reasons counted by ${name}`).toEqual(REASONS)
      // The veth may drop some of a burst before any socket of the daemon sees it.
      const counted = now.total + now.lost - then.total - then.lost
      expect(counted, `packets counted by ${name}`).toBeLessThanOrEqual(PACKETS)
      expect(counted, `packets counted by ${name}`).toBeGreaterThan(0.95 * PACKETS)
      expect(daemon.lines.length - (lines[i] ?? 0), `log lines of ${name} about ${counted} packets`).toBeLessThan(1_000)
      expect(residentKilobytes(daemon) - (memory[i] ?? 0), `growth of ${name} in kB`).toBeLessThan(16_000)
    }
    expect(
      new Set(advertisements.map(({ source: from }) => from)),
      'sources of the advertisements during the flood',
    ).toEqual(new Set([group.lab.router(1).address]))
    const times = advertisements.map(({ at }) => 1_000 * Number(at))
    const longest = Math.max(...times.slice(1).map((at, i) => at - (times[i] ?? at)))
    judgeTime('longest ms between two advertisements of the Active', longest, 3 * INTERVAL, 'docs/failures.md')
    expect(
      group.prober.holders.slice(holders),
      'changes of the router that answers the client during the flood',
    ).toEqual([])
  })

  test(`a flood that begins when the engines have just started changes no state, in ${STARTS} starts`, async () => {
    for (let start = 1; start <= STARTS; start++) {
      const group = await ThreeRouters.settled()
      const holders = group.prober.holders.length
      const before = await Promise.all([1, 2, 3].map((position) => account(group.daemon(position))))
      const since = monotonicMs()
      const source = flood(group.lab, 0, 20_000)
      await sleep(1_500)
      expect(source.exit, 'exit of the flood program, which must still run').toBeUndefined()
      const moved = group.prober.holders
        .slice(holders)
        .map(({ at, name }) => `${name} after ${(at - since).toFixed(0)} ms`)
      expect(moved, `routers other than r1 that answered the client during the flood after start ${start}`).toEqual([])
      for (const [i, then] of before.entries())
        expect((await account(group.daemon(i + 1))).transitions, `transitions of r${i + 1}`).toEqual(then.transitions)
      group.lab.destroy()
    }
  })

  test('an Active that dies during the flood is replaced while the flood goes on', async () => {
    const group = await ThreeRouters.settled()
    const holders = group.prober.holders.length
    const source = flood(group.lab, 0, 20_000)
    await sleep(1_000)
    expect(group.prober.holders.slice(holders), 'changes of the router that answers the client before r1 died').toEqual(
      [],
    )
    const at = group.lab.cut(group.lab.router(1))
    await group.answeredBy(2, 'r1 died during a flood')
    const moved = (group.prober.movedFrom('r1', at)?.at ?? Number.NaN) - at
    expect(source.exit, 'exit of the flood program, which must still run').toBeUndefined()
    judgeTime(
      'ms until r2 answered the client',
      moved,
      activeDownIntervalMs(PRIORITIES[1], INTERVAL) + 1_000,
      'RFC 9568 §6.1',
    )
    expect(await group.daemon(3).state(), 'state of r3 after r2 took over').toBe('Backup')
  })
})
