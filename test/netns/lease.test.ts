/**
 * Three holdfast routers with `lease: on` in namespaces, seen from outside: the guardian of the Active repeats the
 * advertisements, and the engine is not woken for them (docs/adr/0086).
 */
import { readFileSync } from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import { Holdfast } from '../../src/lab/daemons/holdfast.ts'
import { createLab, LAB_VIP } from '../../src/lab/lab.ts'
import { eventually, sleep } from '../../src/lab/wait.ts'
import { Capture, type Frame } from '../../src/lab/watch/capture.ts'
import { describeNetns } from '../support/require.ts'

const ON = { lease: 'on' }

type Plan = { readonly intervalMs: number; readonly address?: string; readonly unicast?: boolean }

async function startGroup({ intervalMs, address = LAB_VIP, unicast = false }: Plan) {
  const lab = createLab({ routers: 3, ipv6: address.includes(':') })
  onTestFinished(() => lab.destroy())
  const daemons = lab.routers.map((host, i) => {
    const others = lab.routers.filter((other) => other !== host)
    const unicastPeers = unicast ? others.map((other) => other.address) : undefined
    const plan = { host, priority: 200 - 50 * i, intervalMs, address }
    return new Holdfast(lab, unicastPeers === undefined ? plan : { ...plan, unicastPeers }, {}, [], ON)
  })
  await Promise.all(daemons.map((daemon) => daemon.ready()))
  const [first] = daemons
  if (first === undefined) throw new Error('No daemon')
  await first.becomes('Active', 5 * intervalMs + 5_000)
  await eventually('the clock of the Active to run', async () => (await first.router()).clock.armed, {
    sight: () => first.lastLines(5),
    within: 3 * intervalMs + 5_000,
    every: 50,
  })
  return { lab, daemons, first }
}

/** Returns how often the main thread of a process has waited. */
function waits(pid: number): number {
  const text = readFileSync(`/proc/${pid}/task/${pid}/status`, 'utf8')
  return Number(/voluntary_ctxt_switches:\t(\d+)/.exec(text)?.[1])
}

const advertisementsOf = (frames: readonly Frame[], source: string) =>
  frames
    .filter((frame) => frame.versionAndType !== '' && frame.source === source)
    .map(({ at, priority }) => ({ at: Number(at) * 1_000, priority: Number(priority) }))

const gaps = (all: readonly { readonly at: number }[]) => all.slice(1).map(({ at }, i) => at - (all[i]?.at ?? 0))

describeNetns('a group with lease on', () => {
  test('the guardian repeats the advertisements of an idle Active at 100 ms, and the engine is not woken for them', async () => {
    const { lab, first } = await startGroup({ intervalMs: 100 })
    const { pid } = await first.status()
    await sleep(6_000)
    const capture = await Capture.start(lab, 'idle')
    const from = await first.router()
    const before = waits(pid)
    await sleep(10_000)
    const woken = waits(pid) - before
    const after = await first.router()
    const sent = advertisementsOf(await capture.stop(), lab.router(1).address)
    expect(sent.length).toBeGreaterThan(95)
    expect(after.clock.rounds - from.clock.rounds).toBeGreaterThan(95)
    expect(woken, 'waits of the main thread in 10 s').toBeLessThan(90)
    expect(Math.max(...gaps(sent)), 'ms between two advertisements').toBeLessThan(200)
  })
})
