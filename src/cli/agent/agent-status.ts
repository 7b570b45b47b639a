/**
 * The agent's part of HostedNetServices: who holds the addresses, in the API; and which of them somebody wants to be held.
 * Decided here: what of it is told in the log. A cluster without the resource, or one that does not allow it, is told once: all
 * else goes on. Refuses to know the resource.
 */

import type { AgentSettings } from '../../cluster/decisions/agent-settings.ts'
import { vipPairs } from '../../cluster/decisions/engine/vip-pairs.ts'
import type { Toggle } from '../../cluster/decisions/status/intent.ts'
import type { ApiFailure } from '../../cluster/runtime/api/api-failure.ts'
import type { ClusterClient } from '../../cluster/runtime/api/cluster-client.ts'
import { PROBE } from '../../cluster/runtime/api/vip-probe.ts'
import { StatusDuty, type StatusDutyOptions } from '../../cluster/runtime/status/status-duty.ts'
import type { Wishes } from '../../cluster/runtime/status/wishes.ts'
import { ownName } from './agent-cluster.ts'
import type { AgentLog } from './agent-log.ts'

export type StatusPorts = {
  /** The engine's. */
  readonly socket: string
  readonly client: ClusterClient
  readonly log: AgentLog['log']
  readonly wishes: Pick<Wishes, 'ingressIs'>
  /** ingressHa as the API said it last. */
  readonly remembered: Toggle | undefined
  readonly onFailure: (failure: ApiFailure) => void
}

export function openStatus(settings: AgentSettings, { socket, client, log, ...ports }: StatusPorts): StatusDuty {
  const { onFailure, onNews } = statusNews(log)
  const vips = vipPairs(settings.vips).pairs.flatMap(({ index, api, ingress }) => [
    ...(api === undefined ? [] : [{ address: api, service: 'api' as const, index }]),
    ...(ingress === undefined ? [] : [{ address: ingress, service: 'ingress' as const, index }]),
  ])
  return new StatusDuty({
    ...{ self: ownName(settings), vips, socket, client },
    probe: { ...PROBE, port: settings.apiPort },
    onIntent: ({ ingressHa }) => ports.wishes.ingressIs(ingressHa),
    remembered: ports.remembered,
    onNews,
    onFailure(failure) {
      ports.onFailure(failure)
      onFailure(failure)
    },
  })
}

/** What came of it, for the log: each trouble once, until a write has been taken again. */
export function statusNews(log: AgentLog['log']): Pick<StatusDutyOptions, 'onNews' | 'onFailure'> {
  const told = new Set<string>()
  function tell(level: 'info' | 'warn', key: string, words: string, fields: Readonly<Record<string, unknown>>): void {
    log(told.has(key) ? 'debug' : level, words, fields)
    told.add(key)
  }
  return {
    onNews(news) {
      if (news.kind === 'published') told.clear()
      if (news.kind === 'published' || news.kind === 'engine') log('debug', `status: ${news.kind}`, news)
      else if (news.kind === 'missing') tell('info', 'absent', ABSENT, news)
      else tell('warn', `${news.kind} ${news.why}`, `status: ${news.kind}`, news)
    },
    onFailure(failure) {
      if (failure.status === 404) return tell('info', 'absent', ABSENT, { why: failure.message })
      // What is wrong with the API as a whole is told by the watch of the nodes.
      const level = isRefusal(failure) ? 'warn' : undefined
      const words = `HostedNetServices is not followed: ${failure.message}`
      if (level === undefined) log('debug', words, { kind: failure.kind })
      else tell(level, failure.kind, words, { kind: failure.kind })
    },
  }
}

const ABSENT = 'there is no HostedNetServices in this cluster: nobody is told who holds the addresses'
const isRefusal = ({ kind }: ApiFailure): boolean =>
  kind === 'forbidden' || kind === 'unauthorized' || kind === 'refused'
