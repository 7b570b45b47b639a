/**
 * `holdfast agent`: the wiring of the process. Settings, log, engine, machine, then the API of the cluster, on which nothing else
 * waits. Decided here: what a signal means (it ends at once; the engine keeps what it has) and what is asked besides the
 * nodes. Refuses to decide anything about VRRP.
 */
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { EXIT } from '../../app/exit-code.ts'
import type { AgentSettings } from '../../cluster/decisions/agent-settings.ts'
import type { Machine } from '../../cluster/decisions/engine/desired-state.ts'
import { wantedMode } from '../../cluster/decisions/engine/mode.ts'
import type { Elsewhere } from '../../cluster/decisions/engine/platform.ts'
import { vipPairs } from '../../cluster/decisions/engine/vip-pairs.ts'
import { chosenVrids } from '../../cluster/decisions/engine/vrid.ts'
import { Account } from '../../cluster/runtime/account.ts'
import { Agent } from '../../cluster/runtime/agent.ts'
import { clusterAccess, serverIn } from '../../cluster/runtime/api/cluster-access.ts'
import { ClusterClient } from '../../cluster/runtime/api/cluster-client.ts'
import { watchDebugFlag } from '../../cluster/runtime/api/flag-watch.ts'
import { watchInfrastructure } from '../../cluster/runtime/api/infrastructure-watch.ts'
import { watchNodes } from '../../cluster/runtime/api/node-watch.ts'
import { wasStopped, watchBootstrap } from '../../cluster/runtime/bootstrap-duty.ts'
import type { EngineDoor } from '../../cluster/runtime/engine-door.ts'
import { openKeepalivedDoor } from '../../cluster/runtime/keepalived-door.ts'
import { keepalivedEngine } from '../../cluster/runtime/keepalived-engine.ts'
import { machineWith, textIn } from '../../cluster/runtime/machine.ts'
import { serveMetrics } from '../../cluster/runtime/metrics-server.ts'
import { rememberedPeers, rememberPeers } from '../../cluster/runtime/peer-memory.ts'
import { watchRuntime } from '../../cluster/runtime/runtime-facts.ts'
import { openSentinel } from '../../cluster/runtime/sentinel.ts'
import { rememberedIntent } from '../../cluster/runtime/status/intent-memory.ts'
import type { StatusDuty } from '../../cluster/runtime/status/status-duty.ts'
import { Wishes } from '../../cluster/runtime/status/wishes.ts'
import type { CommandResult } from '../command.ts'
import { readNodeTables } from '../node-tables.ts'
import {
  clusterName,
  clusterOf,
  firstMode,
  grouping,
  isFollowed,
  KEEPALIVED_FOLDER,
  localApi,
  offPremises,
  ownName,
} from './agent-cluster.ts'
import { type AgentLog, openAgentLog } from './agent-log.ts'
import { openStatus } from './agent-status.ts'
import { holdfastEngine } from './holdfast-engine.ts'

/** Milliseconds. Addresses move under a running cluster. */
const LOOK_EVERY = 1_000
const NAME_AGAIN = 5_000
const modeText = (name: string): string | undefined => textIn(join(KEEPALIVED_FOLDER, name))

export async function agentRun(settings: AgentSettings, notes: readonly string[]): Promise<CommandResult> {
  const verbose = settings.bootstrap || /^(yes|true)$/i.test(process.env.ENABLE_NODEIP_DEBUG ?? '')
  const { log, ...output } = openAgentLog(settings.logFormat, verbose)
  for (const note of notes) log('warn', note)
  const end = new AbortController()
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    process.once(signal, () => {
      log('info', `${signal}: the agent ends, the engine keeps what it has`)
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
    log('error', `Cannot listen on ${settings.listen?.host}:${settings.listen?.port}: ${metrics.message}`)
    return EXIT.failure
  }
  const name = await nameOf(settings, log, signal)
  if (name === undefined) return EXIT.ok
  const vrids = chosenVrids(name, settings.vrids)
  if (typeof vrids === 'string') {
    log('error', vrids)
    return EXIT.usage
  }
  const remembered = rememberedPeers(settings.stateDirectory)
  if (typeof remembered === 'string') log('warn', remembered)
  const rememberedWishes = rememberedIntent(settings.stateDirectory)
  if (typeof rememberedWishes === 'string') log('warn', rememberedWishes)
  const isStopped = settings.bootstrap && wasStopped(settings.stateDirectory)
  const door = doorOf(settings, log, isStopped)
  const { grouped, notes } = grouping(settings)
  for (const note of notes) log('warn', note)
  const wishes = new Wishes({
    directory: settings.stateDirectory,
    remembered: typeof rememberedWishes === 'object' ? rememberedWishes : {},
    isFollowed: isFollowed(settings),
    isStopped: isStopped && settings.handOver.to === 'engine',
    onIntent: (intent) => agent.wants(intent),
    log,
  })
  const agent = new Agent(
    {
      intent: wishes.intent,
      cluster: clusterOf(
        settings,
        { name, vrids, nodeName: ownName(settings), grouped },
        settings.bootstrap ? 'bootstrap' : undefined,
      ),
      mode: firstMode(settings, name),
      remembered: typeof remembered === 'string' ? undefined : remembered,
      stableFor: settings.stableFor,
      lookEvery: LOOK_EVERY,
    },
    {
      ...{ door: door.engine, account, log, machine: machineNow },
      wantedMode: () => wantedMode(...modeTexts()),
      persist: (peers) => rememberPeers(settings.stateDirectory, peers),
      now: () => ({ monotonic: performance.now(), wall: Date.now() }),
      onNodes: (known) => status?.nodesAre(known),
    },
  )
  if (wishes.elsewhere !== undefined) log('warn', `nodes hold no VIPs, as remembered: ${wishes.elsewhere.message}`)
  let status: StatusDuty | undefined
  const access = clusterAccess({ kubeconfig: settings.kubeconfig, local: localApi(settings) })
  const client = new ClusterClient(access, {}, ({ kind, message }) => {
    account.failed(kind)
    log('debug', message, { kind })
  })
  let lastKind = ''
  const nodes = watchNodes(
    client,
    {
      take: (event) => agent.take(event),
      onFailure({ kind, message }, waits) {
        log(kind === lastKind ? 'debug' : 'warn', message, { kind, againInMs: Math.round(waits) })
        lastKind = kind
      },
      onPhase(phase) {
        account.phase = phase
        if (phase === 'watching' && lastKind !== '') {
          lastKind = ''
          log('info', 'the nodes are watched again')
        }
      },
    },
    signal,
  )
  const duties = [nodes, ...factsOf(settings, log, signal)]
  const elsewhere = offPremises(settings)
  if (settings.bootstrap && elsewhere === undefined)
    duties.push(watchBootstrap({ ...settings, wishes, say: door.say, log, localApi: localApi(settings) }, signal))
  // What a cluster may not have, or may not allow, is no failure of ours.
  const quiet = new ClusterClient(access)
  const onAnswer = (found: Elsewhere | undefined) => {
    wishes.elsewhereIs(found)
    status?.elsewhereIs(found)
  }
  duties.push(watchInfrastructure(quiet, onAnswer, signal))
  if (settings.handOver.to === 'engine' && isFollowed(settings)) {
    const { socket } = settings.handOver
    const duty = openStatus(settings, {
      ...{ socket, client: quiet, log, wishes, remembered: wishes.ingressHa },
      onFailure: ({ kind }) => account.statusFailed(kind),
    })
    const { owner, intent } = duty
    account.status = () => ({
      writes: owner.publisher.counters,
      specsRefused: intent.refused,
      events: owner.events,
    })
    duty.elsewhereIs(wishes.elsewhere)
    status = duty
  }
  if (settings.podNamespace !== undefined) {
    const told = { onDebug: verbose, onFailure: ({ message }: Error) => log('debug', message) }
    duties.push(watchDebugFlag(quiet, settings.podNamespace, told, signal))
  }
  if (elsewhere === undefined) await agent.run(signal)
  else {
    log('warn', `${elsewhere}: nothing is handed over`, { platform: settings.platform })
    if (!signal.aborted) await once(signal, 'abort')
  }
  status?.end()
  metrics?.close()
  return EXIT.ok
}

/** A kubeconfig may come when we are already there. Undefined: told to end before. */
async function nameOf(settings: AgentSettings, log: AgentLog['log'], signal: AbortSignal): Promise<string | undefined> {
  let told = ''
  while (!signal.aborted) {
    const named = clusterName(settings, serverIn(settings))
    if (typeof named !== 'string') return named.name
    if (named !== told) log('error', named)
    told = named
    await sleep(NAME_AGAIN, undefined, { signal }).catch(() => {})
  }
  return undefined
}

type Door = { readonly engine: EngineDoor; readonly say: ((word: 'stop' | 'reload') => void) | undefined }

function doorOf({ handOver, native }: AgentSettings, log: AgentLog['log'], isStopped: boolean): Door {
  if (handOver.to === 'engine') return { engine: holdfastEngine(handOver.socket, { native }), say: undefined }
  const keepalived = openKeepalivedDoor({ ...handOver, isStopped, tell: (message) => log('warn', message) })
  return { engine: keepalivedEngine(handOver.file, keepalived), say: (word) => keepalived.say(word) }
}

function machineNow(): Machine | string {
  try {
    const tables = readNodeTables()
    return tables === undefined ? 'the kernel gave no complete answer' : machineWith(tables.view)
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

const modeTexts = (): [string | undefined, string | undefined] => [
  modeText('monitor-user.conf'),
  modeText('monitor.conf'),
]

/** What the engine's checks read of this node, beside its VIPs. */
function factsOf(settings: AgentSettings, log: AgentLog['log'], signal: AbortSignal): Promise<void>[] {
  const tell = (message: string) => log('warn', message)
  const runtime = watchRuntime({ tell })
  signal.addEventListener('abort', () => runtime.close(), { once: true })
  const [vip] = vipPairs(settings.vips).pairs
  if (vip?.api === undefined) return []
  const { apiPort, lbPort, checkInterval } = settings
  const look = openSentinel({ redirect: { vip: vip.api, apiPort, lbPort }, tell })
  return [every(checkInterval, async () => void (await look()), signal)]
}

async function every(ms: number, look: () => Promise<void>, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await look()
    await sleep(ms, undefined, { signal }).catch(() => {})
  }
}
