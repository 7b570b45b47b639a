/**
 * The change from multicast to unicast in a cluster whose nodes' clocks differ. Measured is the time in which two
 * modes are in force together. The engines here answer immediately; virtual time.
 */
import { describe, expect, test } from 'vitest'
import type { AgentEvent } from '../../src/cluster/decisions/agent-state.ts'
import type { NodeOptions } from '../support/cluster-plays.ts'
import { machine, nodeObject, PlayedAgent, playUntil, start } from '../support/cluster-plays.ts'

const T = Date.parse('2026-11-22T14:41:07Z')
const TICK = Date.parse('2026-11-22T14:50:00Z')
const CHANGE = Date.parse('2026-11-22T14:55:00Z')
const MINUTE = 60_000

const ADDRESSES = ['192.168.111.20', '192.168.111.21', '192.168.111.22']
const node = (n: number, options: NodeOptions = {}) => nodeObject(`cp-${n}`, [ADDRESSES[n] ?? ''], options)
const nodes = (options: NodeOptions = {}): unknown[] => [node(0, options), node(1, options), node(2, options)]

/** Returns the agents of nodes whose clocks are `skews` ms ahead; `mode` is in force since T. */
function upgraded(skews: readonly number[], mode: 'multicast' | 'unicast' = 'multicast'): PlayedAgent[] {
  return skews.map((skew, i) => {
    const agent = new PlayedAgent(T, start(), skew)
    agent.hear(T, { kind: 'machineChanged', machine: machine([`${ADDRESSES[i]}/24`]) })
    agent.hear(T, { kind: 'nodesListed', nodes: nodes() })
    agent.hear(T, { kind: 'engineConnected', configured: true, mode })
    return agent
  })
}

const all = (agents: readonly PlayedAgent[], at: number, event: AgentEvent) => {
  for (const agent of agents) agent.hear(at, event)
}
const WANTED: AgentEvent = { kind: 'modeWanted', mode: 'unicast' }
const modes = (agents: readonly PlayedAgent[]) =>
  agents.map(({ last }) =>
    last?.instances[0]?.peers === 'multicast' ? 'multicast' : last === undefined ? 'none' : 'unicast',
  )
/** Returns for each agent the first time that was not multicast. */
const changedAt = (agents: readonly PlayedAgent[]): number[] =>
  agents.flatMap(({ handed }) => handed.find(({ desired }) => desired.instances[0]?.peers !== 'multicast')?.at ?? [])

describe('from multicast to unicast', () => {
  test('the mode in force stays until a node wants another one', () => {
    const agents = upgraded([0, 0, 0])
    playUntil(T + 60 * MINUTE, agents)
    expect(modes(agents)).toEqual(['multicast', 'multicast', 'multicast'])
  })

  test.each([
    { skews: [0, 0, 0], mixed: 0 },
    { skews: [-150, 0, 200], mixed: 350 },
    { skews: [500, -400, 0], mixed: 900 },
  ])('clocks $skews: two modes are in force for $mixed ms, as long as the clocks differ', ({ skews, mixed }) => {
    const agents = upgraded(skews)
    all(agents, T + 1000, WANTED)
    playUntil(CHANGE + 60 * MINUTE, agents)
    const times = changedAt(agents)
    expect(times).toEqual(skews.map((skew) => CHANGE - skew))
    expect(Math.max(...times) - Math.min(...times)).toBe(mixed)
    expect(
      agents.map(({ handed }) => handed.length),
      'each was told twice: before and after',
    ).toEqual([2, 2, 2])
    expect(agents[0]?.peers.ostest_API_0).toEqual(['192.168.111.21', '192.168.111.22'])
  })

  test('all nodes wait while one node is being upgraded, and change together at a later tick', () => {
    const agents = upgraded([0, 90, -90])
    all(agents, T + 1000, WANTED)
    all(agents, T + 2000, { kind: 'nodeChanged', node: node(2, { state: 'Working' }) })
    playUntil(TICK + MINUTE, agents)
    all(agents, TICK + MINUTE, { kind: 'nodeChanged', node: node(2, { kubeletVersion: 'v1.34.0' }) })
    playUntil(TICK + 11 * MINUTE, agents)
    all(agents, TICK + 11 * MINUTE, { kind: 'nodesListed', nodes: nodes({ kubeletVersion: 'v1.34.0' }) })
    playUntil(TICK + 40 * MINUTE, agents)
    expect(changedAt(agents)).toEqual([0, 90, -90].map((skew) => CHANGE + 20 * MINUTE - skew))
  })

  test('peers that change in the last half minute are part of the change', () => {
    const agents = upgraded([0, 0, 0])
    all(agents, T + 1000, WANTED)
    playUntil(CHANGE - 20_000, agents)
    all(agents, CHANGE - 20_000, {
      kind: 'nodeChanged',
      node: nodeObject('w-0', ['192.168.111.30'], { controlPlane: false }),
    })
    playUntil(CHANGE - 1, agents)
    expect(agents.map(({ handed }) => handed.length)).toEqual([1, 1, 1])
    playUntil(CHANGE + MINUTE, agents)
    expect(agents.map(({ handed }) => handed.map(({ at }) => at))).toEqual(agents.map(() => [T + 5000, CHANGE]))
    expect(agents[1]?.peers.ostest_INGRESS_0).toContain('192.168.111.30')
  })

  test('in a change back to multicast an added peer does not wait for the tick, and a removed one does', () => {
    const agents = upgraded([0, 0, 0], 'unicast')
    all(agents, T + 1000, { kind: 'modeWanted', mode: 'multicast' })
    playUntil(CHANGE - 20_000, agents)
    all(agents, CHANGE - 20_000, { kind: 'nodeChanged', node: nodeObject('cp-3', ['192.168.111.30']) })
    playUntil(CHANGE - 15_000, agents)
    all(agents, CHANGE - 15_000, { kind: 'nodeGone', node: nodeObject('cp-3', ['192.168.111.30']) })
    playUntil(CHANGE + MINUTE, agents)
    expect(agents.map(({ handed }) => handed.map(({ at }) => at))).toEqual(
      agents.map(() => [T + 5000, CHANGE - 19_500, CHANGE]),
    )
    expect(modes(agents)).toEqual(['multicast', 'multicast', 'multicast'])
  })

  test('a change of this machine in the last half minute does not wait, and is part of the new mode', () => {
    const agents = upgraded([0])
    all(agents, T + 1000, WANTED)
    playUntil(CHANGE - 20_000, agents)
    all(agents, CHANGE - 20_000, { kind: 'machineChanged', machine: machine([`${ADDRESSES[0]}/24`], { link: 'eth7' }) })
    playUntil(CHANGE + MINUTE, agents)
    const [agent] = agents
    expect(agent?.handed.map(({ at, desired }) => [at, desired.instances[0]?.interface])).toEqual([
      [T + 5000, 'br-ex'],
      [CHANGE - 19_500, 'eth7'],
      [CHANGE, 'eth7'],
    ])
  })

  test('an engine with an open request receives the new mode after its answer', () => {
    const agents = upgraded([0])
    all(agents, T + 1000, WANTED)
    playUntil(CHANGE - 20_000, agents)
    const [agent] = agents
    if (agent === undefined) throw new Error('no agent')
    agent.answer = undefined
    agent.hear(CHANGE - 20_000, { kind: 'machineChanged', machine: machine([`${ADDRESSES[0]}/24`], { link: 'eth7' }) })
    playUntil(CHANGE + 1000, agents)
    expect(agent.handed).toHaveLength(2)
    agent.answer = { kind: 'engineAccepted' }
    agent.hear(CHANGE + 1000, { kind: 'engineAccepted' })
    expect(changedAt(agents)).toEqual([CHANGE + 1000])
    playUntil(CHANGE + MINUTE, agents)
    expect(agent.state.mode).toBe('unicast')
  })

  test('a planned change goes on without the API, and a node that did not see the tick stays', () => {
    const agents = upgraded([0, 0, 0])
    all(agents, T + 1000, WANTED)
    playUntil(TICK - 5000, agents)
    agents[2]?.hear(TICK - 5000, { kind: 'listFailed', reason: 'HTTP 500' })
    playUntil(TICK + MINUTE, agents)
    all(agents, TICK + MINUTE, { kind: 'listFailed', reason: 'HTTP 500' })
    playUntil(CHANGE + MINUTE, agents)
    expect(modes(agents)).toEqual(['unicast', 'unicast', 'multicast'])
    // The cost of a plan that each node makes alone; the next tick repairs it.
    agents[2]?.hear(CHANGE + 2 * MINUTE, { kind: 'nodesListed', nodes: nodes() })
    playUntil(CHANGE + 11 * MINUTE, agents)
    expect(changedAt(agents)).toEqual([CHANGE, CHANGE, CHANGE + 10 * MINUTE])
  })

  test('an engine that refuses the new mode keeps the old one', () => {
    const [agent] = upgraded([0])
    if (agent === undefined) throw new Error('no agent')
    playUntil(T + MINUTE, [agent])
    agent.hear(T + MINUTE, WANTED)
    agent.answer = { kind: 'engineRefused', problems: ['no'] }
    playUntil(CHANGE + MINUTE, [agent])
    expect(agent.state.mode).toBe('multicast')
    agent.answer = { kind: 'engineAccepted' }
    playUntil(CHANGE + 30 * MINUTE, [agent])
    expect(agent.handed.map(({ desired }) => desired.instances[0]?.peers === 'multicast')).toEqual([
      true,
      false,
      true,
      // Refused as well, and tried again a minute later.
      true,
      false,
    ])
  })

  test('a clock that is set back or forward before the change counts with its new time', () => {
    const agents = upgraded([0, 0])
    all(agents, T + 1000, WANTED)
    playUntil(TICK + MINUTE, agents)
    agents[1]?.setClock(-2000)
    playUntil(CHANGE + MINUTE, agents)
    expect(changedAt(agents)).toEqual([CHANGE, CHANGE + 2000])
    const [late] = upgraded([-60_000])
    if (late === undefined) throw new Error('no agent')
    late.hear(T + 1000, WANTED)
    playUntil(TICK + 2 * MINUTE, [late])
    late.setClock(0)
    playUntil(CHANGE + 2 * MINUTE, [late])
    expect(changedAt([late])).toEqual([CHANGE])
  })

  test('an engine that returns with its old file receives the mode in force', () => {
    const agents = upgraded([0])
    all(agents, T + 1000, WANTED)
    playUntil(CHANGE + MINUTE, agents)
    all(agents, CHANGE + MINUTE, { kind: 'engineLost', reason: 'killed' })
    all(agents, CHANGE + 2 * MINUTE, { kind: 'engineConnected', configured: true, mode: 'multicast' })
    playUntil(CHANGE + 5 * MINUTE, agents)
    expect(agents[0]?.handed.map(({ at }) => at)).toEqual([T + 5000, CHANGE, CHANGE + 2 * MINUTE])
    expect(modes(agents)).toEqual(['unicast'])
  })
})
