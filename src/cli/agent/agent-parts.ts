/**
 * Builds the agent and the objects that it needs before it contacts the cluster: its stored peers, the wanted services,
 * and the engine that it configures. This file decides which of these come from the settings, and which from files of
 * an earlier run.
 */

import { join } from 'node:path'
import type { AgentSettings } from '../../cluster/decisions/agent-settings.ts'
import { wantedMode } from '../../cluster/decisions/engine/mode.ts'
import type { Vrids } from '../../cluster/decisions/engine/vrid.ts'
import type { Account } from '../../cluster/runtime/account.ts'
import { Agent } from '../../cluster/runtime/agent.ts'
import { wasStopped } from '../../cluster/runtime/bootstrap-duty.ts'
import type { EngineClient } from '../../cluster/runtime/engine-client.ts'
import { openKeepalivedClient } from '../../cluster/runtime/keepalived-client.ts'
import { keepalivedEngine } from '../../cluster/runtime/keepalived-engine.ts'
import { textIn } from '../../cluster/runtime/machine.ts'
import { NodeMemory, rememberedPeers, rememberPeers } from '../../cluster/runtime/peer-memory.ts'
import { rememberedIntent } from '../../cluster/runtime/status/intent-memory.ts'
import type { StatusDuty } from '../../cluster/runtime/status/status-duty.ts'
import { Wishes } from '../../cluster/runtime/status/wishes.ts'
import { AGENT_LOG } from '../../log/agent-events.ts'
import { machineNow } from '../node-tables.ts'
import {
  clusterOf,
  firstMode,
  grouping,
  isFollowed,
  KEEPALIVED_FOLDER,
  keepalivedFile,
  ownName,
} from './agent-cluster.ts'
import type { AgentLog } from './agent-log.ts'
import { holdfastEngine } from './holdfast-engine.ts'

/** Milliseconds between two reads of the machine's addresses. Addresses move while the cluster runs. */
const LOOK_EVERY = 1_000

export type AgentParts = {
  readonly agent: Agent
  readonly wishes: Wishes
  readonly engineAccess: EngineAccess
  /** Part that reports to the cluster's API; absent before this part starts, and on nodes that do not report. */
  readonly status: { duty?: StatusDuty }
}

export function agentParts(
  settings: AgentSettings,
  { name, vrids }: { readonly name: string; readonly vrids: Vrids },
  { account, log }: { readonly account: Account; readonly log: AgentLog['log'] },
): AgentParts {
  const { stateDirectory: directory } = settings
  const remembered = rememberedPeers(directory)
  if (typeof remembered === 'string') log(AGENT_LOG.storedFileNotUsed, remembered)
  const rememberedWishes = rememberedIntent(directory)
  if (typeof rememberedWishes === 'string') log(AGENT_LOG.storedFileNotUsed, rememberedWishes)
  const isStopped = settings.bootstrap && wasStopped(directory)
  const engineAccess = accessOf(settings, log, isStopped)
  const { grouped, notes } = grouping(settings)
  for (const note of notes) log(AGENT_LOG.flagNote, note)
  const nodes = new NodeMemory(directory, (reason) =>
    log(AGENT_LOG.peersNotStored, `Cannot store the nodes of the cluster: ${reason}`),
  )
  const status: AgentParts['status'] = {}
  const wishes = new Wishes({
    ...{ directory, log },
    remembered: typeof rememberedWishes === 'object' ? rememberedWishes : {},
    isFollowed: isFollowed(settings),
    isStopped: isStopped && settings.handOver.to === 'engine',
    onIntent: (intent) => agent.wants(intent),
  })
  const role = settings.bootstrap ? 'bootstrap' : undefined
  const agent = new Agent(
    {
      intent: wishes.intent,
      cluster: clusterOf(settings, { name, vrids, nodeName: ownName(settings), grouped }, role),
      mode: firstMode(settings, name),
      remembered: typeof remembered === 'string' ? undefined : remembered,
      stableFor: settings.stableFor,
      lookEvery: LOOK_EVERY,
    },
    {
      ...{ engine: engineAccess.engine, account, log, machine: machineNow },
      wantedMode: () => wantedMode(...modeTexts()),
      persist: (peers) => rememberPeers(directory, peers),
      now: () => ({ monotonic: performance.now(), wall: Date.now() }),
      onNodes: (known) => {
        nodes.store(known)
        status.duty?.nodesAre(known)
      },
    },
  )
  return { agent, wishes, engineAccess, status }
}

export type EngineAccess = {
  readonly engine: EngineClient
  readonly say: ((word: 'stop' | 'reload') => void) | undefined
}

function accessOf(settings: AgentSettings, log: AgentLog['log'], isStopped: boolean): EngineAccess {
  const { handOver, native } = settings
  if (handOver.to === 'engine') return { engine: holdfastEngine(handOver.socket, { native }), say: undefined }
  const keepalived = openKeepalivedClient({
    ...handOver,
    isStopped,
    tell: (message) => log(AGENT_LOG.keepalivedOrder, message),
  })
  return {
    engine: keepalivedEngine(handOver.file, keepalived, (desired) => keepalivedFile(settings, desired)),
    say: (word) => keepalived.send(word),
  }
}

const modeTexts = (): [string | undefined, string | undefined] => [
  modeText('monitor-user.conf'),
  modeText('monitor.conf'),
]

const modeText = (name: string): string | undefined => textIn(join(KEEPALIVED_FOLDER, name))
