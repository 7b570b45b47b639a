/**
 * Runs the operator as a process: connects it to the cluster and the log, and begins and ends its terms with the Lease. A
 * signal ends the process after the Lease is given back. No VIP depends on this process.
 */
import { randomBytes } from 'node:crypto'
import type { RequestOptions } from 'node:https'
import { EXIT } from '../../app/exit-code.ts'
import type { OperatorSettings } from '../../cluster/decisions/operator/operator-settings.ts'
import { clusterAccess } from '../../cluster/runtime/api/cluster-access.ts'
import { type ClusterAccess, ClusterClient } from '../../cluster/runtime/api/cluster-client.ts'
import { askReadyz, PROBE } from '../../cluster/runtime/api/vip-probe.ts'
import { serveMetrics } from '../../cluster/runtime/metrics-server.ts'
import { LEASE_NAME, LeaderLease } from '../../cluster/runtime/operator/leader-lease.ts'
import { OperatorAccount } from '../../cluster/runtime/operator/operator-account.ts'
import { OperatorDuty } from '../../cluster/runtime/operator/operator-term.ts'
import { WriteCounters } from '../../cluster/runtime/operator/write-counters.ts'
import { StatusApi, sendBy, type Written } from '../../cluster/runtime/status/status-api.ts'
import { AGENT_LOG, type AgentLogging } from '../../log/agent-events.ts'
import type { Address } from '../../wire/address.ts'
import { openAgentLog } from '../agent/agent-log.ts'
import type { CommandResult } from '../command.ts'
import { operandTexts } from './operand-texts.ts'

/** Milliseconds for an answer about the Lease. A lost request must not use up the time for renewing it. */
const LEASE_ANSWER = 5_000

export async function operatorRun(settings: OperatorSettings): Promise<CommandResult> {
  const { log, flush } = openAgentLog(settings.logFormat, false, { name: 'holdfast-operator' })
  const end = new AbortController()
  for (const signal of ['SIGTERM', 'SIGINT'] as const)
    process.on(signal, () => {
      if (!end.signal.aborted) log(AGENT_LOG.operatorStopping, `${signal}: operator stops`)
      end.abort()
    })
  const { namespace, version } = settings
  log(AGENT_LOG.operatorStarted, 'operator started', { namespace, version })
  const exitCode = await serve(settings, log, end.signal)
  await flush()
  return { exitCode, stdout: '', stderr: '' }
}

async function serve(settings: OperatorSettings, log: AgentLogging, signal: AbortSignal): Promise<number> {
  const { apiPort, graceMs, images, kubeconfig, listen, name, namespace, version } = settings
  const account = new OperatorAccount()
  const metrics = listen && (await serveMetrics(listen, account))
  if (metrics instanceof Error) {
    log(AGENT_LOG.metricsNotServed, `Cannot listen on ${listen?.host}:${listen?.port}: ${metrics.message}`)
    return EXIT.failure
  }
  const access = named(clusterAccess({ kubeconfig }))
  const client = new ClusterClient(access)
  const self = `${name}_${randomBytes(4).toString('hex')}`
  const writes = new WriteCounters(account, log)
  let term: OperatorDuty | undefined
  const lease = new LeaderLease({
    ...{ self, namespace, api: new StatusApi(sendBy(new ClusterClient(access, { within: LEASE_ANSWER }))) },
    onLeading(isLeading): Promise<void> | undefined {
      account.isLeading = isLeading
      if (isLeading) {
        log(AGENT_LOG.operatorLeads, `operator holds the Lease as ${self}`, { lease: LEASE_NAME })
        term = new OperatorDuty({
          ...{ account, client, log, self, namespace, version },
          ...(images === undefined ? {} : { operands: { images, texts: operandTexts() } }),
          ...{ graceMs, probe: { ...PROBE, port: apiPort } },
          askExternal: (address, name) => askByCluster(access, address, { name, port: apiPort }),
        })
        return undefined
      }
      if (!signal.aborted)
        log(AGENT_LOG.operatorLeadLost, 'operator could not renew its Lease in time, and stops its work', {
          lease: LEASE_NAME,
        })
      const over = term?.end()
      term = undefined
      return over
    },
    onOther: (holder) => log(AGENT_LOG.operatorWaits, `operator ${holder} holds the Lease`, { holder }),
    onFailure: (written) => void writes.of(Promise.resolve(asFailure(written)), 'Lease'),
  })
  await lease.run(signal)
  metrics?.close()
  return EXIT.ok
}

/** Returns a write of the Lease that found no namespace as a refused write, which is logged. */
const asFailure = (written: Written): Written =>
  written.kind === 'missing' ? { kind: 'refused', why: 'the namespace of the Lease does not exist' } : written

/**
 * Asks kube-api at an external address. The certificate of the external address must be of this cluster, because
 * another cluster's kube-api answers readyz as well. No token is sent.
 */
export async function askByCluster(
  access: ClusterAccess,
  address: Address,
  { name, port }: { readonly name: string | undefined; readonly port: number },
): Promise<string | undefined> {
  const [endpoint] = await access()
  const { ca }: RequestOptions = endpoint?.options ?? {}
  const unverified = 'the certificate cannot be verified'
  if (name === undefined) return `${unverified}: Infrastructure has no usable status.apiServerInternalURI`
  if (ca === undefined) return `${unverified}: the credentials of the operator have no certificate authority`
  return askReadyz(address, { ...PROBE, port, trust: { ca, servername: name } })
}

/** Returns the access with the operator's own name in its requests, which the API server's log and flow control show. */
const named =
  (access: ClusterAccess): ClusterAccess =>
  async () =>
    (await access()).map(({ options, server }) => ({
      server,
      options: { ...options, headers: { ...options.headers, 'user-agent': 'holdfast-operator' } },
    }))
