/**
 * The soak as a list of moments: failovers at regular times, by every way in turn, and reloads at regular times. Pure:
 * the same options give the same plan. Decides the intended holder at each time, and that only processes of r1 are
 * ended. The processes of r2 and r3 live as long as the soak. This file does not know how a fault is done and what it
 * may cost.
 */
import { type Fault, type NodeName, randomOf } from '../chaos/plan.ts'

/** Failovers. The failovers that end a process come first, because they are possible only while r1 is the holder. */
export const FAILOVERS = ['stop', 'kill engine', 'yield', 'check failure', 'link flap', 'partition'] as const
export const RELOADS = ['reload, same file', 'reload, other value', 'reload, other priority'] as const
export const SOAK_KINDS = [...FAILOVERS, ...RELOADS] as const
export type Failover = (typeof FAILOVERS)[number]
export type SoakKind = (typeof SOAK_KINDS)[number]
export type SoakFault = Fault<SoakKind>

export type SoakPlan = {
  /** Steps in the order of their times. */
  readonly steps: readonly SoakFault[]
  /** Moments at which r1 is the holder and no step runs, a warm-up apart, for the heaps of the others. */
  readonly looks: readonly number[]
  /** End of the plan in ms: r1 is the holder with its own priority. */
  readonly ms: number
}

export type SoakOptions = {
  readonly seconds: number
  readonly seed?: number
  /** ms between two failovers, and between two reloads. */
  readonly every?: number
  readonly reloadEvery?: number
  /** Seconds after which a process counts as warm. */
  readonly warmUp: number
}

/** Failovers that end processes. */
const ENDS: ReadonlySet<Failover> = new Set(['stop', 'kill engine'])
/** Duration in ms; of a failover that ends a process, until its restart. */
const LASTS: Readonly<Record<Failover, number>> = {
  stop: 700,
  'kill engine': 700,
  yield: 2_500,
  'check failure': 2_500,
  'link flap': 2_000,
  partition: 2_000,
}
/** Share of `every` after which a reload follows a failover. */
const BETWEEN = 0.9
/** Milliseconds of variation, so that a fault does not always meet the same moment of an interval. */
const JITTER = 200
/** Milliseconds after which the addresses are settled, after a reload that moves them. */
const SETTLED = 4_500

/** Reloads on r2 and r3 by turns, and back: for half of the time a node other than r1 is the holder. */
const RELOAD_TURNS = ['reload, same file', 'up', 'reload, other value', 'back'] as const

export function makeSoakPlan({
  seconds,
  seed = 1,
  every = 10_000,
  reloadEvery = 60_000,
  warmUp,
}: SoakOptions): SoakPlan {
  const random = randomOf(seed)
  const steps: SoakFault[] = []
  const counts = new Map<Failover, number>(FAILOVERS.map((kind) => [kind, 0]))
  let holder: NodeName = 'r1'
  let lifted: NodeName = 'r3'
  let reloads = 0
  const looks: number[] = []
  let nextReload = reloadEvery / 2
  const add = (at: number, kind: SoakKind, variant: string, node: NodeName, ms: number) =>
    steps.push({ id: steps.length + 1, at: Math.round(at), kind, variant, node, ms, overlapping: false })
  const reload = (at: number) => {
    const turn = RELOAD_TURNS[reloads++ % RELOAD_TURNS.length] ?? 'up'
    if (turn !== 'up' && turn !== 'back') return void add(at, turn, '', 'r1', 0)
    if (turn === 'up') lifted = lifted === 'r3' ? 'r2' : 'r3'
    holder = turn === 'up' ? lifted : 'r1'
    add(at, 'reload, other priority', turn, lifted, 0)
  }
  let at = 0
  for (; at < seconds * 1_000; at += every) {
    const possible = FAILOVERS.filter((kind) => holder === 'r1' || !ENDS.has(kind))
    const least = Math.min(...possible.map((kind) => counts.get(kind) ?? 0))
    const kind = possible.find((one) => counts.get(one) === least) ?? 'yield'
    counts.set(kind, least + 1)
    add(at + random() * JITTER, kind, '', holder, Math.min(LASTS[kind], every / 4))
    const between = at + BETWEEN * every
    if (between >= nextReload) {
      reload(between)
      nextReload += reloadEvery
    } else if (holder === 'r1' && between >= (looks.at(-1) ?? 0) + warmUp * 1_000) looks.push(between)
  }
  // The node starts with the configuration that it began with.
  while (holder !== 'r1') {
    reload(at)
    at += SETTLED
  }
  return { steps, looks, ms: Math.round(at) }
}
