/**
 * The agent's process beside the engine. The agent passes events of the cluster, the machine and the engine to the core
 * (cluster/decisions/agreement.ts), and executes the core's orders. This file decides the role of this node, as far as
 * it is known, and how often the machine is read. A failure is logged, and the action is tried again. No failure ends
 * the process.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { messageOf } from '../../base/message-of.ts'
import { AGENT_LOG, type AgentLogging } from '../../log/agent-events.ts'
import type { AgentEvent, AgentOrder, AgentState, Intent, Now } from '../decisions/agent-state.ts'
import { startAgent, stepAgent } from '../decisions/agreement.ts'
import type { ClusterNode } from '../decisions/cluster-node.ts'
import type { Desired, Role } from '../decisions/engine/desired.ts'
import type { Cluster, Machine, Mode } from '../decisions/engine/desired-state.ts'
import type { PeerNode } from '../decisions/engine/peers.ts'
import type { Account } from './account.ts'
import type { EngineClient } from './engine-client.ts'
import { ownRole } from './own-role.ts'

export type AgentPlan = {
  /** Properties of the cluster. The role is known before the nodes only on a bootstrap node. */
  readonly cluster: Omit<Cluster, 'role'> & { readonly role: Role | undefined }
  /** Services (API, ingress) for which the agent wants a VIP before the first answer of the API. */
  readonly intent: Intent
  /**
   * Transport of the VRRP packets (unicast or multicast) with which the agent starts if the engine has no
   * configuration.
   */
  readonly mode: Mode
  readonly remembered: readonly PeerNode[] | undefined
  /** Milliseconds for which a changed list of peers must stay the same before the agent hands it to the engine. */
  readonly stableFor: number
  /** Milliseconds between two readings of the machine's interfaces and addresses. */
  readonly lookEvery: number
}

export type AgentPorts = {
  readonly engine: EngineClient
  /** Returns the interfaces and addresses of this machine, or the reason why they cannot be read. */
  readonly machine: () => Machine | string
  readonly wantedMode: () => { readonly mode: Mode | undefined; readonly problem: string | undefined }
  /** Stores the peers in a file. Throws the error of the file system. */
  readonly persist: (peers: readonly PeerNode[]) => void
  readonly log: AgentLogging
  readonly now: () => Now
  readonly account: Account
  /** Called with all nodes of the cluster after each change of a node. */
  readonly onNodes?: (nodes: readonly ClusterNode[]) => void
}

/** Milliseconds between two attempts to reach the engine. During this time, a new engine may have no configuration. */
const ENGINE_AGAIN = 250
const LONGEST_TIMER = 30_000

export class Agent {
  readonly #plan: AgentPlan
  readonly #ports: AgentPorts
  #state: AgentState | undefined
  #role: Role | undefined
  #intent: Intent
  /**
   * Last event of each kind that came before the role of this node was known. agreement.ts starts with these events.
   */
  readonly #heard = new Map<AgentEvent['kind'], AgentEvent>()
  readonly #nodes = new Map<string, unknown>()
  #lastMachine = ''
  #lastMode = ''
  #timer: NodeJS.Timeout | undefined

  constructor(plan: AgentPlan, ports: AgentPorts) {
    this.#plan = plan
    this.#ports = ports
    this.#intent = plan.intent
    this.#role = plan.cluster.role ?? ownRole(plan.cluster.nodeName, plan.remembered)
  }

  /** Runs the agent until `signal` is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    this.#look()
    if (this.#role !== undefined) this.#begin(this.#role)
    else this.#ports.log(AGENT_LOG.waitingForNodes, 'waiting for the nodes of the cluster: no stored peers')
    const looks = setInterval(() => this.#look(), this.#plan.lookEvery)
    await this.#engine(signal)
    clearInterval(looks)
    clearTimeout(this.#timer)
    this.#ports.engine.close()
  }

  wants(intent: Intent): void {
    this.#intent = intent
    this.take({ kind: 'intentChanged', intent })
  }

  take(event: AgentEvent): void {
    this.#remember(event)
    if (this.#state === undefined) {
      if (this.#role !== undefined && event.kind === 'nodesListed') this.#begin(this.#role)
      return
    }
    if (this.#role !== undefined && this.#state.cluster.role !== this.#role) {
      this.#ports.log(AGENT_LOG.roleChanged, 'the role of this node has changed', {
        role: this.#role,
        before: this.#state.cluster.role,
      })
      return this.#begin(this.#role)
    }
    this.#step(event)
  }

  #step(event: AgentEvent): void {
    if (this.#state === undefined) return
    const { state, orders } = stepAgent(this.#state, event, this.#ports.now())
    const { nodes } = this.#state
    this.#state = state
    this.#arm()
    if (state.nodes !== undefined && state.nodes !== nodes) this.#ports.onNodes?.(state.nodes)
    for (const order of orders) this.#do(order, event)
  }

  #remember(event: AgentEvent): void {
    const { account } = this.#ports
    if (event.kind === 'engineLost') this.#heard.delete('engineConnected')
    else if (event.kind === 'engineConnected' || event.kind === 'machineChanged' || event.kind === 'modeWanted')
      this.#heard.set(event.kind, event)
    else if (event.kind === 'nodesListed') {
      this.#nodes.clear()
      for (const node of event.nodes) this.#nodes.set(nameOf(node), node)
      account.lastListAt = this.#ports.now().wall
    } else if (event.kind === 'nodeChanged') this.#nodes.set(nameOf(event.node), event.node)
    else if (event.kind === 'nodeGone') this.#nodes.delete(nameOf(event.node))
    account.nodes = this.#nodes.size
    if (this.#plan.cluster.role === undefined && (event.kind === 'nodesListed' || event.kind === 'nodeChanged'))
      this.#role = this.#ownRole() ?? this.#role ?? this.#unknownRole()
  }

  #ownRole(): Role | undefined {
    const machine = this.#heard.get('machineChanged')
    const view = machine?.kind === 'machineChanged' ? machine.machine.node : undefined
    return ownRole(this.#plan.cluster.nodeName, [...this.#nodes.values()], view)
  }

  /** Returns the role of a node that is not registered yet: worker, which has fewer duties. */
  #unknownRole(): Role {
    const { nodeName } = this.#plan.cluster
    this.#ports.log(AGENT_LOG.nodeNotRegistered, `node ${nodeName} is not in the API yet: treated as a worker`, {
      node: nodeName,
    })
    return 'worker'
  }

  /** Starts the core of the agent with all events so far. */
  #begin(role: Role): void {
    const { cluster, mode, remembered, stableFor } = this.#plan
    const known = this.#state?.peers ?? remembered
    this.#ports.log(AGENT_LOG.agentStarted, `agent started, the role of this node is ${role}`, {
      role,
      cluster: cluster.name,
      node: cluster.nodeName,
    })
    const start = { cluster: { ...cluster, role }, intent: this.#intent, mode, remembered: known, stableFor }
    this.#state = startAgent(start, this.#ports.now())
    for (const event of this.#heard.values()) this.#step(event)
    if (this.#nodes.size > 0) this.#step({ kind: 'nodesListed', nodes: [...this.#nodes.values()] })
  }

  #arm(): void {
    clearTimeout(this.#timer)
    const { wakeAt } = this.#state ?? {}
    if (wakeAt === undefined) return
    const wait = Math.min(LONGEST_TIMER, Math.max(0, Math.ceil(wakeAt - this.#ports.now().monotonic)))
    this.#timer = setTimeout(() => this.#step({ kind: 'tick' }), wait)
  }

  #do(order: AgentOrder, because: AgentEvent): void {
    const { log, persist, account } = this.#ports
    switch (order.kind) {
      case 'log':
        if (order.event === AGENT_LOG.nodeMalformed) account.malformed++
        return log(order.event, order.message, order.fields)
      case 'handOver':
        return void this.#handOver(order.desired, because)
      case 'persist':
        try {
          persist(order.peers)
          log(AGENT_LOG.peersStored, 'stored the peers', { peers: order.peers.length })
        } catch (error) {
          log(AGENT_LOG.peersNotStored, `Cannot store the peers: ${messageOf(error)}`)
        }
    }
  }

  async #handOver(desired: Desired, because: AgentEvent): Promise<void> {
    const { engine, log, account } = this.#ports
    const fields = { because: because.kind, routers: desired.instances.map(textOf) }
    try {
      const answer = await engine.handOver(desired)
      if (answer.accepted) {
        account.handed('accepted')
        log(AGENT_LOG.handedOver, 'configuration handed over to the engine', fields)
        return this.take({ kind: 'engineAccepted' })
      }
      account.handed('refused')
      log(AGENT_LOG.engineRefused, 'the engine refused the configuration and keeps the previous configuration', {
        ...fields,
        problems: answer.problems,
      })
      this.take({ kind: 'engineRefused', problems: answer.problems, failed: answer.failed === true })
    } catch (error) {
      account.handed('lost')
      this.#ports.account.isConnected = false
      this.take({ kind: 'engineLost', reason: messageOf(error) })
    }
  }

  /** Connects to the engine, waits until the connection is lost, and connects again. */
  async #engine(signal: AbortSignal): Promise<void> {
    const { engine, log, account } = this.#ports
    let told = ''
    while (!signal.aborted) {
      let isThere = false
      let reason: string
      try {
        const report = await engine.look()
        isThere = true
        account.isConnected = true
        told = ''
        log(AGENT_LOG.engineConnected, 'connected to the engine', { configured: report.configured, mode: report.mode })
        this.take({ kind: 'engineConnected', ...report })
        reason = await engine.gone(signal)
      } catch (error) {
        reason = messageOf(error)
      }
      account.isConnected = false
      if (signal.aborted) return
      if (isThere) this.take({ kind: 'engineLost', reason })
      else if (reason !== told) log(AGENT_LOG.engineNotReached, `cannot connect to the engine: ${reason}`)
      told = reason
      await sleep(ENGINE_AGAIN, undefined, { signal }).catch(() => {})
    }
  }

  #look(): void {
    const machine = this.#ports.machine()
    if (typeof machine === 'string') {
      this.#lastMachine = ''
      this.take({ kind: 'lookupFailed', reason: machine })
    } else {
      const text = JSON.stringify(machine)
      if (text !== this.#lastMachine) this.take({ kind: 'machineChanged', machine })
      this.#lastMachine = text
    }
    const { mode, problem } = this.#ports.wantedMode()
    const text = `${mode} ${problem}`
    if (text === this.#lastMode) return
    this.#lastMode = text
    if (problem !== undefined) this.#ports.log(AGENT_LOG.modeNotRead, problem)
    this.take({ kind: 'modeWanted', mode })
  }
}

const textOf = ({ name, interface: on, source, vrid, peers }: Desired['instances'][number]): string =>
  `${name}: vrid ${vrid} on ${on} from ${source} ${typeof peers === 'string' ? peers : `to ${peers.join(' ') || 'nobody'}`}`

function nameOf(node: unknown): string {
  const metadata = typeof node === 'object' && node !== null && 'metadata' in node ? node.metadata : undefined
  const name = typeof metadata === 'object' && metadata !== null && 'name' in metadata ? metadata.name : undefined
  return String(name)
}
