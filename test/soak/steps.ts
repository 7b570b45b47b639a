/**
 * Commands of each step of the plan, and the observation that the addresses moved. Every step takes its begin time
 * before its first command and its end time after its last command. Steps that the chaos suite has as well are in
 * faults.ts.
 */

import { monotonicMs, sleep } from '../../src/lab/wait.ts'
import type { WitnessRecord } from '../../src/lab/watch/witness.ts'
import type { Injected } from '../chaos/chaos-run.ts'
import { type Arena, type Inflicted, inflict } from '../chaos/faults.ts'
import type { SoakNode } from './soak-node.ts'
import { FAILOVERS, type SoakFault, type SoakKind } from './soak-plan.ts'

export type Ground = {
  readonly nodes: readonly SoakNode[]
  readonly arena: Arena
  /** Whether the node answers for any of the addresses, as the observers see it now. */
  readonly answers: (node: string) => boolean
}

/** Milliseconds until a failed check is noticed, and between two looks. */
const [NOTICED, LOOK] = [8_000, 50]

const during = (ms: number, { aborted }: Arena) => (aborted.aborted ? Promise.resolve() : sleep(ms))

/**
 * Time in ms before the answer of a reload, at which the reload may be in force. Before this time, the file is read.
 */
const IN_FORCE = 500

async function reload(nodes: readonly SoakNode[], { id }: SoakFault): Promise<Inflicted> {
  const way = id % 2 === 0 ? 'signal' : 'command'
  const asked = monotonicMs()
  const done = await Promise.all(nodes.map((node) => node.reload(way)))
  const end = monotonicMs()
  return { at: Math.max(asked, end - IN_FORCE), end, hit: done.every(Boolean) }
}

export async function takeStep(fault: SoakFault, { nodes, arena, answers }: Ground): Promise<Inflicted> {
  const { kind, ms, variant } = fault
  const node = nodes.find(({ name }) => name === fault.node)
  if (node === undefined) throw new Error(`Cannot find node "${fault.node}": have ${nodes.map(({ name }) => name)}`)
  const at = monotonicMs()
  let hit = true
  switch (kind) {
    case 'kill engine':
    case 'link flap':
      return inflict({ ...fault, kind }, arena)
    case 'partition':
      return inflict({ ...fault, kind, variant: 'alone' }, arena)
    case 'stop':
      node.chaos.restartIn(ms)
      hit = node.chaos.signal(['guardian'], 'SIGTERM')
      break
    case 'yield':
      hit = await node.yieldFor(ms)
      await during(ms, arena)
      break
    case 'check failure':
      node.setMover(false)
      await during(ms, arena)
      // On a busy machine a check is late. A check that recovers before the failure was noticed has not failed.
      for (const until = monotonicMs() + NOTICED; answers(node.name) && monotonicMs() < until; )
        await during(LOOK, arena)
      node.setMover(true)
      break
    case 'reload, same file':
      return reload(nodes, fault)
    case 'reload, other value':
      for (const one of nodes) one.change({ otherValue: true })
      return reload(nodes, fault)
    case 'reload, other priority':
      node.change({ lifted: variant === 'up' })
      return reload([node], fault)
  }
  return { at, end: monotonicMs(), hit }
}

const isFailover = (kind: SoakKind): boolean => FAILOVERS.some((one) => one === kind)

/** Lists steps without effect: steps without a target, and failovers after which no other node answered alone. */
export function idleSteps(
  injected: readonly Injected<SoakFault>[],
  records: readonly WitnessRecord[],
  within: number,
): string[] {
  return injected.flatMap(({ fault, at, end, hit }) => {
    const until = Math.max(at + within, end)
    const what = `#${fault.id} ${fault.kind} on ${fault.node}`
    if (!hit) return [`${what}: expected it to be done, saw that it met nobody or was refused`]
    if (!isFailover(fault.kind)) return []
    return records
      .filter(
        ({ holders }) =>
          !holders.some(
            (sight) =>
              sight.to > at && sight.from < until && sight.holders.length === 1 && sight.holders[0] !== fault.node,
          ),
      )
      .map(({ address }) => `${what}: expected another node to answer for ${address} within ${within} ms, saw none`)
  })
}
