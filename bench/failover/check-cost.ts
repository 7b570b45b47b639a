/**
 * Runs `npm run bench:checks`: measures the CPU cost of health checks and their child processes. Six nodes run at the
 * same time, each Active on its own: holdfast and keepalived with no check, with one HTTP check every second, and with
 * OpenShift's checks. This file decides that CPU time of all processes of a daemon counts, with ended child processes.
 * CPU time of the checked service does not count.
 *   node build/bench/failover/check-cost.js [seconds, 60 by default] [warm-up, 60 by default]
 */
import { readFileSync } from 'node:fs'
import { ip } from '../../src/lab/ip.ts'
import { createLab } from '../../src/lab/lab.ts'
import { familyOf } from '../../src/lab/logged-process.ts'
import { eventually, sleep } from '../../src/lab/wait.ts'
import { createAuthority } from '../../test/support/certificates.ts'
import {
  type CheckedKind,
  CheckedNode,
  QUESTIONS,
  type Questions,
  startHoldfast,
  startKeepalived,
} from './checked-node.ts'
import { loadAverage } from './pressure.ts'

const KINDS: readonly CheckedKind[] = ['holdfast', 'keepalived']
/** USER_HZ of Linux on every architecture for which holdfast is built. */
const TICKS_PER_SECOND = 100

/** Returns the CPU seconds of a process, and of those ended children for which the process has waited. */
function spentBy(pid: number): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // Fields after the process name, which may contain any character. utime, stime, cutime and cstime are fields 14 to
    // 17 of /proc/PID/stat.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0) / TICKS_PER_SECOND
  } catch {
    // The process has ended since it was listed, and its CPU time is now part of its parent's.
    return 0
  }
}

const spentByFamily = (pid: number): number => familyOf(pid).reduce((sum, each) => sum + spentBy(each), 0)

const [seconds = 60, warmUp = 60] = process.argv.slice(2).map(Number)
const rows = KINDS.flatMap((kind) => QUESTIONS.map((questions) => ({ kind, questions })))
const lab = createLab({ routers: rows.length })
const authority = createAuthority()
try {
  const certificate = authority.issue('DNS:localhost')
  const load = loadAverage()
  const started = rows.map(({ kind, questions }, i) => {
    const host = lab.router(i + 1)
    // Bridge ports are isolated from each other, because advertisements of the other nodes would cost CPU time of this
    // node.
    ip(lab.bridge, `link set dev ${host.port} type bridge_slave isolated on`)
    const node = new CheckedNode(lab, host, questions, certificate)
    return { kind, questions, host, node, address: `10.77.0.${101 + i}`, vrid: 51 + i }
  })
  await Promise.all(started.map(({ node }) => node.ready()))
  const daemons = started.map(({ address, host, kind, node, questions, vrid }) => {
    const plan = { host, priority: 40, intervalMs: 1_000, address, vrid }
    const start = kind === 'holdfast' ? startHoldfast : startKeepalived
    const daemon = start(lab, plan, questions, node.folder)
    return { kind, questions, address, daemon, pid: 'pid' in daemon ? daemon.pid : daemon.process.pid }
  })
  await Promise.all(
    daemons.map(({ address, daemon }) =>
      eventually(`${daemon.plan.host.name} to hold ${address}`, () => lab.holders(address).length === 1, {
        sight: () => [],
        within: 20_000,
        every: 200,
      }),
    ),
  )
  await sleep(warmUp * 1_000)
  const before = daemons.map(({ pid }) => spentByFamily(pid))
  await sleep(seconds * 1_000)
  const spent = daemons.map(({ pid }, i) => ((spentByFamily(pid) - (before[i] ?? 0)) * 60) / seconds)
  const of = (kind: CheckedKind, questions: Questions) =>
    spent[daemons.findIndex((each) => each.kind === kind && each.questions === questions)] ?? Number.NaN
  const lines = QUESTIONS.map((questions) => {
    const checking = (kind: CheckedKind) => of(kind, questions) - of(kind, 'none')
    const [ours, theirs] = [checking('holdfast'), checking('keepalived')]
    const columns = [
      questions,
      ...KINDS.map((kind) => of(kind, questions).toFixed(3)),
      ...(questions === 'none'
        ? ['', '', '']
        : [ours.toFixed(3), theirs.toFixed(3), `1/${(theirs / ours).toFixed(1)}`]),
    ]
    return `| ${columns.join(' | ')} |`
  })
  const table = [
    `${new Date().toISOString().slice(0, 16).replace('T', ' ')} UTC, ${seconds} s after ${warmUp} s, load ${load.toFixed(2)} at the start. CPU s/min of an Active at 1 s with all its children.`,
    '',
    '| asked | holdfast | keepalived | checking alone: holdfast | keepalived | ratio |',
    '|---|---|---|---|---|---|',
    ...lines,
  ]
  process.stdout.write(`${table.join('\n')}\n`)
} finally {
  authority.remove()
  lab.destroy()
}
