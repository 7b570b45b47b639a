/**
 * Plays a cluster on a simulated LAN. Each node has the product's engine and the decisions of its agent, whose orders
 * become configurations that the engine loads. The nodes' wall clocks differ, time is virtual, and a witness outside of
 * the nodes observes which node has which address. This file decides the effect of a configuration that an agent hands
 * over, and of the two orders of the bootstrap guard. This file does not know the events of a cluster: the tests do.
 */

import type { AgentEvent, Start } from '../../src/cluster/decisions/agent-state.ts'
import type { Desired } from '../../src/cluster/decisions/engine/desired.ts'
import { type DocumentOptions, documentText } from '../../src/cluster/decisions/engine/document.ts'
import type { Config } from '../../src/config/config.ts'
import { parseConfig } from '../../src/config/text/yaml.ts'
import { longestOf, spansIn, sumOf } from '../../src/lab/watch/history.ts'
import { streamOf } from '../../src/simulator/chance.ts'
import { INDEX } from '../../src/simulator/node/kernel.ts'
import { SimulatedNode } from '../../src/simulator/node/node.ts'
import { type Cancel, VirtualTime } from '../../src/simulator/virtual-time.ts'
import { Wire } from '../../src/simulator/wire.ts'
import { Witness } from '../../src/simulator/witness.ts'
import { address } from '../../src/wire/address.ts'
import { PlayedAgent } from '../support/cluster-plays.ts'

/** Milliseconds after an agent's request until the engine has read the new configuration. */
const READS = 5

export type PlayedNodeSpec = {
  readonly name: string
  /** The node's own address with its prefix length. */
  readonly own: string
  /** Milliseconds by which the node's wall clock is ahead of the true time. */
  readonly skew?: number
  readonly start: Start
}

export type ClusterSpec = {
  readonly seed: number
  /** True wall time at the beginning of the play, in ms since the epoch. */
  readonly wall: number
  readonly nodes: readonly PlayedNodeSpec[]
  readonly vips: readonly string[]
  readonly document?: DocumentOptions
}

export class PlayedCluster {
  readonly time = new VirtualTime()
  readonly nodes: readonly PlayedNode[]
  readonly witness: Witness
  readonly lines: string[] = []
  readonly defects: string[] = []

  constructor(spec: ClusterSpec) {
    const wire = new Wire(this.time, streamOf(spec.seed, 'wire'), () => this.witness.notice())
    this.nodes = spec.nodes.map((one, i) => new PlayedNode(this, wire, spec, one, i))
    const engines = this.nodes.map(({ engine }) => engine)
    const lan = { time: this.time, wire, note: (text: string) => this.note('client', text) }
    this.witness = new Witness(lan, engines, spec.vips.map(address))
  }

  note(node: string, text: string): void {
    this.lines.push(`${this.time.now.toFixed(1)} ${node} ${text}`)
  }

  run(until: number): void {
    this.time.run(until)
    if (this.defects.length > 0) throw new Error(this.defects.join('\n'))
  }

  all(event: AgentEvent): void {
    for (const node of this.nodes) node.hear(event)
  }

  holders(vip: string): readonly string[] {
    return this.witness.moments.get(address(vip))?.at(-1)?.holders ?? []
  }

  /**
   * Returns for how many ms, between `since` and now, `wanted` accepted the number of holders of the address: the sum,
   * and the longest time.
   */
  spans(vip: string, wanted: (holders: number) => boolean, since: number): { total: number; longest: number } {
    const moments = this.witness.moments.get(address(vip)) ?? []
    const found = spansIn(moments, wanted, { from: since, to: this.time.now })
    return { total: rounded(sumOf(found)), longest: rounded(longestOf(found)) }
  }

  /** Returns the holders of the address since the time `since`, in order, as texts. */
  history(vip: string, since: number): string[] {
    const moments = this.witness.moments.get(address(vip)) ?? []
    return moments
      .filter(({ at }) => at >= since)
      .map(({ at, holders }) => `${rounded(at)} ${holders.join('+') || '-'}`)
  }
}

const rounded = (ms: number): number => Math.round(ms)

export class PlayedNode {
  readonly engine: SimulatedNode
  readonly agent: PlayedAgent
  readonly #cluster: PlayedCluster
  readonly #wall: number
  readonly #document: DocumentOptions
  #wake: Cancel | undefined
  #stoodDown = false
  #last: Config

  constructor(cluster: PlayedCluster, wire: Wire, spec: ClusterSpec, one: PlayedNodeSpec, position: number) {
    const { name, own, skew = 0, start } = one
    const [host = '', bits = '32'] = own.split('/')
    this.#cluster = cluster
    this.#wall = spec.wall
    this.#document = spec.document ?? {}
    this.#last = configOf('version: 1\nvirtualRouters: []\n', name)
    this.engine = new SimulatedNode(name, position, {
      ...{ time: cluster.time, wire, without: undefined, lateness: 1, rate: 1, config: this.#last },
      chance: streamOf(spec.seed, name),
      interfaceName: 'eth0',
      own: [
        {
          interfaceIndex: INDEX,
          address: address(host),
          prefixLength: Number(bits),
          tentative: false,
          permanent: true,
        },
      ],
      note: (node, text) => cluster.note(node, text),
      onDefect: (node, error) => cluster.defects.push(`${node}: ${error instanceof Error ? error.stack : error}`),
      onChange: () => cluster.witness.notice(),
    })
    this.agent = new PlayedAgent(this.#wall, start, skew)
    this.agent.answer = undefined
    this.agent.onHandOver = (desired) => this.#handOver(desired)
  }

  /** True wall time at this moment, in ms since the epoch. */
  get #now(): number {
    return this.#wall + this.#cluster.time.now
  }

  hear(event: AgentEvent): void {
    this.agent.hear(this.#now, event)
    this.#arm()
  }

  #arm(): void {
    this.#wake?.()
    const { wakeAt } = this.agent
    this.#wake =
      wakeAt === undefined ? undefined : this.#cluster.time.at(wakeAt - this.#wall, () => this.hear({ kind: 'tick' }))
  }

  #handOver(desired: Desired): void {
    const text = documentText(desired, this.#document)
    this.#cluster.time.after(READS, () => {
      this.#last = configOf(text, this.engine.name)
      this.#cluster.note(this.engine.name, 'is handed a configuration')
      if (!this.#stoodDown) this.engine.reload(this.#last)
      this.hear({ kind: 'engineAccepted' })
    })
  }

  /**
   * Gives the engine an order, as the lines `stop` and `reload` on keepalived's socket do
   * (app/configuration/live-configuration.ts).
   */
  say(order: 'stop' | 'reload'): void {
    this.#cluster.note(this.engine.name, `is told to ${order}`)
    this.#stoodDown = order === 'stop'
    this.engine.reload(order === 'stop' ? { ...this.#last, virtualRouters: [], syncGroups: [] } : this.#last)
  }
}

function configOf(text: string, name: string): Config {
  const parsed = parseConfig(text, name)
  if ('problems' in parsed) throw new Error(parsed.problems.map(({ message }) => `${name}: ${message}`).join('\n'))
  return parsed.config
}
