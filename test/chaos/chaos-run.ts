/**
 * Runs one plan of faults in a lab of three nodes, a client, an observer and a mismatched router. The witness records
 * the answers, and the judge compares them with the bounds. Decides when the lab is ready for the first fault. Removes
 * the lab on every exit path (lab.ts). This file does not know kinds of faults and their bounds.
 */
import { readFileSync } from 'node:fs'
import { loadavg } from 'node:os'
import { ip } from '../../src/lab/ip.ts'
import { createLab, type Lab } from '../../src/lab/lab.ts'
import { monotonicMs, sleep } from '../../src/lab/wait.ts'
import { settlesOn, startWitness, type WitnessRecord } from '../../src/lab/watch/witness.ts'
import { type Assessment, type Happened, judge } from '../judge/judge.ts'
import { chaosRules, PRIORITIES } from './bounds.ts'
import { type ChaosDaemon, ChaosNode, type Net, type NodeNote, VIPS } from './chaos-node.ts'
import { type Arena, addressesOf, inflict, macOf } from './faults.ts'
import type { Fault, Plan } from './plan.ts'

/** A fault that was carried out. `hit`: false if it found no process or address to act on, and had no effect. */
export type Injected<F = Fault> = Happened<F> & { readonly hit: boolean }

export type RunOptions = {
  readonly plan: Plan
  readonly daemon: ChaosDaemon
  readonly interval: number
  readonly without?: Net | undefined
  /** Lets the guardian's clock repeat advertisements, as `without: 'watch'` does. */
  readonly leased?: boolean | undefined
  readonly realtime?: boolean
  /** Receives every fault as it happens. */
  readonly onFault?: (fault: Fault, sinceStart: number) => void
  readonly aborted?: AbortSignal
}

export type ChaosResult = {
  readonly seed: number
  readonly daemon: ChaosDaemon
  readonly interval: number
  readonly without: Net | undefined
  readonly realtime: boolean
  readonly seconds: number
  readonly injected: readonly Injected[]
  readonly assessment: Assessment<Fault>
  readonly records: readonly WitnessRecord[]
  readonly notes: readonly NodeNote[]
  /** Time of the witness at which the plan began. */
  readonly zero: number
  /** Share of the time in which a process waited for a CPU, in percent. NaN if the kernel does not report it. */
  readonly cpuPressure: number
  readonly load: number
}

const READY_WITHIN = 30_000
/** Announcements after the first takeover, the last after 5 s, would hide a client's stale entry. */
const STEADY = 1_000

export function stalledMicroseconds(): number {
  try {
    return Number(/some .*total=(\d+)/.exec(readFileSync('/proc/pressure/cpu', 'utf8'))?.[1])
  } catch {
    return Number.NaN
  }
}

export function prepare(lab: Lab): void {
  for (const host of lab.hosts.values()) {
    const [, own6 = ''] = addressesOf(host)
    const lines = [`address add ${own6} dev eth0 nodad`]
    if (lab.routers.includes(host)) lines.unshift(`link set dev eth0 address ${macOf(host)}`)
    ip(host, ...lines)
  }
}

export async function runChaos(options: RunOptions): Promise<ChaosResult> {
  const { plan, daemon, interval, leased, without, realtime = false, onFault = () => {} } = options
  const aborted = options.aborted ?? new AbortController().signal
  const lab = createLab({ routers: 3, clients: ['client', 'observer', 'outsider'] })
  const nodes: ChaosNode[] = []
  try {
    prepare(lab)
    const witness = startWitness(lab, { addresses: VIPS, observer: lab.host('observer'), client: lab.client })
    const node = (position: number): ChaosNode => {
      const host = lab.router(position)
      const one = new ChaosNode(lab, host, {
        daemon,
        interval,
        leased,
        without,
        realtime,
        priority: PRIORITIES[host.name] ?? 1,
      })
      nodes.push(one)
      return one
    }
    const complaints: string[] = []
    const arena: Arena = {
      lab,
      nodes: { r1: node(1), r2: node(2), r3: node(3) },
      aborted,
      complain: (text) => text !== '' && complaints.push(text),
    }
    for (const one of nodes) one.start()
    await settlesOn(witness, 'r1', STEADY, READY_WITHIN)

    const zero = monotonicMs()
    const before = stalledMicroseconds()
    const injected: Injected[] = []
    const running: Promise<void>[] = []
    for (const fault of plan.faults) {
      if (aborted.aborted) break
      await sleep(Math.max(0, zero + fault.at - monotonicMs()))
      onFault(fault, monotonicMs() - zero)
      running.push(
        inflict(fault, arena).then((times) => {
          injected.push({ fault, ...times })
        }),
      )
    }
    await Promise.all(running)
    if (!aborted.aborted) await sleep(Math.max(0, zero + plan.ms - monotonicMs()))
    const to = monotonicMs()
    const cpuPressure = (100 * (stalledMicroseconds() - before)) / (1_000 * (to - zero))
    const records = await witness.stop()
    for (const one of nodes) one.retire()
    injected.sort((one, other) => one.at - other.at)
    const window = { from: zero, to }
    const assessment = judge(chaosRules(interval), { histories: records, happened: injected, window })
    const notes = [
      ...nodes.flatMap((one) => one.notes),
      ...complaints.map((text) => ({ at: to, node: 'lab', text })),
    ].sort((one, other) => one.at - other.at)
    const seconds = (to - zero) / 1_000
    return {
      ...{
        seed: plan.seed,
        daemon,
        interval,
        without,
        realtime,
        seconds,
        injected,
        assessment,
        records,
        notes,
        zero,
        cpuPressure,
      },
      load: loadavg()[0] ?? Number.NaN,
    }
  } finally {
    for (const one of nodes) one.retire()
    lab.destroy()
  }
}
