/**
 * How each step of the plan is done, and how it is seen that the addresses moved. Decides commands; every one dates its
 * beginning before the first and its end after the last of them. What the chaos suite can do as well it does (faults.ts).
 */
import { type Arena, type Inflicted, inflict } from '../chaos/faults.ts'
import type { Injected } from '../chaos/judge.ts'
import { monotonicMs, sleep } from '../support/wait.ts'
import type { WitnessRecord } from '../support/witness.ts'
import type { SoakNode } from './soak-node.ts'
import { FAILOVERS, type SoakFault, type SoakKind } from './soak-plan.ts'

export type Ground = {
  readonly nodes: readonly SoakNode[]
  readonly arena: Arena
}

const during = (ms: number, { aborted }: Arena) => (aborted.aborted ? Promise.resolve() : sleep(ms))

/** A node that is not told anything keeps what it has. */
async function reloadAll(nodes: readonly SoakNode[], { id }: SoakFault): Promise<boolean> {
  const way = id % 2 === 0 ? 'signal' : 'command'
  const done = await Promise.all(nodes.map((node) => node.reload(way)))
  return done.every(Boolean)
}

export async function takeStep(fault: SoakFault, { nodes, arena }: Ground): Promise<Inflicted> {
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
      node.setMover(true)
      break
    case 'reload, same file':
      hit = await reloadAll(nodes, fault)
      break
    case 'reload, other value':
      for (const one of nodes) one.change({ otherValue: true })
      hit = await reloadAll(nodes, fault)
      break
    case 'reload, other priority':
      node.change({ lifted: variant === 'up' })
      hit = await node.reload(fault.id % 2 === 0 ? 'signal' : 'command')
      break
  }
  return { at, end: monotonicMs(), hit }
}

const isFailover = (kind: SoakKind): boolean => FAILOVERS.some((one) => one === kind)

/** What did nothing has shown nothing: steps that met nobody, and failovers after which nobody else answered alone. */
export function idleSteps(
  injected: readonly Injected<SoakKind>[],
  records: readonly WitnessRecord[],
  within: number,
): string[] {
  return injected.flatMap(({ fault, at, hit }) => {
    const what = `#${fault.id} ${fault.kind} on ${fault.node}`
    if (!hit) return [`${what}: expected it to be done, saw that it met nobody or was refused`]
    if (!isFailover(fault.kind)) return []
    return records
      .filter(
        ({ owners }) =>
          !owners.some(
            (sight) =>
              sight.to > at && sight.from < at + within && sight.owners.length === 1 && sight.owners[0] !== fault.node,
          ),
      )
      .map(({ address }) => `${what}: expected another node to answer for ${address} within ${within} ms, saw none`)
  })
}
