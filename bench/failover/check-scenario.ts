/**
 * Defines the accident in which the service behind the virtual address fails on the holder, whose VRRP daemon
 * continues. Three nodes have equal base priorities (40), so their health checks decide. This file decides how the
 * service fails, and how long the group is observed. The measurement is that of the other scenarios. A responder that
 * does not fail answers the client.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { activeDownIntervalMs, type Daemon } from '../../src/lab/daemons/daemon.ts'
import type { Lab } from '../../src/lab/lab.ts'
import { eventually, monotonicMs, sleep } from '../../src/lab/wait.ts'
import { createAuthority } from '../../test/support/certificates.ts'
import { type Cell, only, type Run, type Special, type Theory } from './accident.ts'
import { inLab } from './accident-lab.ts'
import { CheckedNode, PAGE, type Questions, SUM, startHoldfast, startKeepalived } from './checked-node.ts'
import type { Turn } from './company.ts'
import { addressOf, prepareFamily, startObservation, vipOf } from './observation.ts'

const FAILURES = { killed: 'killed', hung: 'hangs', 500: 'answers 500' } as const
type Failure = keyof typeof FAILURES

/**
 * For each set of checks: milliseconds between two runs of a check, timeout of a run in ms, and number of failed runs
 * until the check is down.
 */
const CADENCE: Readonly<Record<Exclude<Questions, 'none'>, { interval: number; timeout: number; fall: number }>> = {
  page: { interval: 1_000, timeout: 1_000, fall: 1 },
  openshift: { interval: 2_000, timeout: 1_900, fall: 3 },
}
type Asked = keyof typeof CADENCE

/** Longest start of daemons and services in milliseconds. Daemons and services start slowly on a busy machine. */
const START = 30_000
/**
 * Milliseconds for which the client is observed after a contest of equal routers, which may mislead the client for 5 s.
 */
const DUEL = 6_000

/**
 * Returns the takeover time that the check interval and Active_Down_Interval alone predict, for a daemon that checks
 * like keepalived.
 */
function checkTheory(questions: Asked, failure: string, intervalMs: number): Theory {
  const { interval, timeout, fall } = CADENCE[questions]
  const down = activeDownIntervalMs(SUM[questions].well, intervalMs)
  const noticed = (fall - 1) * interval + (failure === 'hung' ? timeout : 0)
  return { of: 'moved', from: noticed + down - intervalMs, to: noticed + interval + down }
}

const windowMs = (questions: Asked, failure: string, intervalMs: number): number =>
  checkTheory(questions, failure, intervalMs).to + DUEL

/**
 * Returns the VRRP version and authentication of OpenShift's configuration: version 2 with a password, if address
 * family and interval allow that.
 */
const dialectOf = ({ family, intervalMs }: Cell) =>
  family === 4 && intervalMs % 1_000 === 0 ? ({ version: 2, password: 'ostest_a' } as const) : {}

async function fail(nodes: readonly CheckedNode[], questions: Asked, failure: string): Promise<number> {
  const [node] = nodes
  const [service] = node?.services ?? []
  if (node === undefined || service === undefined) throw new Error('no service was started')
  if (failure !== '500') return service.signal(failure === 'killed' ? 'SIGKILL' : 'SIGSTOP')
  const at = monotonicMs()
  writeFileSync(join(node.folder, PAGE[questions]), '500')
  return at
}

type Case = { readonly cell: Cell; readonly questions: Asked; readonly failure: string; readonly turn: Turn }

async function happen(lab: Lab, { cell, questions, failure, turn }: Case, nodes: readonly CheckedNode[]): Promise<Run> {
  const { family, intervalMs, lineUp } = cell
  const down = activeDownIntervalMs(SUM[questions].well, intervalMs)
  await Promise.all(nodes.map((node) => node.ready()))
  prepareFamily(lab, family)
  if (family === 6) await lab.addressesSettle()
  const start = (i: number): Daemon => {
    const host = lab.router(i + 1)
    const unicastPeers = lab.routers.filter((other) => other !== host).map((other) => addressOf(other, family))
    const plan = {
      ...{ host, priority: 40, intervalMs, address: vipOf(family), unicastPeers, ...dialectOf(cell) },
      unicastSource: addressOf(host, family),
    }
    const startOne = lineUp === 'holdfast' ? startHoldfast : startKeepalived
    return startOne(lab, plan, questions, nodes[i]?.folder ?? '')
  }
  const wait = { within: START + 6 * down, every: 50 }
  const first = start(0)
  const isActive = async () => (await first.state()) === 'Active'
  // Among routers with equal priority, the router that starts first becomes Active.
  await eventually('r1 to be Active', isActive, { sight: () => first.state(), ...wait })
  await Promise.all([start(1), start(2)].map((daemon) => daemon.ready(START)))
  const observation = await startObservation(lab, { family, cachedNeighbour: true })
  try {
    await observation.answeredBy('r1')
    await turn.ready()
    // A router that became Backup a moment ago does not use fastPreempt, with either daemon. The accident comes at a
    // random moment between two runs of the check.
    await sleep(down + 1_000 + Math.random() * CADENCE[questions].interval)
    if (!(await isActive())) throw new Error(`r1 is ${await first.state()} before anything has happened`)
    const at = await fail(nodes, questions, failure)
    const measurement = await observation.measure(at, windowMs(questions, failure, intervalMs))
    await turn.over()
    return measurement
  } finally {
    await observation.close()
  }
}

async function measure(what: Case): Promise<Run> {
  const authority = createAuthority()
  try {
    const certificate = authority.issue('DNS:localhost')
    return await inLab((lab) => {
      const nodes = lab.routers.map((host) => new CheckedNode(lab, host, what.questions, certificate))
      return happen(lab, what, nodes)
    })
  } finally {
    authority.remove()
  }
}

const scenario = (questions: Asked, failure: Failure): Special => {
  const who = questions === 'page' ? 'service' : 'load balancer'
  const how = questions === 'page' ? 'one page, every 1 s, 40 + 50' : 'OpenShift, every 2 s, 3 in a row, 68 to 48'
  return {
    name: `${questions === 'page' ? 'check' : 'openshift'}-${failure}`,
    title: `${who} ${FAILURES[failure]} (${how}, equals)`,
    unsupported: (cell) =>
      only(['holdfast', 'keepalived'], 'vrrpd asks no service')(cell) ??
      (cell.lineUp.includes('+') ? 'all nodes are equal: no mixed line-up' : undefined),
    theory: ({ intervalMs }) => checkTheory(questions, `${failure}`, intervalMs),
    windowMs: ({ intervalMs }) => windowMs(questions, `${failure}`, intervalMs),
    measure: (cell, turn) => measure({ cell, questions, failure: `${failure}`, turn }),
  }
}

export const CHECK_ACCIDENTS: readonly Special[] = (['page', 'openshift'] as const).flatMap((questions) =>
  (['killed', 'hung', 500] as const).map((failure) => scenario(questions, failure)),
)
