/**
 * The bootstrap play. A node that advertises 70 has the API's address while control plane nodes register one by one.
 * This bootstrap node gives the address up when its own API and Ironic are gone. Agents and guard are the real ones; of
 * an engine only its configured priorities count here. Virtual time.
 */
import { describe, expect, test } from 'vitest'
import { type BootstrapGuard, looked, startBootstrapGuard } from '../../src/cluster/decisions/bootstrap-guard.ts'
import type { Role } from '../../src/cluster/decisions/engine/desired.ts'
import { cluster, machine, nodeObject, PlayedAgent, playUntil, start } from '../support/cluster-plays.ts'

const T = Date.parse('2026-11-22T09:00:00Z')
const MINUTE = 60_000
const API = 'ostest_API_0'

function agentAt(last: number, role: Role): PlayedAgent {
  const agent = new PlayedAgent(T, start({ cluster: cluster({ role }) }))
  agent.hear(T, { kind: 'engineConnected', configured: false, mode: undefined })
  agent.hear(T, { kind: 'machineChanged', machine: machine([`192.168.111.${last}/24`]) })
  return agent
}

const priorityOf = ({ last }: PlayedAgent): number => last?.instances.find(({ name }) => name === API)?.priority ?? 0

describe('the bootstrap play', () => {
  const bootstrap = agentAt(77, 'bootstrap')
  const controlPlane = [20, 21, 22].map((last) => agentAt(last, 'controlPlane'))
  const agents = [bootstrap, ...controlPlane]
  const object = (n: number) => nodeObject(`cp-${n}`, [`192.168.111.${20 + n}`])

  test('the lone bootstrap node begins immediately, by unicast without a peer', () => {
    bootstrap.hear(T, { kind: 'nodesListed', nodes: [] })
    expect(bootstrap.peers).toEqual({ [API]: [] })
    for (const agent of controlPlane) agent.hear(T, { kind: 'nodesListed', nodes: [] })
    expect(agents.map(priorityOf)).toEqual([70, 0, 0, 0])
  })

  test('one registered node alone does not begin, and two begin below the bootstrap node', () => {
    for (const agent of agents) agent.hear(T + MINUTE, { kind: 'nodesListed', nodes: [object(0)] })
    playUntil(T + 2 * MINUTE, agents)
    expect(agents.map(priorityOf)).toEqual([70, 0, 0, 0])
    expect(bootstrap.peers).toEqual({ [API]: ['192.168.111.20'] })
    for (const agent of agents) agent.hear(T + 2 * MINUTE, { kind: 'nodeChanged', node: object(1) })
    playUntil(T + 3 * MINUTE, agents)
    // The third node is not registered, so it has no part.
    expect(agents.map(priorityOf)).toEqual([70, 40, 40, 0])
    for (const agent of agents) agent.hear(T + 3 * MINUTE, { kind: 'nodeChanged', node: object(2) })
    playUntil(T + 4 * MINUTE, agents)
    expect(agents.map(priorityOf)).toEqual([70, 40, 40, 40])
    expect(bootstrap.peers).toEqual({ [API]: ['192.168.111.20', '192.168.111.21', '192.168.111.22'] })
    expect(controlPlane[0]?.peers[API], 'nobody lists the bootstrap node').toEqual(['192.168.111.21', '192.168.111.22'])
  })

  test('the bootstrap node gives the address up when API and Ironic are gone, and not before', () => {
    const stopAt = T + 20 * MINUTE
    let guard: BootstrapGuard = startBootstrapGuard(T)
    const said: string[] = []
    // Ironic goes a minute after the API.
    while (guard.nextLookAt < stopAt + 2 * MINUTE) {
      const now = guard.nextLookAt
      const look = { apiReady: now >= T + 12 * MINUTE && now < stopAt, ironicAnswers: now < stopAt + MINUTE }
      const step = looked(guard, look, now)
      guard = step.guard
      if (step.order !== undefined && said.length < 2) said.push(`${step.order} after ${(now - stopAt) / 1000} s`)
    }
    expect(said).toEqual(['stop after 64 s', 'stop after 69 s'])
  })

  test('the bootstrap node gives the address up and takes it back immediately, because its guard has checked often enough', () => {
    const at = T + 30 * MINUTE
    bootstrap.hear(at, { kind: 'intentChanged', intent: { api: false, ingress: false } })
    expect(bootstrap.handed.at(-1)?.at).toBe(at)
    expect(bootstrap.peers).toEqual({})
    bootstrap.hear(at + 1000, { kind: 'intentChanged', intent: { api: true, ingress: true } })
    expect(bootstrap.handed.at(-1)?.at).toBe(at + 1000)
    expect(priorityOf(bootstrap)).toBe(70)
  })
})
