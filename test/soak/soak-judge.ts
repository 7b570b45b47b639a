/**
 * The verdict over memory, and each failover as a figure. PURE: works on what was sampled. The rule stands in
 * docs/soak.md: medians of two windows for what is resident, what is left of the heaps when garbage is gone.
 */
import type { Injected } from '../chaos/chaos-run.ts'
import { longest, type Verdict } from '../judge/judge.ts'
import type { Question } from '../judge/outages.ts'
import { type Growth, growthOf, LEAST_SECONDS, type Series, windowsOf } from './flatness.ts'
import type { ProcessSample } from './samples.ts'
import { FAILOVERS, type SoakFault } from './soak-plan.ts'
import type { NamedHeapLook, SoakResult, TimedSample } from './soak-run.ts'

const MIB = 1_024
/** KiB that a median may be higher than ten minutes after the beginning. V8 collects an old generation when it has grown by some MiB. */
export const ALLOWED = { engine: 8 * MIB, guardian: 256, launcher: 512 } as const
/** Of a heap without its garbage, KiB: the journal in memory holds 1 000 to 2 000 events of half a KiB, the rest may grow by 1 MiB. */
export const HEAP_ALLOWED = 1.5 * MIB
/** Their processes live as long as the soak. */
export const LASTING = ['r2', 'r3'] as const

type Summed = keyof typeof ALLOWED
const ROLES: readonly Summed[] = ['guardian', 'engine', 'launcher']

/** Of the processes of that role together. */
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
  /** Minute and KiB of each look. */
  readonly looks: readonly (readonly [minute: string, kib: number])[]
  readonly allowed: number
  readonly flat: boolean
}

/** From the first look after the warm-up to the one at the end. */
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
        // A look that is missing shows nothing, and so it is not flat.
        flat: known && last[1] - first[1] <= HEAP_ALLOWED,
      }
    }),
  )
}

export type MemoryVerdict = {
  /** False: too short for a judgement; the figures are there all the same. */
  readonly judged: boolean
  readonly growths: readonly Growth[]
  readonly heaps: readonly HeapGrowth[]
  readonly wrong: readonly string[]
}

export function judgeMemory({
  samples,
  heaps,
  seconds,
}: Pick<SoakResult, 'samples' | 'heaps' | 'seconds'>): MemoryVerdict {
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

/** With the longest, ms, of the incidents that are held against it. */
export type Outage = {
  readonly fault: SoakFault
  /** ms after the plan's 0. */
  readonly at: number
} & Readonly<Record<Question, number>>

/** What each step has cost, there; the way back of a process that was started again belongs to no fault. */
export function outagesOf(
  injected: readonly Injected<SoakFault>[],
  { incidents }: Verdict<SoakFault>,
  zero: number,
): Outage[] {
  return injected.map(({ fault, at }) => {
    const own = incidents.filter(({ faults }) => faults.some((one) => one.fault === fault))
    return { fault, at: at - zero, ...longest(own) }
  })
}

export const isFailover = ({ kind }: SoakFault): boolean => FAILOVERS.some((one) => one === kind)
