/**
 * For any events in any order, an agent hands a configuration over only while an engine listens and has answered. The
 * configuration handed over last follows from the agent's last complete knowledge. The loss of the API does not change
 * that configuration, the agent's memory does not grow, and the agent does not run for ever.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { AgentEvent } from '../../src/cluster/decisions/agent-state.ts'
import { isSame } from '../../src/cluster/decisions/debounce.ts'
import { desiredState } from '../../src/cluster/decisions/engine/desired-state.ts'
import { machine, nodeObject, PlayedAgent, start } from '../support/cluster-plays.ts'
import { forAll } from '../support/for-all.ts'

const T = Date.parse('2026-11-22T14:41:07Z')
/** Longer than any time that the agent waits: debounce, change of mode, and the pause after a refusal. */
const QUIET = 3_600_000

const cp = (n: number, last = 20 + n) => nodeObject(`cp-${n}`, [`192.168.111.${last}`])
const node = fc.oneof(
  { weight: 6, arbitrary: fc.nat(4).map((n) => cp(n)) },
  fc.tuple(fc.nat(4), fc.nat(200)).map(([n, last]) => cp(n, last)),
  fc.nat(4).map((n) => nodeObject(`cp-${n}`, [])),
  fc.nat(4).map((n) => nodeObject(`w-${n}`, [`192.168.111.${40 + n}`], { controlPlane: false })),
  fc.nat(4).map((n) => nodeObject(`cp-${n}`, [`192.168.111.${20 + n}`], { state: 'Working' })),
  fc.constantFrom<unknown>(null, 7, {}, { metadata: { name: 'cp-1', labels: 3 } }),
)
const mode = fc.constantFrom('unicast' as const, 'multicast' as const, undefined)
const outside: fc.Arbitrary<AgentEvent> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.array(node, { maxLength: 5 }).map((nodes): AgentEvent => ({ kind: 'nodesListed', nodes })),
  },
  { weight: 3, arbitrary: node.map((one): AgentEvent => ({ kind: 'nodeChanged', node: one })) },
  { weight: 2, arbitrary: node.map((one): AgentEvent => ({ kind: 'nodeGone', node: one })) },
  fc.constantFrom<AgentEvent>(
    { kind: 'listFailed', reason: 'HTTP 503' },
    { kind: 'watchResumed' },
    { kind: 'lookupFailed', reason: 'EMFILE' },
    { kind: 'machineChanged', machine: machine([]) },
    { kind: 'machineChanged', machine: machine(['192.168.111.20/24']) },
    { kind: 'machineChanged', machine: machine(['192.168.111.20/24'], { link: 'eth7' }) },
    { kind: 'intentChanged', intent: { api: true, ingress: false } },
    { kind: 'intentChanged', intent: { api: true, ingress: true } },
    { kind: 'intentChanged', intent: { api: true, ingress: 'unknown' } },
    { kind: 'engineLost', reason: 'EPIPE' },
    { kind: 'tick' },
  ),
  mode.map((wanted): AgentEvent => ({ kind: 'modeWanted', mode: wanted })),
  fc.tuple(fc.boolean(), mode, fc.boolean()).map(([configured, its, ingress]): AgentEvent => {
    const sight = configured ? { mode: its, ingress } : { mode: undefined }
    return { kind: 'engineConnected', configured, ...sight }
  }),
)
/** Answers of the engine, which may be late, repeated or not requested. */
const answer = fc.constantFrom<AgentEvent>(
  { kind: 'engineAccepted' },
  { kind: 'engineRefused', problems: ['no such interface'] },
)
const step = fc.record({
  wait: fc.constantFrom(0, 1, 400, 600, 3_000, 6_000, 70_000, 400_000),
  event: fc.oneof({ weight: 4, arbitrary: outside }, { weight: 3, arbitrary: answer }),
})

/** An agent whose engine answers when the test orders it. The test fails if the agent gives a forbidden order. */
class Watched extends PlayedAgent {
  now = T

  /** Starts the agent. `isWarm`: the agent has already handed a configuration over. */
  constructor(isWarm: boolean) {
    super(T, start())
    this.answer = undefined
    if (!isWarm) return
    this.take({ kind: 'machineChanged', machine: machine(['192.168.111.20/24']) })
    this.take({ kind: 'nodesListed', nodes: [cp(0), cp(1), cp(2)] })
    this.take({ kind: 'engineConnected', configured: false, mode: undefined })
  }

  take(event: AgentEvent): void {
    const { connected, awaited } = this.state.engine
    const orders = this.hear(this.now, event).filter(({ kind }) => kind === 'handOver')
    const listens = event.kind === 'engineConnected' || (connected && event.kind !== 'engineLost')
    const isFree = awaited === undefined || /^engine/.test(event.kind)
    expect(orders.length, 'configurations that the agent handed over because of one event').toBeLessThanOrEqual(1)
    if (orders.length > 0)
      expect({ listens, isFree }, `handed over at ${event.kind}`).toEqual({ listens: true, isFree: true })
  }

  /** Runs the agent at the times that the agent requests. `answers`: the engine accepts each configuration. */
  pass(wait: number, answers = false): void {
    const end = this.now + wait
    for (let turns = 0; ; turns++) {
      expect(turns, `turns in ${wait} ms: ${this.state.wakeAt}`).toBeLessThan(20 + wait / 5_000)
      if (answers && this.state.engine.awaited !== undefined) this.take({ kind: 'engineAccepted' })
      const { wakeAt } = this
      if (wakeAt === undefined || wakeAt > end) break
      this.now = Math.max(this.now, wakeAt)
      this.take({ kind: 'tick' })
    }
    this.now = end
  }
}

const words = (steps: readonly { readonly wait: number; readonly event: AgentEvent }[]) =>
  steps.map(({ wait, event }) => `${wait} ms ${JSON.stringify(event).slice(0, 200)}`).join('\n')

test('an agent hands configurations over in order, and in the end the known configuration is in force', () => {
  forAll(500, [fc.boolean(), fc.array(step, { maxLength: 40 })], (isWarm, steps) => {
    const agent = new Watched(isWarm)
    for (const { wait, event } of steps) {
      agent.pass(wait)
      agent.take(event)
    }
    // At the end of the history there are no faults.
    for (const event of [
      { kind: 'modeWanted', mode: undefined },
      { kind: 'machineChanged', machine: machine(['192.168.111.20/24']) },
      { kind: 'nodesListed', nodes: [cp(0), cp(1), cp(2)] },
      { kind: 'engineConnected', configured: true, mode: undefined },
    ] satisfies AgentEvent[])
      agent.take(event)
    agent.pass(QUIET, true)
    const { cluster, defaultMode, engine, intent, machine: here, mode: inForce, peers } = agent.state
    if (here === undefined) throw new Error('nobody has looked')
    const wanted = { ...intent, ingress: intent.ingress === 'unknown' ? engine.ingress : intent.ingress }
    const known = {
      cluster,
      machine: here,
      peers,
      intent: wanted,
      mode: inForce ?? defaultMode,
      earlier: engine.accepted,
    }
    expect(isSame(agent.last, desiredState(known).desired), `in force in the end\n${words(steps)}`).toBe(true)
    expect(agent.state.persisted).toEqual(peers)
    expect(agent.state.wakeAt, 'nothing is left to do').toBeUndefined()
    expect(JSON.stringify(agent.state).length, 'characters of its state').toBeLessThan(30_000)
  })
}, 60_000)

test('the loss of the API alone changes nothing', () => {
  forAll(
    300,
    [fc.boolean(), fc.array(step, { maxLength: 25 }), fc.array(fc.nat(20_000), { maxLength: 10 })],
    (isWarm, steps, waits) => {
      const agent = new Watched(isWarm)
      for (const { wait, event } of steps) {
        agent.pass(wait)
        agent.take(event)
      }
      agent.take({ kind: 'modeWanted', mode: undefined })
      agent.take({ kind: 'machineChanged', machine: machine(['192.168.111.20/24']) })
      agent.take({ kind: 'engineConnected', configured: true, mode: undefined })
      // All messages under way have arrived, and a change of mode as well.
      agent.pass(QUIET, true)
      const [handed, peers] = [agent.handed.length, agent.state.peers]
      for (const wait of waits) {
        agent.take({ kind: 'listFailed', reason: 'HTTP 503' })
        agent.pass(wait, true)
      }
      expect(agent.handed.length, `handed over while the API was gone\n${words(steps)}`).toBe(handed)
      expect(agent.state.peers).toEqual(peers)
    },
  )
}, 60_000)
