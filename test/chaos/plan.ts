/**
 * Makes a list of faults with their times from a seed. A seed always makes the same list, for holdfast and for
 * keepalived. Decides the kinds and their order: every kind comes once before one comes again. Decides which faults
 * overlap, and the pause after each, in which one holder can be seen. This file does not know how a fault is inflicted,
 * nor its cost.
 */

export const NODES = ['r1', 'r2', 'r3'] as const
export type NodeName = (typeof NODES)[number]

export const KINDS = [
  'kill engine',
  'kill guardian',
  'kill group',
  'freeze engine',
  'freeze guardian',
  'freeze both',
  'link flap',
  'one way',
  'loss 30 %',
  'partition',
  'VIP deleted',
  'address to bridge',
  'interface gone',
  'clock step',
  'CPU hogs',
  'reload storm',
  'packet flood',
  'forged',
] as const
export type FaultKind = (typeof KINDS)[number]

/** Word by word what the kinds differ in; see faults.ts. */
export const VARIANTS: Partial<Record<FaultKind, readonly string[]>> = {
  'one way': ['out all', 'out vrrp', 'in all', 'in vrrp'],
  partition: ['alone', 'routers', 'with client'],
  'clock step': ['+1 h', '-1 h'],
  'reload storm': ['same order', 'demoted'],
  forged: ['priority 255', 'priority 0', 'lower priority'],
}

export type Fault<Kind extends string = FaultKind> = {
  readonly id: number
  /** ms after the start of the plan. */
  readonly at: number
  readonly kind: Kind
  readonly variant: string
  readonly node: NodeName
  /** Duration in ms; 0 for a single moment. For a killed process: time until it is started again. */
  readonly ms: number
  /** Whether the fault overlaps an earlier one. */
  readonly overlapping: boolean
}

export type Plan = {
  readonly seed: number
  readonly faults: readonly Fault[]
  /** End of the plan, ms, including the pause after the last fault. */
  readonly ms: number
}

export type PlanOptions = {
  readonly seed: number
  readonly seconds: number
  /** Lower limit of the number of faults: the plan continues until it has so many. */
  readonly atLeast?: number
  readonly kinds?: readonly FaultKind[]
  readonly nodes?: readonly NodeName[]
  readonly overlaps?: boolean
  readonly variants?: Partial<Record<FaultKind, readonly string[]>>
  /** Duration of every fault, ms, instead of the duration that its kind defines. */
  readonly ms?: readonly [number, number]
}

/** mulberry32: 32 bits of state are enough for a list of faults. */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Shortest and longest duration of each kind, ms. Durations are drawn on a logarithmic scale, so that short ones come as often. */
const LASTS: Readonly<Record<FaultKind, readonly [number, number]>> = {
  'kill engine': [300, 1_000],
  'kill guardian': [300, 1_000],
  // About a third last longer than the kernel lifetime, which shows that the address then expires.
  'kill group': [500, 4_000],
  'freeze engine': [50, 5_000],
  'freeze guardian': [50, 5_000],
  'freeze both': [50, 5_000],
  'link flap': [50, 2_000],
  'one way': [200, 2_000],
  'loss 30 %': [500, 3_000],
  partition: [200, 2_500],
  'VIP deleted': [0, 0],
  'address to bridge': [500, 1_500],
  'interface gone': [200, 1_500],
  'clock step': [0, 0],
  'CPU hogs': [500, 2_000],
  'reload storm': [500, 1_000],
  'packet flood': [500, 1_500],
  forged: [300, 1_000],
}

/** After it the node has its process started, and what it takes to be heard and to take its address back. */
const RESTARTS: ReadonlySet<FaultKind> = new Set(['kill engine', 'kill guardian', 'kill group'])
const LONG_AFTERMATH = 2_300
const AFTERMATH: Partial<Record<FaultKind, number>> = {
  // The engine needs a second to be sure that its guardian is silent, and two intervals to leave.
  'freeze guardian': LONG_AFTERMATH,
  'kill guardian': LONG_AFTERMATH,
  'kill group': LONG_AFTERMATH,
}
const PAUSE: readonly [number, number] = [900, 1_300]
const SECOND_FAULT = 0.35

export function makePlan(options: PlanOptions): Plan {
  const { seed, seconds, atLeast = 0, kinds = KINDS, nodes = NODES, overlaps = true } = options
  const random = randomOf(seed)
  const between = ([from, to]: readonly [number, number]) => Math.round(from + random() * (to - from))
  const pick = <T>(choice: readonly [T, ...T[]]): T => choice[Math.floor(random() * choice.length)] ?? choice[0]
  const logarithmic = ([from, to]: readonly [number, number]) =>
    to === 0 ? 0 : Math.round(from * (to / from) ** random())

  let bag: FaultKind[] = []
  const deal = (): FaultKind => {
    if (bag.length === 0) {
      bag = [...kinds]
      for (let i = bag.length - 1; i > 0; i--) {
        const j = Math.floor(random() * (i + 1))
        const [one, other] = [bag[i], bag[j]]
        if (one !== undefined && other !== undefined) [bag[i], bag[j]] = [other, one]
      }
    }
    return bag.pop() ?? 'kill engine'
  }
  // r1 has the highest priority: usually the faults meet the holder.
  const weighted = (except?: NodeName): NodeName => {
    const weights = { r1: 0.6, r2: 0.25, r3: 0.15 }
    const free = nodes.filter((node) => node !== except)
    let left = random() * free.reduce((sum, node) => sum + weights[node], 0)
    for (const node of free) {
      left -= weights[node]
      if (left <= 0) return node
    }
    return free.at(-1) ?? 'r1'
  }

  const faults: Fault[] = []
  let now = 0
  const add = (at: number, node: NodeName, overlapping: boolean): number => {
    const kind = deal()
    const [variant = '', ...others] = options.variants?.[kind] ?? VARIANTS[kind] ?? []
    const ms = logarithmic(options.ms ?? LASTS[kind])
    faults.push({ id: faults.length + 1, at, kind, variant: pick([variant, ...others]), node, ms, overlapping })
    return at + ms + (RESTARTS.has(kind) ? 600 : 0) + Math.max(0, (AFTERMATH[kind] ?? 0) - ms)
  }
  while (now < seconds * 1_000 || faults.length < atLeast) {
    const node = weighted()
    const two = overlaps && nodes.length > 1 && random() < SECOND_FAULT
    let end = add(now, node, two)
    // Never the third node: one node must be left that can answer.
    if (two) end = Math.max(end, add(now + between([0, 700]), weighted(node), true))
    now = end + between(PAUSE)
  }
  return { seed, faults: [...faults].sort((one, other) => one.at - other.at), ms: now }
}
