/**
 * Records a fault of the lab and its consequences, as the client and Prometheus see them. This file decides that the
 * observation has three parts. The three parts are a rest before the fault, the time until another node has the
 * addresses, and the time from the repair until the first node has them again. This file does not know how a fault is
 * made.
 */
import { monotonicMs, sleep } from '../../src/lab/wait.ts'
import type { Sight } from './client-view.ts'
import type { Fault } from './faults.ts'
import { ADDRESSES, type Lab } from './lab.ts'
import type { PrometheusView } from './prometheus-view.ts'

/** Observations of the client at each virtual address, by address. */
export type Sights = Readonly<Record<string, Sight>>
/**
 * Name of the node that had both addresses alone, as the client saw it, and names of the nodes that Prometheus recorded
 * as Active at that time.
 */
export type Rest = { readonly holder: string; readonly actives: readonly string[] }
export type Row = {
  readonly name: string
  readonly title: string
  readonly before: Rest
  /** For a split network: the names of the nodes that were Active on the two sides of the split. */
  readonly during: Rest | { readonly parted: readonly string[] }
  readonly after: Rest
  readonly fault: Sights
  /** Observations of the client from the repair of the fault on. */
  readonly back: Sights
  /** Longest time from the fault to the end, in ms, in which two nodes claimed one of the addresses. */
  readonly overlapMs: number
  readonly tookMs: number
}

/** Result of the whole demonstration, as the option --json writes it. */
export type Summary = {
  readonly compose: number
  /** Number of routers that Prometheus scrapes successfully at the end of the demonstration. */
  readonly up: number
  /** Number of Prometheus's rules at the end, without the rules that Prometheus cannot evaluate. */
  readonly rules: number
  /** Number of times that the addresses moved to another node between two rests of the lab. */
  readonly changes: number
  readonly changesByPrometheus: number
  readonly tookMs: number
  readonly rows: readonly Row[]
}

/** Milliseconds for which the network stays split: more than two Active_Down_Intervals. */
const SPLIT = 3_000

/**
 * Makes the fault, calls `look`, and repairs the fault even if `look` throws. An unrepaired fault would disturb the
 * next faults and the machine.
 */
async function whileItLasts<T>(fault: Fault, lab: Lab, look: () => Promise<T>): Promise<T> {
  try {
    await fault.strike(lab)
    return await look()
  } catch (error) {
    await fault.mend?.(lab).catch(() => undefined)
    throw error
  }
}

export async function play(fault: Fault, lab: Lab, prometheus: PrometheusView): Promise<Row> {
  const startedAt = monotonicMs()
  const { client } = lab
  const sights = (mark: number): Sights =>
    Object.fromEntries(ADDRESSES.map((address) => [address, client.since(mark, address)]))
  const rest = async (who: Parameters<Lab['rests']>[0]): Promise<Rest> => {
    const holder = await lab.rests(who)
    return { holder, actives: await prometheus.actives(Date.now() / 1_000) }
  }
  const before = await rest({ at: 'r1' })
  await fault.prepare?.(lab)
  const struckAt = client.mark
  const during = await whileItLasts(fault, lab, async () => {
    if (fault.splits !== true) return rest(fault.successor === undefined ? { not: 'r1' } : { at: fault.successor })
    await lab.isParted()
    await sleep(SPLIT)
    return { parted: await prometheus.actives(Date.now() / 1_000) }
  })
  const seen = sights(struckAt)
  const mendedAt = client.mark
  await fault.mend?.(lab)
  const after = await rest({ at: 'r1' })
  const overlapMs = Math.max(...Object.values(sights(struckAt)).map((sight) => sight.overlapMs))
  const { name, title } = fault
  const tookMs = monotonicMs() - startedAt
  return { name, title, before, during, after, fault: seen, back: sights(mendedAt), overlapMs, tookMs }
}

/** Returns the number of entries that name another node than the entry before. */
export const changesOf = (holders: readonly string[]): number =>
  holders.filter((holder, i) => i > 0 && holder !== holders[i - 1]).length

/** Returns every rest of the lab in the order of time. */
export const restsOf = (rows: readonly Row[]): readonly Rest[] =>
  rows.flatMap(({ before, during, after }) => [before, ...('parted' in during ? [] : [during]), after])
