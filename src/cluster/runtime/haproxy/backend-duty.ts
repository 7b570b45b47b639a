/**
 * Keeps haproxy.cfg in step with the control plane nodes of the cluster. This file decides when the list is compared, and
 * that a refused configuration is tried again later. While the API gives no nodes, the stored ones are used. A cluster
 * that names no usable node changes nothing.
 */
import { AGENT_LOG, type AgentLogging } from '../../../log/agent-events.ts'
import { type Family, familyOf } from '../../../wire/address.ts'
import type { ClusterNode } from '../../decisions/cluster-node.ts'
import type { Machine } from '../../decisions/engine/desired-state.ts'
import { type PeerNode, peerNodes } from '../../decisions/engine/peers.ts'
import { type Backend, backendsOf, backendWishes, balancerValues } from '../../decisions/haproxy/backends.ts'
import { ALIKE, compared, NO_CANDIDATE, putInForce } from '../../decisions/haproxy/candidate.ts'
import type { MonitorSettings } from '../../decisions/haproxy/monitor-settings.ts'
import { type NodeEvent, nodesAfter } from '../../decisions/known-nodes.ts'
import { type HaproxyFileOptions, type Written, writeHaproxyFile } from './haproxy-file.ts'
import type { MonitorAccount } from './monitor-account.ts'

/** Milliseconds until a refused configuration is tried again. The reason of the refusal may lie on this machine. */
const REFUSED_FOR = 30_000

export type BackendDutyPorts = {
  readonly machine: () => Machine | string
  readonly render: HaproxyFileOptions['render']
  readonly remembered: readonly PeerNode[] | undefined
  /**
   * Returns the nodes that the agent has stored; `undefined` before it has stored any, or the reason why its file cannot
   * be used. Absent: the nodes come by take(). While it has stored none, nodes of take() are used, too.
   */
  readonly ofAgent?: () => readonly PeerNode[] | string | undefined
  /** Stores the nodes in a file. Throws the error of the file system. */
  readonly persist: (peers: readonly PeerNode[]) => void
  readonly reload: () => void
  readonly log: AgentLogging
  readonly account: MonitorAccount
  readonly now: () => number
}

export class BackendDuty {
  readonly #settings: MonitorSettings
  readonly #ports: BackendDutyPorts
  readonly #family: Family
  #nodes: readonly ClusterNode[] | undefined
  #peers: readonly PeerNode[]
  #stored = ''
  #candidate = NO_CANDIDATE
  #refused: { readonly until: number; readonly of: string; readonly reason: string } | undefined
  /** Warnings that still apply and have been logged. */
  #told = new Set<string>()

  constructor(settings: MonitorSettings, ports: BackendDutyPorts) {
    const [first] = settings.vips
    if (first === undefined) throw new Error('a monitor needs a VIP')
    this.#settings = settings
    this.#ports = ports
    this.#family = familyOf(first)
    // The agent stores its nodes itself; an older list of the monitor's own would replace haproxy.cfg.
    this.#peers = ports.ofAgent === undefined ? (ports.remembered ?? []) : []
  }

  /** Takes an event of the watch of the nodes. */
  take(event: NodeEvent): void {
    const { nodes, malformed, refused } = nodesAfter(this.#nodes, event)
    this.#nodes = nodes
    const { log } = this.#ports
    for (const { node, field, found } of malformed)
      log(AGENT_LOG.nodeMalformed, `Node object ${node}: field ${field} is malformed`, { node, field, found })
    if (refused !== undefined) log(AGENT_LOG.backendsUnknown, `cannot use the nodes of the cluster: ${refused}`)
  }

  /** Compares the backends with the cluster, and writes haproxy.cfg if they have changed. */
  async compare(): Promise<void> {
    const backends = this.#backends()
    if (backends === undefined) return
    const { profile } = this.#settings
    const needed = profile.startsAtOnce && this.#candidate.inForce === undefined ? 1 : ALIKE
    const { candidate, isDue } = compared(this.#candidate, backends, needed)
    this.#candidate = candidate
    if (isDue && !this.#isRefused(backends)) await this.#write(backends)
  }

  #backends(): readonly Backend[] | undefined {
    const { log, ofAgent } = this.#ports
    const stored = ofAgent?.()
    // The agent's file is newer than a watch that ended when the file appeared.
    if (stored !== undefined) this.#nodes = undefined
    const isOfAgent = ofAgent !== undefined && this.#nodes === undefined
    const missing = isOfAgent ? this.#takeFrom(stored) : undefined
    const problems = isOfAgent ? [] : [...this.#ofCluster()]
    const { apiPort } = this.#settings
    const { backends, problems: left } = backendsOf(this.#peers, this.#family, apiPort)
    problems.push(...left)
    for (const problem of problems) if (!this.#told.has(problem)) log(AGENT_LOG.backendLeftOut, problem, { problem })
    const isRead = this.#nodes !== undefined || ofAgent !== undefined
    const isEmpty = missing !== undefined || (backends.length === 0 && isRead)
    const empty = missing ?? 'the cluster names no usable control plane node'
    if (isEmpty && !this.#told.has(empty)) log(AGENT_LOG.backendsUnknown, `${empty}; HAProxy keeps its configuration`)
    this.#told = new Set([...problems, ...(isEmpty ? [empty] : [])])
    return backends.length === 0 ? undefined : backends
  }

  /** Finds the peers among the nodes of the cluster. Returns the problems. */
  #ofCluster(): readonly string[] {
    const found = this.#ports.machine()
    if (typeof found === 'string') return [`cannot read the addresses of this machine: ${found}`]
    if (this.#nodes === undefined) return []
    const { peers, odd } = peerNodes(this.#nodes, backendWishes(this.#settings.vips, found), this.#peers)
    this.#peers = peers
    return odd.map(({ node, what }) => `node ${node}: ${what}`)
  }

  /** Takes the peers from the agent's file. Without a usable file, the last peers stay, and the reason is returned. */
  #takeFrom(stored: readonly PeerNode[] | string | undefined): string | undefined {
    if (typeof stored === 'string') return stored
    if (stored === undefined) return 'the agent has stored no nodes yet'
    this.#peers = stored
    return undefined
  }

  #isRefused(backends: readonly Backend[]): boolean {
    const refused = this.#refused
    return refused !== undefined && refused.of === JSON.stringify(backends) && this.#ports.now() < refused.until
  }

  async #write(backends: readonly Backend[]): Promise<void> {
    const { render, account, log, reload, now } = this.#ports
    const { template, file, haproxy } = this.#settings
    const values = balancerValues(backends, this.#family, this.#settings)
    const written = await writeHaproxyFile({ template, file, haproxy, render }, values)
    account.configured(written.result)
    if (written.result === 'refused') {
      const refusedText = `cannot make ${file} from the template ${template}; the old file stays in force:`
      if (this.#refused?.reason !== written.reason)
        log(AGENT_LOG.haproxyFileRefused, `${refusedText} ${written.reason}`, { reason: written.reason })
      this.#refused = { until: now() + REFUSED_FOR, of: JSON.stringify(backends), reason: written.reason }
      return
    }
    this.#refused = undefined
    this.#candidate = putInForce(backends)
    account.backends = backends.length
    this.#tellWritten(written, backends)
    this.#store()
    if (written.result !== 'same') reload()
  }

  #tellWritten(written: Written, backends: readonly Backend[]): void {
    const { log } = this.#ports
    const list = backends.map(({ host, address, port }) => `${host}=${address}:${port}`).join(' ')
    const { file } = this.#settings
    if (written.result === 'unchecked')
      log(AGENT_LOG.haproxyFileNotChecked, `${file} is not checked: ${written.reason}`, { reason: written.reason })
    if (written.result === 'same')
      log(AGENT_LOG.haproxyFileWritten, `${file} has the backends of the cluster already`, { backends: list })
    else log(AGENT_LOG.haproxyFileWritten, `${file} is written`, { backends: list })
  }

  #store(): void {
    const text = JSON.stringify(this.#peers)
    if (this.#nodes === undefined || text === this.#stored) return
    try {
      this.#ports.persist(this.#peers)
      this.#stored = text
    } catch (error) {
      this.#ports.log(AGENT_LOG.peersNotStored, `cannot store the nodes: ${String(error)}`)
    }
  }
}
