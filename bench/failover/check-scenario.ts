/**
 * The service behind the address fails on the node that holds it, its daemon lives: three equal nodes (priority 40), what
 * their checks add decides. Decides what an accident is and how long to look; what is measured is what the other
 * scenarios measure, and who answers the client is a responder that does not fail.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Prober, startResponder } from '../../src/cli/demo-probe.ts'
import { ArpObserver } from '../../test/support/arp-observer.ts'
import { createAuthority } from '../../test/support/certificates.ts'
import { activeDownIntervalMs } from '../../test/support/daemon.ts'
import { createLab, LAB_VIP } from '../../test/support/lab.ts'
import { eventually, monotonicMs, sleep } from '../../test/support/wait.ts'
import { CheckedNode, PAGE, type Questions, SUM, startHoldfast, startKeepalived } from './checked-node.ts'
import type { LineUp, Measurement } from './scenario.ts'

export const CHECK_SCENARIOS = [
  'check-killed',
  'check-hung',
  'check-500',
  'openshift-killed',
  'openshift-hung',
  'openshift-500',
] as const
export type CheckScenario = (typeof CHECK_SCENARIOS)[number]

export const isCheckScenario = (name: string): name is CheckScenario => CHECK_SCENARIOS.some((each) => each === name)

const questionsOf = (scenario: CheckScenario) => (scenario.startsWith('check') ? 'page' : 'openshift')

/** Between two polls, and after how long a poll that gets no answer has failed, ms; so many failures count. */
const CADENCE: Readonly<Record<Exclude<Questions, 'none'>, { interval: number; timeout: number; fall: number }>> = {
  page: { interval: 1_000, timeout: 1_000, fall: 1 },
  openshift: { interval: 2_000, timeout: 1_900, fall: 3 },
}

/** Polls alone and Active_Down_Interval: what checking as keepalived does it comes to. */
export function checkTheory(
  scenario: CheckScenario,
  intervalMs: number,
): { readonly from: number; readonly to: number } {
  const questions = questionsOf(scenario)
  const { interval, timeout, fall } = CADENCE[questions]
  const down = activeDownIntervalMs(SUM[questions].well, intervalMs)
  const noticed = (fall - 1) * interval + (scenario.endsWith('hung') ? timeout : 0)
  return { from: noticed + down - intervalMs, to: noticed + interval + down }
}

const PATIENCE = 60_000

export async function measureCheck(scenario: CheckScenario, intervalMs: number, lineUp: LineUp): Promise<Measurement> {
  if (lineUp !== 'holdfast' && lineUp !== 'keepalived')
    throw new Error(`no ${lineUp} in ${scenario}: all nodes are equal`)
  const questions = questionsOf(scenario)
  const { well, failed } = SUM[questions]
  const down = activeDownIntervalMs(well, intervalMs)
  const lab = createLab({ routers: 3 })
  const authority = createAuthority()
  try {
    const certificate = authority.issue('DNS:localhost')
    const nodes = lab.routers.map((host) => new CheckedNode(lab, host, questions, certificate))
    await Promise.all(nodes.map((node) => node.ready()))
    const unicastPeers = lab.routers.map(({ address }) => address)
    const start = (i: number) => {
      const host = lab.router(i + 1)
      // OpenShift's configuration has no version: 2, with a password.
      const dialect = { version: 2, password: 'ostest_a' } as const
      const others = unicastPeers.filter((peer) => peer !== host.address)
      const plan = { host, priority: 40, intervalMs, address: LAB_VIP, unicastPeers: others, ...dialect }
      const folder = nodes[i]?.folder ?? ''
      return lineUp === 'holdfast'
        ? startHoldfast(lab, plan, questions, folder)
        : startKeepalived(lab, plan, questions, folder)
    }
    const holds = (name: string) => () => lab.holders(LAB_VIP).join() === name
    const holders = () => lab.holders(LAB_VIP)
    const wait = { within: 10_000 + 6 * down, every: 50 }
    for (const host of lab.routers) startResponder(lab, host)
    const first = start(0)
    await first.ready()
    // Of equals the first to come is Active.
    await eventually('r1 to hold the address', holds('r1'), holders, wait)
    await Promise.all([start(1), start(2)].map((daemon) => daemon.ready()))
    const prober = new Prober(lab, lab.client, LAB_VIP)
    const observer = new ArpObserver(lab, lab.host('observer'), LAB_VIP)
    const owner = (name: string) => () => prober.owner === name
    await eventually('the client to reach r1', owner('r1'), () => prober.owners, { within: 5_000 })
    // A Backup that has just come does not hurry, with either daemon; and a poll is at a random phase.
    await sleep(down + 1_000 + Math.random() * CADENCE[questions].interval)
    if (lab.holders(LAB_VIP).join() !== 'r1') throw new Error(`r1 does not hold the address: ${holders()}`)

    const [node] = nodes
    const [service] = node?.services ?? []
    if (node === undefined || service === undefined) throw new Error('no service was started')
    const at = scenario.endsWith('500')
      ? answer500(join(node.folder, PAGE[questions]))
      : service.signal(scenario.endsWith('killed') ? 'SIGKILL' : 'SIGSTOP')
    const moved = await eventually(
      `another router to answer (priority ${well} against ${failed})`,
      () => prober.movedFrom('r1', at),
      () => prober.owners,
      { within: PATIENCE, every: 20 },
    )
    // A duel of equals may end in a client that is led astray for 5 s.
    await sleep(6_000)
    const until = monotonicMs()
    const { lost } = await prober.stop()
    await observer.stop()
    const gaps = prober.gaps.filter((gap) => gap.to >= at - 5 && gap.from <= until)
    const earlier = prober.gaps.filter((gap) => gap.to < at - 5)
    return {
      outageMs: Math.max(1, ...gaps.map((gap) => gap.to - gap.from)),
      lost: lost - earlier.reduce((sum, gap) => sum + gap.lost, 0),
      movedMs: moved.at - at,
      overlapMs: observer.overlap(at, until),
      stale: (observer.claims.at(-1)?.macs.length ?? 0) > 1,
    }
  } finally {
    authority.remove()
    lab.destroy()
  }
}

function answer500(path: string): number {
  const at = monotonicMs()
  writeFileSync(path, '500')
  return at
}
