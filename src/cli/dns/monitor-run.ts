/**
 * Connects the parts of `holdfast corednsmonitor`: the nodes and the wishes of the cluster, this machine, the Corefile,
 * CoreDNS and dnsmasq. This file decides how often each is looked at. This file decides nothing about the Corefile.
 */
import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { EXIT } from '../../app/exit-code.ts'
import { messageOf } from '../../base/message-of.ts'
import { clusterNameIn } from '../../cluster/decisions/cluster-name.ts'
import type { ClusterNode } from '../../cluster/decisions/cluster-node.ts'
import { externalIn } from '../../cluster/decisions/dns/api-int.ts'
import type { DnsCluster } from '../../cluster/decisions/dns/corefile.ts'
import { corefilePort } from '../../cluster/decisions/dns/corefile-port.ts'
import { apiIntAnswers } from '../../cluster/decisions/dns/corefile-wishes.ts'
import { clusterDomain, isHostName } from '../../cluster/decisions/dns/dns-name.ts'
import type { DnsSettings } from '../../cluster/decisions/dns/settings.ts'
import { allVips, vipPairs } from '../../cluster/decisions/engine/vip-pairs.ts'
import { vrrpInterface } from '../../cluster/decisions/engine/vrrp-interface.ts'
import { readNode } from '../../cluster/decisions/node-object.ts'
import type { StoredNode } from '../../cluster/decisions/stored-nodes.ts'
import { AgentFile } from '../../cluster/runtime/agent-file.ts'
import { clusterAccess, serverIn } from '../../cluster/runtime/api/cluster-access.ts'
import { ClusterClient } from '../../cluster/runtime/api/cluster-client.ts'
import { watchObjects } from '../../cluster/runtime/api/object-watch.ts'
import { isCorednsHealthy } from '../../cluster/runtime/dns/coredns-health.ts'
import { CorefileDuty, type NodeAddresses } from '../../cluster/runtime/dns/corefile-duty.ts'
import { DnsAccount } from '../../cluster/runtime/dns/dns-account.ts'
import { DnsReportFile } from '../../cluster/runtime/dns/dns-report-file.ts'
import { DnsWishWatch } from '../../cluster/runtime/dns/dns-wishes.ts'
import { busDnsmasq } from '../../cluster/runtime/dns/dnsmasq-client.ts'
import { DnsmasqDuty } from '../../cluster/runtime/dns/dnsmasq-duty.ts'
import { upstreamText } from '../../cluster/runtime/dns/upstream-file.ts'
import { withVips } from '../../cluster/runtime/dns/vip-access.ts'
import { machineWith, textIn } from '../../cluster/runtime/machine.ts'
import { serveMetrics } from '../../cluster/runtime/metrics-server.ts'
import { rememberedNodes } from '../../cluster/runtime/peer-memory.ts'
import { portHolders } from '../../cluster/runtime/port-holders.ts'
import { AGENT_LOG, type AgentLogging, repeated } from '../../log/agent-events.ts'
import { DNS_LOG } from '../../log/dns-events.ts'
import { type Address, parseAddress } from '../../wire/address.ts'
import { openAgentLog } from '../agent/agent-log.ts'
import type { CommandResult } from '../command.ts'
import { readNodeTables } from '../node-tables.ts'

/** Milliseconds between two looks at resolv.conf and at CoreDNS. */
const LOOK_EVERY = 1_000
/** Looks in a row without an answer of CoreDNS that count. A single look may fail while CoreDNS reloads. */
const SILENT_LOOKS = 2
/** Looks in a row after which a program on the port of CoreDNS is not CoreDNS at its start. */
const TAKEN_LOOKS = 5

export async function monitorRun(settings: DnsSettings, notes: readonly string[]): Promise<CommandResult> {
  const verbose = /^(yes|true)$/i.test(process.env.ENABLE_NODEIP_DEBUG ?? '')
  const output = openAgentLog(settings.logFormat, verbose, { name: 'holdfast-dns' })
  const { log } = output
  for (const note of notes) log(AGENT_LOG.flagNote, note)
  const end = new AbortController()
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    process.once(signal, () => {
      log(DNS_LOG.dnsMonitorStopping, `${signal}: corednsmonitor ends; the Corefile stays`)
      end.abort()
    })
  const exitCode = await serve(settings, log, end.signal)
  await output.flush()
  return { exitCode, stdout: '', stderr: '' }
}

async function serve(settings: DnsSettings, log: AgentLogging, signal: AbortSignal): Promise<number> {
  const account = new DnsAccount()
  const named = clusterOf(settings)
  if (typeof named === 'string') {
    log(AGENT_LOG.clusterNotNamed, named)
    return EXIT.configuration
  }
  const duty = corefileDuty(settings, named, { account, log })
  // A Corefile of an earlier run has the names of the nodes, so it is better than a new one without them.
  if (settings.once)
    return textIn(settings.corefile) !== undefined || duty.turn({ mayLackNodes: true }) ? EXIT.ok : EXIT.failure
  const metrics = settings.listen && (await serveMetrics(settings.listen, account))
  if (metrics instanceof Error) {
    const { host, port } = settings.listen ?? {}
    log(AGENT_LOG.metricsNotServed, `Cannot listen on ${host}:${port}: ${metrics.message}`)
    return EXIT.failure
  }
  await new DnsMonitor(settings, named, duty, { account, log }).run(signal)
  metrics?.close()
  return EXIT.ok
}

/** Returns the cluster, or the reason why its name is unknown or no name in DNS. */
function clusterOf(settings: DnsSettings): DnsCluster | string {
  const { cloud, clusterConfig: file, kubeconfig, platform, vips } = settings
  const clusterConfig = file === undefined ? undefined : textIn(file)
  if (file !== undefined && clusterConfig === undefined) return `Cannot read the cluster configuration ${file}`
  const found = clusterNameIn({ clusterConfig, server: serverIn({ kubeconfig }) })
  if (typeof found === 'string') return found
  const { domain, name } = found
  if (domain === undefined) return 'Cannot name the domain of the cluster: the install-config has no baseDomain'
  const full = clusterDomain({ name, domain })
  if (!isHostName(full)) return `Cannot use ${JSON.stringify(full)} as domain of the cluster: expected a name in DNS`
  return { name, domain, platform, cloud, pairs: vipPairs(vips).pairs }
}

type Reports = { readonly account: DnsAccount; readonly log: AgentLogging }

function corefileDuty(settings: DnsSettings, cluster: DnsCluster, reports: Reports): CorefileDuty {
  const { corefile, hostnameFile, resolvConf, template } = settings
  const name = (hostnameFile && textIn(hostnameFile)?.trim()) || hostname()
  return new CorefileDuty({
    ...{ cluster, template, corefile, resolvConf, ...reports },
    shortHostname: name.split('.')[0] ?? name,
    addresses: () => nodeAddresses(cluster),
  })
}

function nodeAddresses({ pairs }: DnsCluster): NodeAddresses | string {
  try {
    const tables = readNodeTables()
    if (tables === undefined) return 'the kernel gave no complete answer about the addresses of this node'
    const { files, node } = machineWith(tables.view)
    const [pair] = pairs
    const place = vrrpInterface(node, files, pair === undefined ? [] : allVips([pair]), allVips(pairs))
    const own = node.links.flatMap(({ addresses }) => addresses.map(({ address }) => address))
    return { self: typeof place === 'string' ? undefined : place.source, own }
  } catch (error) {
    return `the addresses of this node cannot be read: ${messageOf(error)}`
  }
}

class DnsMonitor {
  readonly #settings: DnsSettings
  readonly #cluster: DnsCluster
  readonly #duty: CorefileDuty
  readonly #reports: Reports
  readonly #client: ClusterClient
  readonly #wishes: DnsWishWatch
  readonly #dnsmasq: DnsmasqDuty | undefined
  readonly #report: DnsReportFile | undefined
  /** True if a source of the Corefile has changed since the last turn. */
  #isChanged = true
  #silent = 0
  readonly #agentFile: AgentFile<readonly StoredNode[]> | undefined
  /** The agent's file as it was read last. */
  #agentNodes = ''

  constructor(settings: DnsSettings, cluster: DnsCluster, duty: CorefileDuty, reports: Reports) {
    const { apiPort, checkInterval, corefile, dnsmasqHosts, kubeconfig, nodesFrom, report } = settings
    this.#settings = settings
    this.#cluster = cluster
    this.#duty = duty
    this.#reports = reports
    const access = clusterAccess({ kubeconfig, local: 'https://localhost:6443' })
    this.#client = new ClusterClient(withVips(access, this.#apiVips))
    const domain = clusterDomain(cluster)
    this.#wishes = new DnsWishWatch({
      ...{ client: this.#client, apiPort, apiVips: this.#apiVips },
      ingressVips: cluster.pairs.flatMap(({ ingress }) => ingress ?? []),
      apiInt: externalIn(apiIntAnswers(textIn(corefile) ?? '', domain), this.#apiVips),
      onFailure: ({ kind, message }) => {
        reports.account.failed(kind)
        reports.log(AGENT_LOG.apiRequestFailed, `Cannot follow HostedNetServices: ${message}`, { kind })
      },
    })
    if (nodesFrom !== undefined)
      this.#agentFile = new AgentFile({
        read: () => rememberedNodes(nodesFrom),
        watch: (signal) => {
          reports.log(
            DNS_LOG.agentNodesNotUsed,
            'the agent has stored no nodes for 30 s; this process watches the nodes',
          )
          void this.#watchNodes(signal)
        },
        now: () => performance.now(),
      })
    if (report !== undefined) this.#report = new DnsReportFile(report, checkInterval)
    if (dnsmasqHosts !== undefined)
      this.#dnsmasq = new DnsmasqDuty({ client: busDnsmasq, hosts: dnsmasqHosts, domain, ...reports })
  }

  get #apiVips(): readonly Address[] {
    return this.#cluster.pairs.flatMap(({ api }) => api ?? [])
  }

  async run(signal: AbortSignal): Promise<void> {
    if (this.#agentFile === undefined) void this.#watchNodes(signal)
    void this.#wishes.watch(signal)
    let before = ''
    let turnedAt = 0
    while (!signal.aborted) {
      this.#readNodes()
      const now = `${upstreamText(this.#settings.resolvConf)} ${JSON.stringify(this.#wishes.wishes)}`
      const isDue = performance.now() - turnedAt >= this.#settings.checkInterval
      if (this.#isChanged || now !== before || isDue) {
        this.#isChanged = false
        turnedAt = performance.now()
        this.#turn()
      }
      before = now
      await this.#lookAtCoredns()
      await sleep(LOOK_EVERY, undefined, { signal }).catch(() => {})
    }
    this.#agentFile?.end()
    this.#wishes.end()
    this.#report?.remove()
    await this.#dnsmasq?.takeBack()
  }

  #turn(): void {
    const { wishes } = this.#wishes
    const [from, to] = [this.#duty.wishes?.apiInt, wishes?.apiInt]
    if (this.#duty.wishes !== undefined && from !== to)
      this.#reports.log(DNS_LOG.apiIntMoved, `the name api-int leads to ${to ?? 'the VIP'}`, { address: to })
    this.#duty.wishes = wishes
    this.#duty.turn()
    try {
      this.#report?.write(this.#duty.report)
    } catch (error) {
      this.#reports.log(DNS_LOG.dnsReportNotWritten, `Cannot write the report to the agent: ${messageOf(error)}`)
    }
  }

  async #lookAtCoredns(): Promise<void> {
    const { account, log } = this.#reports
    const port = corefilePort(textIn(this.#settings.corefile) ?? '')
    this.#silent = (await isCorednsHealthy(this.#settings.healthPort)) ? 0 : this.#silent + 1
    const isHealthy = this.#silent === 0 || (account.isHealthy && this.#silent < SILENT_LOOKS)
    if (isHealthy !== account.isHealthy)
      log(DNS_LOG.corednsHealth, isHealthy ? 'CoreDNS answers' : 'CoreDNS no longer answers', { healthy: isHealthy })
    account.isHealthy = isHealthy
    if (this.#silent === TAKEN_LOOKS) this.#tellHolders(port)
    const { apiInt } = this.#wishes
    await this.#dnsmasq?.turn(isHealthy, port, apiInt === undefined ? this.#apiVips : [apiInt])
  }

  #tellHolders(port: number): void {
    const holders = portHolders(port, ['udp', 'tcp']).join(', ')
    const text = `CoreDNS does not answer, and another program has port ${port}: ${holders}`
    if (holders !== '') this.#reports.log(DNS_LOG.dnsPortTaken, text, { port, holders })
  }

  /** Takes the nodes from the agent's file. Without a usable file the last ones stay. */
  #readNodes(): void {
    if (this.#agentFile === undefined) return
    const stored = this.#agentFile.look()
    const text = JSON.stringify(stored) ?? 'the agent has stored no nodes yet'
    if (text === this.#agentNodes) return
    this.#agentNodes = text
    if (typeof stored === 'object') this.#nodesAre(stored)
    else this.#reports.log(DNS_LOG.agentNodesNotUsed, `${stored ?? text}; the last known nodes stay in the Corefile`)
  }

  #nodesAre(nodes: readonly StoredNode[]): void {
    // This process runs on a node, so a cluster without nodes is a wrong answer.
    if (nodes.length === 0 && this.#duty.nodes !== undefined) return
    this.#duty.nodes = nodes
    this.#isChanged = true
    this.#wishes.nodesAre(nodes.flatMap((node) => node.addresses.flatMap(({ address }) => parseAddress(address) ?? [])))
  }

  #watchNodes(signal: AbortSignal): Promise<void> {
    const { account, log } = this.#reports
    let lastKind = ''
    return watchObjects<ClusterNode>(
      this.#client,
      {
        path: '/api/v1/nodes',
        read: (object, earlier) => readNode(object, earlier).node,
        onObjects: (objects) => {
          lastKind = ''
          this.#nodesAre([...objects.values()])
        },
        onFailure: ({ kind, message }, waits) => {
          account.failed(kind)
          const event = kind === lastKind ? repeated(AGENT_LOG.nodesNotRead) : AGENT_LOG.nodesNotRead
          log(event, message, { kind, againInMs: Math.round(waits) })
          lastKind = kind
        },
      },
      signal,
    )
  }
}
