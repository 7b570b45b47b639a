/**
 * `holdfast agent`: connects the parts of the process. The agent opens settings, log, engine and machine first, then
 * the API of the cluster; nothing else waits for the API. This file decides that a signal ends the agent immediately
 * and the engine keeps its configuration, and what is watched besides the nodes. This file decides nothing about VRRP.
 */
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { EXIT } from '../../app/exit-code.ts'
import type { AgentSettings } from '../../cluster/decisions/agent-settings.ts'
import type { Elsewhere } from '../../cluster/decisions/engine/platform.ts'
import { vipPairs } from '../../cluster/decisions/engine/vip-pairs.ts'
import { chosenVrids } from '../../cluster/decisions/engine/vrid.ts'
import { Account } from '../../cluster/runtime/account.ts'
import type { Agent } from '../../cluster/runtime/agent.ts'
import { clusterAccess, serverIn } from '../../cluster/runtime/api/cluster-access.ts'
import { type ClusterAccess, ClusterClient } from '../../cluster/runtime/api/cluster-client.ts'
import { watchDebugFlag } from '../../cluster/runtime/api/flag-watch.ts'
import { watchInfrastructure } from '../../cluster/runtime/api/infrastructure-watch.ts'
import { type NodeWatchPorts, watchNodes } from '../../cluster/runtime/api/node-watch.ts'
import { watchBootstrap } from '../../cluster/runtime/bootstrap-duty.ts'
import { serveMetrics } from '../../cluster/runtime/metrics-server.ts'
import { openRedirectFile } from '../../cluster/runtime/redirect-file.ts'
import { watchRuntime } from '../../cluster/runtime/runtime-facts.ts'
import { AGENT_LOG, repeated } from '../../log/agent-events.ts'
import type { CommandResult } from '../command.ts'
import { clusterName, isFollowed, localApi, offPremises } from './agent-cluster.ts'
import { type AgentLog, openAgentLog } from './agent-log.ts'
import { type AgentParts, agentParts } from './agent-parts.ts'
import { openStatus } from './agent-status.ts'

const NAME_AGAIN = 5_000

export async function agentRun(settings: AgentSettings, notes: readonly string[]): Promise<CommandResult> {
  const verbose = settings.bootstrap || /^(yes|true)$/i.test(process.env.ENABLE_NODEIP_DEBUG ?? '')
  const { log, ...output } = openAgentLog(settings.logFormat, verbose)
  for (const note of notes) log(AGENT_LOG.flagNote, note)
  const end = new AbortController()
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    process.once(signal, () => {
      log(AGENT_LOG.agentStopping, `${signal}: agent stops; the engine keeps its configuration`)
      end.abort()
    })
  const exitCode = await serve(settings, { log, ...output }, end.signal)
  await output.flush()
  return { exitCode, stdout: '', stderr: '' }
}

async function serve(settings: AgentSettings, { log, verbose }: AgentLog, signal: AbortSignal): Promise<number> {
  const account = new Account()
  const metrics = settings.listen && (await serveMetrics(settings.listen, account))
  if (metrics instanceof Error) {
    log(
      AGENT_LOG.metricsNotServed,
      `Cannot listen on ${settings.listen?.host}:${settings.listen?.port}: ${metrics.message}`,
    )
    return EXIT.failure
  }
  const name = await nameOf(settings, log, signal)
  if (name === undefined) return EXIT.ok
  const vrids = chosenVrids(name, settings.vrids)
  if (typeof vrids === 'string') {
    log(AGENT_LOG.vridsNotUsable, vrids)
    return EXIT.usage
  }
  const parts = agentParts(settings, { name, vrids }, { account, log })
  const { agent, engineAccess, status, wishes } = parts
  if (wishes.elsewhere !== undefined)
    log(AGENT_LOG.vipsElsewhere, `stored from an earlier run: nodes hold no VIPs: ${wishes.elsewhere.message}`)
  const access = clusterAccess({ kubeconfig: settings.kubeconfig, local: localApi(settings) })
  const elsewhere = offPremises(settings)
  watchNodesOf(access, agent, { account, log }, signal)
  watchFacts(settings, log, signal)
  if (settings.bootstrap && elsewhere === undefined)
    void watchBootstrap({ ...settings, wishes, say: engineAccess.say, log, localApi: localApi(settings) }, signal)
  watchCluster(settings, new ClusterClient(access), parts, { account, log, verbose }, signal)
  if (elsewhere === undefined) await agent.run(signal)
  else {
    log(AGENT_LOG.handOverOff, `${elsewhere}: no configuration is handed over`, { platform: settings.platform })
    if (!signal.aborted) await once(signal, 'abort')
  }
  status.duty?.end()
  metrics?.close()
  return EXIT.ok
}

type Reports = { readonly account: Account; readonly log: AgentLog['log'] }

/** Watches the nodes of the cluster, which are the possible VRRP peers. A failure of one kind is logged once. */
function watchNodesOf(access: ClusterAccess, agent: Agent, { account, log }: Reports, signal: AbortSignal): void {
  const client = new ClusterClient(access, {}, ({ kind, message }) => {
    account.failed(kind)
    log(AGENT_LOG.apiRequestFailed, message, { kind })
  })
  let lastKind = ''
  const listener: NodeWatchPorts = {
    take: (event) => agent.take(event),
    onFailure({ kind, message }, waits) {
      const event = kind === lastKind ? repeated(AGENT_LOG.nodesNotRead) : AGENT_LOG.nodesNotRead
      log(event, message, { kind, againInMs: Math.round(waits) })
      lastKind = kind
    },
    onPhase(phase) {
      account.phase = phase
      if (phase !== 'watching' || lastKind === '') return
      lastKind = ''
      log(AGENT_LOG.nodesRead, 'the watch of the nodes at the API works again')
    },
  }
  void watchNodes(client, listener, signal)
}

/**
 * Watches resources that a cluster may not have or may not allow. A failed request for them is not a failure of the
 * agent.
 */
function watchCluster(
  settings: AgentSettings,
  client: ClusterClient,
  { status, wishes }: AgentParts,
  { account, log, verbose }: Reports & Pick<AgentLog, 'verbose'>,
  signal: AbortSignal,
): void {
  const onAnswer = (found: Elsewhere | undefined) => {
    wishes.elsewhereIs(found)
    status.duty?.elsewhereIs(found)
  }
  void watchInfrastructure(client, onAnswer, signal)
  if (settings.handOver.to === 'engine' && isFollowed(settings)) {
    const { socket } = settings.handOver
    const duty = openStatus(settings, {
      ...{ socket, client, log, wishes, remembered: wishes.ingressHa },
      onFailure: ({ kind }) => account.statusFailed(kind),
    })
    const { holder, intent } = duty
    account.status = () => ({
      writes: holder.publisher.counters,
      specsRefused: intent.refused,
      events: holder.events,
    })
    duty.elsewhereIs(wishes.elsewhere)
    status.duty = duty
  }
  if (settings.podNamespace !== undefined) {
    const options = { onDebug: verbose, onFailure: ({ message }: Error) => log(AGENT_LOG.apiRequestFailed, message) }
    void watchDebugFlag(client, settings.podNamespace, options, signal)
  }
}

/**
 * Waits until the name of the cluster is known: the kubeconfig may appear later. Returns `undefined` if the agent is
 * stopped before.
 */
async function nameOf(settings: AgentSettings, log: AgentLog['log'], signal: AbortSignal): Promise<string | undefined> {
  let last = ''
  while (!signal.aborted) {
    const named = clusterName(settings, serverIn(settings))
    if (typeof named !== 'string') return named.name
    if (named !== last) log(AGENT_LOG.clusterNotNamed, named)
    last = named
    await sleep(NAME_AGAIN, undefined, { signal }).catch(() => {})
  }
  return undefined
}

/** Keeps the files with facts about this node up to date, which the engine's checks read. */
function watchFacts(settings: AgentSettings, log: AgentLog['log'], signal: AbortSignal): void {
  const tell = (message: string) => log(AGENT_LOG.factNotRead, message)
  const runtime = watchRuntime({ tell })
  signal.addEventListener('abort', () => runtime.close(), { once: true })
  const [vip] = vipPairs(settings.vips).pairs
  if (vip?.api === undefined) return
  const { apiPort, lbPort, checkInterval } = settings
  const look = openRedirectFile({ redirect: { vip: vip.api, apiPort, lbPort }, tell })
  void every(checkInterval, async () => void (await look()), signal)
}

async function every(ms: number, look: () => Promise<void>, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await look()
    await sleep(ms, undefined, { signal }).catch(() => {})
  }
}
