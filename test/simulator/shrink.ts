/**
 * Reduces a failed scenario: takes out one part after the other, as long as the scenario fails in the same way. This
 * file does not know what a fault or a router is. The caller decides what still counts as failed.
 */
import type { Fault, NodeSpec, Scenario } from '../../src/simulator/scenario.ts'

/** Largest number of attempts. An attempt simulates a whole history. */
const PATIENCE = 120

export function shrink(failing: Scenario, stillFails: (scenario: Scenario) => boolean): Scenario {
  let best = failing
  let left = PATIENCE
  for (let improved = true; improved && left > 0; ) {
    improved = false
    for (const smaller of smallerThan(best)) {
      if (left-- <= 0) break
      if (!stillFails(smaller)) continue
      best = smaller
      improved = true
      break
    }
  }
  return best
}

function* smallerThan(scenario: Scenario): Generator<Scenario> {
  const { faults, nodes } = scenario
  // First the first half of the faults is taken out, then the last half, then each fault alone.
  const half = Math.floor(faults.length / 2)
  if (half > 0) {
    yield { ...scenario, faults: faults.slice(half) }
    yield { ...scenario, faults: faults.slice(0, half) }
  }
  for (const fault of faults)
    if (faults.length > 1) yield { ...scenario, faults: faults.filter((one) => one !== fault) }
  const routers = routersOf(nodes[0])
  if (routers > 1) {
    yield { ...scenario, nodes: nodes.map((node) => withRouters(node, (i) => i < routers / 2)) }
    yield { ...scenario, nodes: nodes.map((node) => withRouters(node, (i) => i >= routers / 2)) }
    for (let gone = 0; gone < Math.min(routers, 8); gone++)
      yield { ...scenario, nodes: nodes.map((node) => withRouters(node, (i) => i !== gone)) }
  }
  for (const node of nodes) {
    if (nodes.length <= 2 || faults.some((fault) => fault.node === node.name)) continue
    yield { ...scenario, nodes: nodes.filter((one) => one !== node) }
  }
  for (const fault of faults) {
    const shorter = Math.floor(fault.ms / 2)
    if (shorter >= 20)
      yield { ...scenario, faults: faults.map((one): Fault => (one === fault ? { ...one, ms: shorter } : one)) }
  }
  if (scenario.lateness > 0) yield { ...scenario, lateness: 0 }
  if (nodes.some(({ drift }) => drift !== 0)) yield { ...scenario, nodes: nodes.map((node) => ({ ...node, drift: 0 })) }
}

const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
const routersOf = (node: NodeSpec | undefined): number => listOf(node?.config.virtualRouters).length

/** Returns the node with only some of its virtual routers. A sync group that has lost a member is taken out as well. */
function withRouters(node: NodeSpec, keeps: (position: number) => boolean): NodeSpec {
  const virtualRouters = listOf(node.config.virtualRouters).filter((_, i) => keeps(i))
  const { syncGroups: _, ...rest } = node.config
  const names = new Set(virtualRouters.map(nameOf))
  const groups = listOf(node.config.syncGroups).filter((group) => membersOf(group).every((member) => names.has(member)))
  return { ...node, config: { ...rest, virtualRouters, ...(groups.length > 0 ? { syncGroups: groups } : {}) } }
}

const nameOf = (router: unknown): unknown =>
  typeof router === 'object' && router !== null && 'name' in router ? router.name : undefined
const membersOf = (group: unknown): readonly unknown[] =>
  typeof group === 'object' && group !== null && 'members' in group ? listOf(group.members) : []
