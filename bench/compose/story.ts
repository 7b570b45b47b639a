/**
 * A fault and its consequences, as the client and Prometheus saw them. This file decides what is observed: a rest
 * before, the fault until another node rests with the addresses, and the repair until the first one does. This file
 * does not know the faults.
 */
import { monotonicMs, sleep } from '../../src/lab/wait.ts'
import type { Sight } from './client-view.ts'
import type { Fault } from './faults.ts'
import { ADDRESSES, type Lab } from './lab.ts'
import type { PrometheusView } from './prometheus-view.ts'

/** Results by address. */
export type Sights = Readonly<Record<string, Sight>>
/** A node that had both addresses alone, as the client saw it, and the nodes that Prometheus had as Active then. */
export type Rest = { readonly holder: string; readonly actives: readonly string[] }
export type Row = {
  readonly name: string
  readonly title: string
  readonly before: Rest
  /** Of a split: the nodes that were Active on its two sides. */
  readonly during: Rest | { readonly parted: readonly string[] }
  readonly after: Rest
  readonly fault: Sights
  /** Results from the repair on. */
  readonly back: Sights
  /** Longer of the two times in which two nodes claimed an address, ms. */
  readonly overlapMs: number
  readonly tookMs: number
}

/** The whole story, as --json writes it. */
export type Summary = {
  readonly compose: number
  /** Number of routers that Prometheus scrapes at the end. */
  readonly up: number
  /** Number of Prometheus's rules, without those that cannot be evaluated. */
  readonly rules: number
  /** Number of moves of the addresses from one rest to the next. */
  readonly changes: number
  readonly changesByPrometheus: number
  readonly tookMs: number
  readonly rows: readonly Row[]
}

/** Milliseconds of a split: more than two Active_Down_Intervals. */
const SPLIT = 3_000

/** Repairs the fault in every case, for the next steps and for the machine. */
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

/** Returns how often another node had the addresses than at the rest before. */
export const changesOf = (holders: readonly string[]): number =>
  holders.filter((holder, i) => i > 0 && holder !== holders[i - 1]).length

/** Returns all rests in order. */
export const restsOf = (rows: readonly Row[]): readonly Rest[] =>
  rows.flatMap(({ before, during, after }) => [before, ...('parted' in during ? [] : [during]), after])
