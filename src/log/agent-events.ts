/**
 * Lists all log events of `holdfast agent`. docs/log-events.md is generated from this table. A problem that is repeated
 * is logged as `debug`, whatever the level of its event is. Pure.
 */
import type { DNS_LOG } from './dns-events.ts'
import { type LogEvent, logEvents } from './log-event.ts'
import { MONITOR_EVENTS } from './monitor-events.ts'
import { OPERATOR_EVENTS } from './operator-events.ts'

const AGENT_EVENTS = logEvents<string>()({
  agentStarted: {
    level: 'info',
    fields: ['role', 'cluster', 'node'],
    means: 'The agent knows the role of its node, and begins',
  },
  agentStopping: {
    level: 'info',
    fields: [],
    means: 'A signal ends the agent; the engine keeps its configuration and its VIPs',
  },
  apiRequestFailed: { level: 'debug', fields: ['kind'], means: 'A request to the API of the cluster failed' },
  bootstrapFileNotWritten: {
    level: 'error',
    fields: [],
    means: 'A bootstrap node cannot store whether it stopped the engine; after a restart it decides again',
    act: 'check the disk and the folder that the message names',
  },
  bootstrapOrder: {
    level: 'info',
    fields: ['apiReady', 'ironicAnswers'],
    means: 'A bootstrap node stops the engine, or lets it run again, as the control plane is ready or not',
  },
  clusterNotNamed: {
    level: 'error',
    fields: [],
    means: 'The name of the cluster is not known yet, so the VRIDs cannot be chosen; the agent tries again',
    act: 'check the kubeconfig, or give `--cluster-name`',
  },
  desiredStateNote: {
    level: 'warn',
    fields: [],
    means: 'A part of the configuration cannot be made from what the agent knows',
    act: 'see the message',
  },
  engineConnected: {
    level: 'info',
    fields: ['configured', 'mode'],
    means: 'The agent is connected to the engine',
  },
  engineLost: {
    level: 'warn',
    fields: ['reason'],
    means: 'The connection to the engine ended; the agent connects again',
    act: 'look at the log of the engine',
  },
  engineNotReached: {
    level: 'warn',
    fields: [],
    means: 'The agent cannot connect to the engine, and tries again',
    act: 'check that the engine runs, and the path of its socket',
  },
  engineRefused: {
    level: 'error',
    fields: ['because', 'routers', 'problems'],
    means: 'The engine refused the configuration of the agent, and keeps the previous configuration',
    act: 'look at `problems`',
  },
  factNotRead: {
    level: 'warn',
    fields: [],
    means: 'A fact about this node cannot be read or written; the engine’s checks use the last known fact',
    act: 'see the message',
  },
  flagNote: {
    level: 'warn',
    fields: [],
    means: 'A flag or an environment variable of the agent has another effect than expected',
    act: 'see docs/agent.md',
  },
  handedOver: {
    level: 'info',
    fields: ['because', 'routers'],
    means: 'The engine accepted the configuration of the agent',
  },
  handOverOff: {
    level: 'warn',
    fields: ['platform'],
    means: 'On this platform the nodes hold no VIPs: the agent hands no configuration over',
  },
  hostedNetServicesAbsent: {
    level: 'info',
    fields: ['kind', 'part', 'why'],
    means: 'The cluster has no HostedNetServices: the holders of the VIPs are not published',
  },
  ingressWaits: {
    level: 'info',
    fields: [],
    means: 'Ingress VIPs wait until the API says whether the nodes hold them',
  },
  intentNotStored: {
    level: 'error',
    fields: [],
    means:
      'The agent cannot store which VIPs the cluster wants on its nodes; after a restart the agent asks the API first',
    act: 'check the disk of the state directory',
  },
  keepalivedOrder: {
    level: 'warn',
    fields: [],
    means:
      'keepalived did not receive an order over its socket, and the agent repeats the order; or keepalived received it at last',
    act: 'check that keepalived (or `holdfast keepalived`) runs',
  },
  machineNotRead: {
    level: 'warn',
    fields: [],
    means: 'Interfaces, addresses, or the API cannot be read; the agent keeps what it knows',
    act: 'see the message',
  },
  metricsNotServed: {
    level: 'error',
    fields: [],
    means: 'The address of the metrics is in use; the agent ends',
    act: 'choose another address (`--listen`)',
  },
  modeChanged: { level: 'info', fields: ['mode'], means: 'The agent changes between unicast and multicast' },
  modeNotRead: {
    level: 'warn',
    fields: [],
    means: 'The file with the wanted mode (unicast or multicast) cannot be used',
    act: 'mend the file',
  },
  modeNotChanged: {
    level: 'warn',
    fields: ['mode'],
    means: 'The agent did not change between unicast and multicast, because it knows too little about the other nodes',
    act: 'see the lines before',
  },
  modePlanned: {
    level: 'info',
    fields: ['mode', 'at'],
    means: 'All nodes change between unicast and multicast at the same time, `at`',
  },
  nodeMalformed: {
    level: 'warn',
    fields: ['node', 'field', 'found'],
    means: 'A Node object has an unusable field, and the node is no peer',
    act: 'look at the Node object',
  },
  nodeNotRegistered: {
    level: 'warn',
    fields: ['node'],
    means: 'The API has no Node object of this node yet; until then the agent treats it as a worker',
    act: 'nothing, if the node is new; otherwise check the name (`--node-name`)',
  },
  nodesNotRead: {
    level: 'warn',
    fields: ['kind', 'againInMs'],
    means: 'The nodes of the cluster, which are the peers, cannot be read; the last known peers stay in force',
    act: 'check the API and the kubeconfig; nothing is urgent',
  },
  nodesRead: { level: 'info', fields: [], means: 'The nodes of the cluster can be read again' },
  peersNotStored: {
    level: 'error',
    fields: [],
    means: 'The peers cannot be stored; after a restart the agent waits for the API',
    act: 'check the disk of the state directory',
  },
  peersStored: { level: 'debug', fields: ['peers'], means: 'The peers are stored for the next start' },
  refusalChanged: {
    level: 'warn',
    fields: ['problems'],
    means:
      'The engine refused the configuration for other reasons than before; the previous configuration stays in force',
    act: 'look at `problems`',
  },
  roleChanged: { level: 'info', fields: ['role', 'before'], means: 'The role of this node changed' },
  storedFileNotUsed: {
    level: 'warn',
    fields: [],
    means: 'A file of an earlier run cannot be used; the agent asks the API first',
    act: 'delete the file, if the message comes back',
  },
  statusFailed: {
    level: 'warn',
    fields: ['kind', 'part', 'why'],
    means:
      'The agent cannot write the holder or the conditions of a VIP to HostedNetServices, or cannot read HostedNetServices',
    act: 'check the rights of the agent (docs/hosted-net-services.md)',
  },
  statusWritten: {
    level: 'debug',
    fields: ['kind', 'part', 'body', 'why'],
    means: 'The agent wrote the status of HostedNetServices, or read the status of the engine',
  },
  vipsElsewhere: {
    level: 'warn',
    fields: [],
    means: 'The nodes of this cluster hold no VIPs, because a load balancer has them',
  },
  vridsNotUsable: {
    level: 'error',
    fields: [],
    means: 'The given VRIDs cannot be used; the agent ends',
    act: 'correct `--vrids`',
  },
  waitingForNodes: {
    level: 'info',
    fields: [],
    means: 'A first start: the agent waits until it has read the nodes of the cluster',
  },
  wishesChanged: {
    level: 'info',
    fields: ['ingressHa', 'elsewhere'],
    means: 'The cluster wants other VIPs on its nodes than before',
  },
})

export const AGENT_LOG = { ...AGENT_EVENTS, ...MONITOR_EVENTS, ...OPERATOR_EVENTS }

type Table = typeof AGENT_LOG & typeof DNS_LOG
export type AgentField = Table[keyof Table]['fields'][number]
export type AgentLogEvent = Table[keyof Table]
/** Fields of a line about the event. A field that the table does not name is refused. */
export type AgentFields<E extends AgentLogEvent, Given> = Given & {
  readonly [Name in Exclude<keyof Given, E['fields'][number]>]: never
}
export type AgentLogging = <E extends AgentLogEvent, const Given extends object = object>(
  event: E,
  message: string,
  fields?: AgentFields<E, Given>,
) => void

/** Returns the event at the level debug, for a problem that was logged before. */
export const repeated = <E extends LogEvent>(event: E): E => ({ ...event, level: 'debug' })
