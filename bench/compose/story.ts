/**
 * A fault, and what came of it as the client saw it and as Prometheus did. Decides what is looked at: a rest before,
 * the fault until another node rests with the addresses, the mending until the first one does. Refuses to know the faults.
 */
import { monotonicMs, sleep } from '../../src/lab/wait.ts'
import type { Sight } from './client-view.ts'
import type { Fault } from './faults.ts'
import { ADDRESSES, type Lab } from './lab.ts'
import type { PrometheusView } from './prometheus-view.ts'

/** By address. */
export type Sights = Readonly<Record<string, Sight>>
/** A node that was alone with both addresses, as the client saw it, and whom Prometheus had as Active then. */
export type Rest = { readonly owner: string; readonly actives: readonly string[] }
export type Row = {
  readonly name: string
  readonly title: string
  readonly before: Rest
  /** Of a split: those who were Active on both its sides. */
  readonly during: Rest | { readonly parted: readonly string[] }
  readonly after: Rest
  readonly fault: Sights
  /** From the mending on. */
  readonly back: Sights
  /** In which two said that they have an address, the longer of the two times, ms. */
  readonly overlapMs: number
  readonly tookMs: number
}

/** The whole story, as --json writes it. */
export type Summary = {
  readonly compose: number
  /** Routers that Prometheus scrapes at the end. */
  readonly up: number
  /** Of Prometheus, without those that cannot be evaluated. */
  readonly rules: number
  /** How often the addresses moved from one rest to the next. */
  readonly changes: number
  readonly changesByPrometheus: number
  readonly tookMs: number
  readonly rows: readonly Row[]
}

/** How long a split lasts: more than two Active_Down_Intervals. */
const SPLIT = 3_000

/** Mended in every case: what follows, and the machine, must not find it. */
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
    const owner = await lab.rests(who)
    return { owner, actives: await prometheus.actives(Date.now() / 1_000) }
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

/** How often another node had the addresses than at the rest before. */
export const changesOf = (owners: readonly string[]): number =>
  owners.filter((owner, i) => i > 0 && owner !== owners[i - 1]).length

/** All rests in their order. */
export const restsOf = (rows: readonly Row[]): readonly Rest[] =>
  rows.flatMap(({ before, during, after }) => [before, ...('parted' in during ? [] : [during]), after])
