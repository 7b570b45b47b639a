/**
 * Judgement of memory, and each failover as a figure. Pure: works on samples. The rule is in docs/soak.md: medians of
 * two windows for resident memory, and the rest of the heaps after a collection of garbage.
 */
import type { Injected } from '../chaos/chaos-run.ts'
import { type Assessment, longest } from '../judge/judge.ts'
import type { Question } from '../judge/outages.ts'
import { type Growth, growthOf, LEAST_SECONDS, type Series, windowsOf } from './flatness.ts'
import type { ProcessSample } from './samples.ts'
import { FAILOVERS, type SoakFault } from './soak-plan.ts'
import type { NamedHeapLook, SoakResult, TimedSample } from './soak-run.ts'

const MIB = 1_024
/**
 * KiB by which a median may be higher than ten minutes after the beginning. V8 collects an old generation when it has
 * grown by some MiB.
 */
export const ALLOWED = { engine: 8 * MIB, guardian: 256, launcher: 512 } as const
/**
 * KiB by which a heap without garbage may grow. The journal in memory holds 1 000 to 2 000 events of half a KiB; the
 * rest may grow by 1 MiB.
 */
export const HEAP_ALLOWED = 1.5 * MIB
/** Nodes whose processes live as long as the soak. */
export const LASTING = ['r2', 'r3'] as const

type Summed = keyof typeof ALLOWED
const ROLES: readonly Summed[] = ['guardian', 'engine', 'launcher']

/** Returns the sums over all processes of that role. */
export function seriesOf(
  samples: readonly TimedSample[],
  node: string,
  role: Summed,
  value: (process: ProcessSample) => number,
): Series {
  const points = samples.flatMap(({ at, node: name, sample }) => {
    const some = sample.processes.filter((process) => process.role === role)
    return name !== node || some.length === 0 ? [] : [{ at, value: some.reduce((sum, one) => sum + value(one), 0) }]
  })
  return { name: `${node} ${role}${role === 'launcher' ? 's' : ''}`, points }
}

export type HeapGrowth = {
  readonly name: string
  /** Minute and KiB of each measurement. */
  readonly looks: readonly (readonly [minute: string, kib: number])[]
  readonly allowed: number
  readonly flat: boolean
}

/** Returns the growths from the first measurement after the warm-up to the one at the end. */
export function heapGrowths(heaps: readonly NamedHeapLook[]): HeapGrowth[] {
  return LASTING.flatMap((node) =>
    [...new Set(heaps.filter((one) => one.node === node).map(({ threadId }) => threadId))].sort().map((thread) => {
      const own = heaps.filter((one) => one.node === node && one.threadId === thread)
      const looks = own.map(({ look, used }) => [look, Math.round(used / 1_024)] as const)
      const [first, last] = [looks.find(([name]) => name !== 'beginning'), looks.find(([name]) => name === 'end')]
      const known = first !== undefined && last !== undefined && first !== last
      return {
        name: `${node} ${thread === 0 ? 'engine' : `thread ${thread}`}`,
        looks,
        allowed: HEAP_ALLOWED,
        // A missing measurement shows nothing, and so the heap does not count as flat.
        flat: known && last[1] - first[1] <= HEAP_ALLOWED,
      }
    }),
  )
}

export type MemoryAssessment = {
  /** False if the soak was too short for a judgement; the figures exist in any case. */
  readonly judged: boolean
  readonly growths: readonly Growth[]
  readonly heaps: readonly HeapGrowth[]
  readonly wrong: readonly string[]
}

export function judgeMemory({
  samples,
  heaps,
  seconds,
}: Pick<SoakResult, 'samples' | 'heaps' | 'seconds'>): MemoryAssessment {
  const windows = windowsOf(seconds)
  const growths = LASTING.flatMap((node) =>
    ROLES.map((role) =>
      growthOf(
        seriesOf(samples, node, role, ({ rssKiB }) => rssKiB),
        windows,
        ALLOWED[role],
      ),
    ),
  )
  const looks = heapGrowths(heaps)
  const judged = seconds >= LEAST_SECONDS
  const kib = (value: number) => `${value.toFixed(0)} KiB`
  const wrong = [
    ...growths
      .filter(({ flat }) => !flat)
      .map(
        ({ name, first, last, allowed }) =>
          `${name}: expected a resident size of at most ${kib(allowed)} more than in the first window, saw ${kib(first)} and then ${kib(last)}`,
      ),
    ...looks
      .filter(({ flat }) => !flat)
      .map(
        ({ name, looks: seen, allowed }) =>
          `${name}: expected a heap of at most ${kib(allowed)} more at the end than when it was warm, saw ${seen.map(([at, size]) => `${at}: ${kib(size)}`).join(', ')}`,
      ),
  ]
  return { judged, growths, heaps: looks, wrong: judged ? wrong : [] }
}

/** An outage, with the longest of its incidents in ms. */
export type Outage = {
  readonly fault: SoakFault
  /** ms after the beginning of the plan. */
  readonly at: number
} & Readonly<Record<Question, number>>

/** Returns the outage of each step. The return of a restarted process belongs to no fault. */
export function outagesOf(
  injected: readonly Injected<SoakFault>[],
  { incidents }: Assessment<SoakFault>,
  zero: number,
): Outage[] {
  return injected.map(({ fault, at }) => {
    const own = incidents.filter(({ faults }) => faults.some((one) => one.fault === fault))
    return { fault, at: at - zero, ...longest(own) }
  })
}

export const isFailover = ({ kind }: SoakFault): boolean => FAILOVERS.some((one) => one === kind)
