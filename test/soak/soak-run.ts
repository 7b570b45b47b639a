/**
 * A soak run: a lab of three nodes that are scraped and whose checks flap, and a plan that is carried out at its times.
 * Every process is sampled, and there are two measurements at rest before and after. Decides when the lab counts as
 * warm and as at rest. All of it is gone afterwards, in every exit path (lab.ts). This file does not know how a step is
 * done and what it may cost.
 */

import { createLab, type Lab } from '../../src/lab/lab.ts'
import { eventually, monotonicMs, sleep } from '../../src/lab/wait.ts'
import { settlesOn, startWitness, type Witness, type WitnessRecord } from '../../src/lab/watch/witness.ts'
import type { NodeNote } from '../chaos/chaos-node.ts'
import { VIPS } from '../chaos/chaos-node.ts'
import { type Injected, prepare, stalledMicroseconds } from '../chaos/chaos-run.ts'
import type { Arena } from '../chaos/faults.ts'
import { type Assessment, judge } from '../judge/judge.ts'
import { stolenMs } from '../judge/time.ts'
import { Company, circumstancesOf } from './company.ts'
import { type Counts, differences } from './flatness.ts'
import { atRest, type NodeSample, sampleOf } from './samples.ts'
import { accountOf, type ScrapeAccount, Scraper } from './scrapes.ts'
import { soakRules } from './soak-bounds.ts'
import { type HeapLook, SoakNode } from './soak-node.ts'
import type { SoakFault, SoakPlan } from './soak-plan.ts'
import { type Ground, idleSteps, takeStep } from './steps.ts'

export type SoakRunOptions = {
  readonly plan: SoakPlan
  readonly interval: number
  /** ms between two samples. */
  readonly sampleEvery: number
  /** ms with everything but faults, before the measurement at rest. */
  readonly warmUp?: number
  /** Whether heaps are measured: before, after, and at the moments of the plan. Default true. */
  readonly heaps?: boolean
  readonly onStep?: (fault: SoakFault, sinceStart: number) => void
  readonly aborted?: AbortSignal
}

/** `at`: seconds after the plan's 0. */
export type TimedSample = { readonly at: number; readonly node: string; readonly sample: NodeSample }
export type NamedHeapLook = HeapLook & { readonly node: string }

export type SoakResult = {
  readonly interval: number
  readonly seconds: number
  readonly startedAt: string
  readonly injected: readonly Injected<SoakFault>[]
  readonly assessment: Assessment<SoakFault>
  readonly records: readonly WitnessRecord[]
  readonly samples: readonly TimedSample[]
  readonly rest: { readonly before: ReadonlyMap<string, Counts>; readonly after: ReadonlyMap<string, Counts> }
  readonly heaps: readonly NamedHeapLook[]
  readonly scrapes: ScrapeAccount
  readonly starts: Readonly<Record<string, number>>
  readonly notes: readonly NodeNote[]
  readonly zero: number
  /** Disturbances by other programs at each violation; '' if none is known. */
  readonly circumstances: readonly string[]
  /** Number of namespaces of other programs that came or went during the soak. */
  readonly others: number
  /** Share of the time in which a process waited for a CPU, in percent. */
  readonly cpuPressure: number
  readonly stolenMs: number
  /** Faults besides violations and memory: leftovers, steps without effect, failed scrapes. */
  readonly wrong: readonly string[]
}

const READY_WITHIN = 60_000
const STEADY = 1_000
/** Milliseconds until programs and polls have ended, and the last flapping check is up again. */
const REST = 3_000
/** Milliseconds until an idle connection that was given up for a while is open again. */
const REST_WITHIN = 75_000
const LOOKS = 12
const LOOK_EVERY = 250
const HEAP_LOOK = 3_000
/**
 * Counts for each node: a launcher for the checks and for the notifications of two routers; an answer on each path,
 * once over a lasting connection.
 */
const [LAUNCHERS, ANSWERS] = [3, 4]
const MOVED = 4_500

type World = {
  readonly lab: Lab
  readonly nodes: readonly SoakNode[]
  readonly witness: Witness
  readonly scraper: Scraper
}

const work = ({ nodes, scraper }: World, on: boolean) => {
  for (const node of nodes) node.flap(on)
  scraper.run(on)
}

/**
 * Plays one lap, after which every lasting descriptor is open. Every node has been Active, every check has failed,
 * everything has been scraped.
 */
async function lap(world: World, warmUp: number): Promise<void> {
  const { nodes, scraper, witness } = world
  work(world, true)
  await sleep(warmUp)
  // The thread of the API and the checks starts when the routers run, on a busy machine much later.
  const programs = ({ chaos }: SoakNode) =>
    sampleOf(chaos.pid)?.processes.filter(({ role }) => role === 'launcher').length ?? 0
  const sight = () =>
    nodes.map((node) => `${node.name}: ${programs(node)} launchers, answers ${scraper.answers(node.name)}`)
  const ready = () => nodes.every((node) => programs(node) >= LAUNCHERS && scraper.answers(node.name) >= ANSWERS)
  await eventually('launchers and answers to scrapes on every node', ready, { sight, within: READY_WITHIN, every: 100 })
  const successors = ['r2', 'r3']
  for (const [i, name] of successors.entries()) {
    nodes[i]?.setMover(false)
    await settlesOn(witness, name, STEADY / 2, READY_WITHIN)
  }
  for (const node of nodes) node.setMover(true)
  await settlesOn(witness, 'r1', STEADY, READY_WITHIN)
}

/** Measures until two measurements are the same: a late holder or an idle connection does not belong to the rest. */
async function steadyRest(world: World): Promise<Map<string, Counts>> {
  await settlesOn(world.witness, 'r1', STEADY, READY_WITHIN)
  return restAsBefore(world, await lookAtRest(world))
}

/** Measures until the counts are as before: slow changes may end, and real leftovers stay. */
async function restAsBefore(world: World, before: ReadonlyMap<string, Counts>): Promise<Map<string, Counts>> {
  const until = monotonicMs() + REST_WITHIN
  for (;;) {
    const after = await lookAtRest(world)
    const same = differences(before, after).length === 0 && differences(after, before).length === 0
    if (same || monotonicMs() > until) return after
  }
}

async function lookAtRest(world: World): Promise<Map<string, Counts>> {
  work(world, false)
  await sleep(REST)
  const looks = new Map<string, NodeSample[]>(world.nodes.map(({ name }) => [name, []]))
  for (let i = 0; i < LOOKS; i++) {
    for (const { name, chaos } of world.nodes) {
      const sample = sampleOf(chaos.pid)
      if (sample !== undefined) looks.get(name)?.push(sample)
    }
    await sleep(LOOK_EVERY)
  }
  const { lab, nodes } = world
  const counts = new Map([...looks].flatMap(([name, samples]) => [...atRest(name, samples)]))
  for (const { name, chaos } of nodes)
    counts.set(`${name} eth0`, Object.fromEntries(lab.addresses(chaos.host).map((address) => [address, 1])))
  return counts
}

export async function runSoak(options: SoakRunOptions): Promise<SoakResult> {
  const { plan, interval, sampleEvery, warmUp = 5_000, heaps: looks = true, onStep = () => {} } = options
  const aborted = options.aborted ?? new AbortController().signal
  const lab = createLab({ routers: 3, clients: ['client', 'observer', 'outsider'] })
  const nodes: SoakNode[] = []
  let sampler: NodeJS.Timeout | undefined
  let company: Company | undefined
  try {
    const around = new Company(lab.bridge.replace(/-br$/, ''))
    company = around
    prepare(lab)
    const witness = startWitness(lab, { addresses: VIPS, observer: lab.host('observer'), client: lab.client })
    const node = (position: number) => {
      const one = new SoakNode(lab, lab.router(position), interval)
      nodes.push(one)
      return one.chaos
    }
    const complaints: string[] = []
    const arena: Arena = {
      lab,
      nodes: { r1: node(1), r2: node(2), r3: node(3) },
      aborted,
      complain: (text) => text !== '' && complaints.push(text),
    }
    const answers = (name: string) =>
      witness.look().some(({ holders }) => holders.at(-1)?.holders.includes(name) === true)
    const ground: Ground = { nodes, arena, answers }
    const world: World = { lab, nodes, witness, scraper: new Scraper(lab) }
    for (const one of nodes) one.chaos.start()
    await settlesOn(witness, 'r1', STEADY, READY_WITHIN)
    await lap(world, warmUp)
    const before = await steadyRest(world)
    if (looks) {
      for (const one of nodes) one.lookAtHeap('beginning')
      await sleep(HEAP_LOOK)
    }
    await settlesOn(witness, 'r1', STEADY, READY_WITHIN)

    const startedAt = new Date().toISOString()
    const zero = monotonicMs()
    const [stalled, stolen] = [stalledMicroseconds(), stolenMs()]
    const scrapedBefore = world.scraper.scrapes.length
    work(world, true)
    const samples: TimedSample[] = []
    const look = () => {
      const at = (monotonicMs() - zero) / 1_000
      for (const { name, chaos } of nodes) {
        const sample = sampleOf(chaos.pid)
        if (sample !== undefined) samples.push({ at, node: name, sample })
      }
    }
    sampler = setInterval(look, sampleEvery)

    const injected: Injected<SoakFault>[] = []
    const running: Promise<void>[] = []
    if (looks) running.push(lookAtHeaps(plan.looks, zero, nodes.slice(1), aborted))
    for (const fault of plan.steps) {
      if (!(await sleepUntil(zero + fault.at, aborted))) break
      onStep(fault, monotonicMs() - zero)
      running.push(takeStep(fault, ground).then((times) => void injected.push({ fault, ...times })))
    }
    await Promise.all(running)
    await sleepUntil(zero + plan.ms, aborted)
    clearInterval(sampler)
    const seconds = (monotonicMs() - zero) / 1_000
    const cpuPressure = (stalledMicroseconds() - stalled) / (10_000 * seconds)
    const stolenMeanwhile = stolenMs() - stolen
    if (!aborted.aborted)
      await settlesOn(witness, 'r1', STEADY, READY_WITHIN).catch((error) => arena.complain(`${error}`))
    const after = aborted.aborted ? await lookAtRest(world) : await restAsBefore(world, before)
    const to = monotonicMs()
    const records = await witness.stop()
    if (looks) {
      for (const one of nodes) one.lookAtHeap('end')
      await sleep(HEAP_LOOK)
    }

    injected.sort((one, other) => one.at - other.at)
    const window = { from: zero, to }
    const assessment = judge(soakRules(interval), { histories: records, happened: injected, window })
    const scrapes = accountOf(world.scraper.scrapes.slice(scrapedBefore), injected, zero)
    const starts = Object.fromEntries(nodes.map(({ name, chaos }) => [name, chaos.starts]))
    const notes = nodes.flatMap(({ chaos }) => chaos.notes).sort((one, other) => one.at - other.at)
    const wrong = [
      ...idleSteps(injected, records, MOVED),
      ...(aborted.aborted ? [] : differences(before, after)),
      ...scrapes.wrong,
      ...complaints,
      ...['r2', 'r3']
        .filter((name) => starts[name] !== 1)
        .map((name) => `${name}: expected it to live as long as the soak, saw it start ${starts[name]} times`),
    ]
    const heaps = nodes.flatMap(({ name, looks }) => looks.map((one) => ({ ...one, node: name })))
    return {
      ...{
        interval,
        seconds,
        startedAt,
        injected,
        assessment,
        records,
        samples,
        rest: { before, after },
        heaps,
        scrapes,
      },
      circumstances: assessment.violations.map((one) => circumstancesOf(one, records, around)),
      others: around.count,
      ...{ starts, notes, zero, cpuPressure, stolenMs: stolenMeanwhile, wrong },
    }
  } finally {
    clearInterval(sampler)
    company?.close()
    for (const one of nodes) one.chaos.retire()
    lab.destroy()
  }
}

/** Measures all heaps but r1's: the holder must not pause for a collection. */
async function lookAtHeaps(looks: readonly number[], zero: number, nodes: readonly SoakNode[], aborted: AbortSignal) {
  for (const at of looks) {
    if (!(await sleepUntil(zero + at, aborted))) return
    for (const node of nodes) node.lookAtHeap((at / 60_000).toFixed(1))
  }
}

/** Returns false if it was aborted before. */
async function sleepUntil(at: number, aborted: AbortSignal): Promise<boolean> {
  // The sleep has pieces, so that an interrupt does not wait for the next step.
  while (!aborted.aborted) {
    const left = at - monotonicMs()
    if (left <= 0) return true
    await sleep(Math.min(left, 500))
  }
  return false
}
