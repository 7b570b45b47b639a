/**
 * Plays a cluster for tests of the agent's decisions: Node objects as the Kubernetes API has them, the machines that
 * are those nodes, and their agents. All agents run on one virtual clock, and their wall clocks differ. The engines
 * here answer immediately, and record each configuration that they receive.
 */
import type { AgentEvent, AgentOrder, AgentState, Now, Start } from '../../src/cluster/decisions/agent-state.ts'
import { startAgent, stepAgent } from '../../src/cluster/decisions/agreement.ts'
import type { Desired } from '../../src/cluster/decisions/engine/desired.ts'
import type { Cluster, Machine } from '../../src/cluster/decisions/engine/desired-state.ts'
import { CONTROL_PLANE_LABELS } from '../../src/cluster/decisions/engine/upstream-names.ts'
import { vipPairs } from '../../src/cluster/decisions/engine/vip-pairs.ts'
import type { AddressFiles } from '../../src/cluster/decisions/engine/vrrp-interface.ts'
import { viewOf } from './case-view.ts'

export const NO_FILES: AddressFiles = { ipv4: undefined, ipv6: undefined }

export type NodeOptions = {
  readonly controlPlane?: boolean
  readonly state?: string
  readonly kubeletVersion?: string
  readonly annotations?: Readonly<Record<string, unknown>>
}

export const nodeObject = (name: string, addresses: readonly string[], options: NodeOptions = {}): unknown => ({
  metadata: {
    name,
    labels: options.controlPlane === false ? {} : { [CONTROL_PLANE_LABELS[0]]: '' },
    annotations: { 'machineconfiguration.openshift.io/state': options.state ?? 'Done', ...options.annotations },
  },
  status: {
    addresses: addresses.map((address) => ({ type: 'InternalIP', address })),
    nodeInfo: { kubeletVersion: options.kubeletVersion ?? 'v1.33.1' },
  },
})

/** Returns a machine with the addresses `cidrs` on one interface, to which the default route leads. */
export const machine = (cidrs: readonly string[], others: Partial<Machine> & { link?: string } = {}): Machine => {
  const { link = 'br-ex', ...rest } = others
  return {
    node: viewOf({
      links: [{ name: link, index: 5, addrs: cidrs.map((cidr) => ({ cidr, deprecated: false, label: '' })) }],
      routes: [{ link, dst: null, proto: 'dhcp', priority: 100, gw: null }],
    }),
    files: NO_FILES,
    remoteWorker: false,
    ...rest,
  }
}

export const API_VIP = '192.168.111.5'
export const INGRESS_VIP = '192.168.111.4'

export const cluster = (others: Partial<Cluster> = {}): Cluster => ({
  name: 'ostest',
  vrids: undefined,
  role: 'controlPlane',
  nodeName: '',
  pairs: vipPairs({ api: [API_VIP], ingress: [INGRESS_VIP] }).pairs,
  topology: 'HighlyAvailable',
  grouped: false,
  ...others,
})

export const start = (others: Partial<Start> = {}): Start => ({
  cluster: cluster(),
  intent: { api: true, ingress: true },
  mode: 'unicast',
  remembered: undefined,
  ...others,
})

/** A configuration that an agent gave to its engine. `at`: true time in ms. */
export type HandedOver = { readonly at: number; readonly desired: Desired }

export class PlayedAgent {
  state: AgentState
  readonly handed: HandedOver[] = []
  readonly orders: AgentOrder[] = []
  #skew: number
  /** Answer of the engine to the agent's next configuration; `undefined`: the engine does not answer. */
  answer: AgentEvent | undefined = { kind: 'engineAccepted' }
  onHandOver: (desired: Desired) => void = () => {}

  constructor(at: number, begin: Start, skew = 0) {
    this.#skew = skew
    this.state = startAgent(begin, this.#now(at))
  }

  #now(at: number): Now {
    // The agent's monotonic clock began at another moment than the clocks of the other agents.
    return { monotonic: at - 1_000_000, wall: at + this.#skew }
  }

  /** Sets only the agent's wall clock. `skew`: milliseconds by which it is ahead of the true time. */
  setClock(skew: number): void {
    this.#skew = skew
  }

  /** True time in ms at which the agent wants to run again; `undefined`: never by itself. */
  get wakeAt(): number | undefined {
    return this.state.wakeAt === undefined ? undefined : this.state.wakeAt + 1_000_000
  }

  hear(at: number, event: AgentEvent): AgentOrder[] {
    const { state, orders } = stepAgent(this.state, event, this.#now(at))
    this.state = state
    this.orders.push(...orders)
    for (const order of orders) {
      if (order.kind !== 'handOver') continue
      this.handed.push({ at, desired: order.desired })
      this.onHandOver(order.desired)
      if (this.answer !== undefined) this.hear(at, this.answer)
    }
    return [...orders]
  }

  get told(): string[] {
    return this.orders.flatMap((order) => (order.kind === 'log' ? [order.message] : []))
  }

  get last(): Desired | undefined {
    return this.handed.at(-1)?.desired
  }

  /** Unicast peers of each virtual router of the engine's configuration, by router name. */
  get peers(): Record<string, readonly string[] | 'multicast'> {
    return Object.fromEntries((this.last?.instances ?? []).map(({ name, peers }) => [name, peers]))
  }
}

/**
 * Runs each agent at the times at which it wants to run, until the true time `end`. Throws if an agent never stops
 * asking to run.
 */
export function playUntil(end: number, agents: readonly PlayedAgent[]): void {
  for (let turns = 0; turns < 100_000; turns++) {
    const [next] = agents
      .filter(({ wakeAt }) => wakeAt !== undefined && wakeAt <= end)
      .toSorted((one, other) => (one.wakeAt ?? 0) - (other.wakeAt ?? 0))
    if (next?.wakeAt === undefined) return
    next.hear(next.wakeAt, { kind: 'tick' })
  }
  throw new Error(`The agents wanted to be woken for ever before ${end}`)
}
