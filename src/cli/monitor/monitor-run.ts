/**
 * Runs HAProxy's monitor as a process: connects it to the cluster, the machine and the log. A signal ends the process
 * after the rules are removed. A stored list of nodes is used until the API has given one.
 */
import { EXIT } from '../../app/exit-code.ts'
import type { MonitorSettings } from '../../cluster/decisions/haproxy/monitor-settings.ts'
import { AgentFile } from '../../cluster/runtime/agent-file.ts'
import { clusterAccess } from '../../cluster/runtime/api/cluster-access.ts'
import { ClusterClient } from '../../cluster/runtime/api/cluster-client.ts'
import { type NodeWatchPorts, watchNodes } from '../../cluster/runtime/api/node-watch.ts'
import { Monitor } from '../../cluster/runtime/haproxy/monitor.ts'
import { MonitorAccount } from '../../cluster/runtime/haproxy/monitor-account.ts'
import { serveMetrics } from '../../cluster/runtime/metrics-server.ts'
import { rememberedPeers, rememberPeers } from '../../cluster/runtime/peer-memory.ts'
import { AGENT_LOG, repeated } from '../../log/agent-events.ts'
import { render } from '../../template/render.ts'
import { type AgentLog, openAgentLog } from '../agent/agent-log.ts'
import type { CommandResult } from '../command.ts'
import { machineNow } from '../node-tables.ts'
import type { MonitorOrder } from './monitor-flags.ts'

type RunOrder = Extract<MonitorOrder, { do: 'run' }>

export async function monitorRun({ settings, profile, notes }: RunOrder): Promise<CommandResult> {
  const { log, flush } = openAgentLog(settings.logFormat, false)
  for (const note of notes) log(AGENT_LOG.flagNote, note)
  const end = new AbortController()
  // A second signal must not end the process before the rules are removed.
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    process.on(signal, () => {
      if (!end.signal.aborted)
        log(AGENT_LOG.monitorStopping, `${signal}: HAProxy’s monitor stops, and removes its nftables rules`)
      end.abort()
    })
  const { vips, file } = settings
  log(AGENT_LOG.monitorStarted, 'monitor of HAProxy started', { profile, vips: vips.join(' '), file })
  const exitCode = await serve(settings, log, end.signal)
  await flush()
  return { exitCode, stdout: '', stderr: '' }
}

async function serve(settings: MonitorSettings, log: AgentLog['log'], signal: AbortSignal): Promise<number> {
  const { kubeconfig, apiPort, listen, nodesFrom, stateDirectory } = settings
  const account = new MonitorAccount()
  const metrics = listen && (await serveMetrics(listen, account))
  if (metrics instanceof Error) {
    log(AGENT_LOG.metricsNotServed, `Cannot listen on ${listen?.host}:${listen?.port}: ${metrics.message}`)
    return EXIT.failure
  }
  const remembered = nodesFrom === undefined ? rememberedPeers(stateDirectory) : undefined
  if (typeof remembered === 'string') log(AGENT_LOG.storedFileNotUsed, remembered)
  const watch = (until: AbortSignal) => {
    const client = new ClusterClient(clusterAccess({ kubeconfig, local: `https://localhost:${apiPort}` }))
    void watchNodes(client, listener(monitor, log), until)
  }
  const agentFile =
    nodesFrom === undefined
      ? undefined
      : new AgentFile({
          read: () => rememberedPeers(nodesFrom),
          watch(until) {
            log(AGENT_LOG.backendsUnknown, 'the agent has stored no nodes for 30 s; this process watches the nodes')
            watch(until)
          },
          now: () => performance.now(),
        })
  const monitor = new Monitor(settings, {
    ...{ machine: machineNow, render, log, account },
    remembered: typeof remembered === 'string' ? undefined : remembered,
    persist: (peers) => rememberPeers(stateDirectory, peers),
    now: () => performance.now(),
    ...(agentFile === undefined ? {} : { ofAgent: () => agentFile.look() }),
  })
  if (agentFile === undefined) watch(signal)
  await monitor.run(signal)
  agentFile?.end()
  metrics?.close()
  return EXIT.ok
}

/** Passes the nodes to the monitor. A failure of one kind is logged once. */
function listener(monitor: Monitor, log: AgentLog['log']): NodeWatchPorts {
  let lastKind = ''
  return {
    take(event) {
      if (event.kind === 'nodesListed' || event.kind === 'nodeChanged' || event.kind === 'nodeGone') monitor.take(event)
    },
    onFailure({ kind, message }, waits) {
      const event = kind === lastKind ? repeated(AGENT_LOG.nodesNotRead) : AGENT_LOG.nodesNotRead
      log(event, message, { kind, againInMs: Math.round(waits) })
      lastKind = kind
    },
    onPhase(phase) {
      if (phase !== 'watching' || lastKind === '') return
      lastKind = ''
      log(AGENT_LOG.nodesRead, 'the watch of the nodes at the API works again')
    },
  }
}
