/**
 * Connects the agent to HostedNetServices: it writes to the API which node holds each VIP, and reads which VIPs are
 * wanted. This file decides the log lines about HostedNetServices. If the cluster has no such resource or gives no
 * permission, that is logged once, and the agent continues.
 */

import type { AgentSettings } from '../../cluster/decisions/agent-settings.ts'
import { vipPairs } from '../../cluster/decisions/engine/vip-pairs.ts'
import type { Toggle } from '../../cluster/decisions/status/intent.ts'
import type { ApiFailure } from '../../cluster/runtime/api/api-failure.ts'
import type { ClusterClient } from '../../cluster/runtime/api/cluster-client.ts'
import { PROBE } from '../../cluster/runtime/api/vip-probe.ts'
import { dnsReportOf } from '../../cluster/runtime/dns/dns-report-file.ts'
import { StatusDuty, type StatusDutyOptions } from '../../cluster/runtime/status/status-duty.ts'
import type { Wishes } from '../../cluster/runtime/status/wishes.ts'
import { AGENT_LOG, repeated } from '../../log/agent-events.ts'
import { ownName } from './agent-cluster.ts'
import type { AgentLog } from './agent-log.ts'

export type StatusPorts = {
  /** Path of the engine's control socket. */
  readonly socket: string
  readonly client: ClusterClient
  readonly log: AgentLog['log']
  readonly wishes: Pick<Wishes, 'ingressIs'>
  /** Last value of ingressHa that the API gave; `undefined` if it gave none. */
  readonly remembered: Toggle | undefined
  readonly onFailure: (failure: ApiFailure) => void
}

export function openStatus(settings: AgentSettings, { socket, client, log, ...ports }: StatusPorts): StatusDuty {
  const { onFailure, onNews } = statusNews(log)
  const { dnsReport } = settings
  const vips = vipPairs(settings.vips).pairs.flatMap(({ index, api, ingress }) => [
    ...(api === undefined ? [] : [{ address: api, service: 'api' as const, index }]),
    ...(ingress === undefined ? [] : [{ address: ingress, service: 'ingress' as const, index }]),
  ])
  return new StatusDuty({
    ...{ self: ownName(settings), vips, socket, client },
    probe: { ...PROBE, port: settings.apiPort },
    onIntent: ({ ingressHa }) => ports.wishes.ingressIs(ingressHa),
    remembered: ports.remembered,
    dns: dnsReport === undefined ? undefined : () => dnsReportOf(dnsReport),
    onNews,
    onFailure(failure) {
      ports.onFailure(failure)
      onFailure(failure)
    },
  })
}

type StatusNews = Parameters<StatusDutyOptions['onNews']>[0]
type Once = typeof AGENT_LOG.hostedNetServicesAbsent | typeof AGENT_LOG.statusFailed
type OnceFields = Readonly<Partial<Record<'kind' | 'part' | 'why', string>>>

/**
 * Returns the functions that log. A problem is logged as a warning once, until a write to the API succeeds again.
 */
export function statusNews(log: AgentLog['log']): Pick<StatusDutyOptions, 'onNews' | 'onFailure'> {
  const logged = new Set<string>()
  function tell(event: Once, key: string, text: string, fields: OnceFields): void {
    log(logged.has(key) ? repeated(event) : event, text, fields)
    logged.add(key)
  }
  return {
    onNews(news) {
      if (news.kind === 'published') logged.clear()
      if (news.kind === 'published' || news.kind === 'engine')
        log(AGENT_LOG.statusWritten, writtenText(news), { ...news })
      else if (news.kind === 'missing') tell(AGENT_LOG.hostedNetServicesAbsent, 'absent', ABSENT, news)
      else
        tell(
          AGENT_LOG.statusFailed,
          `${news.kind} ${news.why}`,
          `Cannot write the status of HostedNetServices: ${news.kind} (${news.why})`,
          { ...news },
        )
    },
    onFailure(failure) {
      if (failure.status === 404)
        return tell(AGENT_LOG.hostedNetServicesAbsent, 'absent', ABSENT, { why: failure.message })
      // Failures of the whole API are logged by the watch of the nodes.
      const text = `Cannot follow HostedNetServices: ${failure.message}`
      if (isRefusal(failure)) tell(AGENT_LOG.statusFailed, failure.kind, text, { kind: failure.kind })
      else log(AGENT_LOG.apiRequestFailed, text, { kind: failure.kind })
    },
  }
}

/** Returns the text about a written status, or about an answer of the engine. */
function writtenText(news: Extract<StatusNews, { readonly kind: 'published' | 'engine' }>): string {
  if (news.kind === 'published') return `${news.part} of the VIPs written to the status of HostedNetServices`
  return news.why === undefined ? 'status of the engine read' : `Cannot read the status of the engine: ${news.why}`
}

const ABSENT = 'this cluster has no HostedNetServices: the holders of the VIPs are not published'
const isRefusal = ({ kind }: ApiFailure): boolean =>
  kind === 'forbidden' || kind === 'unauthorized' || kind === 'refused'
