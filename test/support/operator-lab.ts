/**
 * An operator's term against the stand-in of the API: a cluster with an Infrastructure, nodes and holders. The stand-in
 * answers readyz at 127.0.0.1, which is the API VIP of this cluster.
 */
import { onTestFinished } from 'vitest'
import { operandTexts } from '../../src/cli/operator/operand-texts.ts'
import { GROUP, PLURAL, VERSION } from '../../src/cluster/decisions/status/published-status.ts'
import { ClusterClient } from '../../src/cluster/runtime/api/cluster-client.ts'
import type { ProbeOptions } from '../../src/cluster/runtime/api/vip-probe.ts'
import { OperatorAccount } from '../../src/cluster/runtime/operator/operator-account.ts'
import { OperatorDuty, type TermOptions } from '../../src/cluster/runtime/operator/operator-term.ts'
import { eventually } from '../../src/lab/wait.ts'
import { nodeObject } from './kube-api/node-object.ts'
import { KubeApi, type KubeApiOptions } from './kube-api/server.ts'
import type { KubeObject } from './kube-api/store.ts'

export const OBJECTS = `${GROUP}/${VERSION}/${PLURAL}`
export const OPERATORS = 'config.openshift.io/v1/clusteroperators'
export const INFRASTRUCTURES = 'config.openshift.io/v1/infrastructures'
export const NAME = 'cluster-hosted-net-services'
export const CONFIGS = 'machineconfiguration.openshift.io/v1/machineconfigs'
export const POOLS = 'machineconfiguration.openshift.io/v1/machineconfigpools'
export const OPERANDS = {
  texts: operandTexts(),
  images: { holdfast: 'reg/holdfast:1', 'holdfast-openshift': 'reg/holdfast-openshift:1', coredns: 'reg/coredns:1' },
}
export const API_VIP = '127.0.0.1'
export const INGRESS_VIP = '10.9.0.101'
const SOON = { within: 10_000, every: 20 }

type Condition = { readonly type: string; readonly status: string; readonly reason: string; readonly message: string }

/** Returns an Infrastructure with the lab's VIPs. */
export const infrastructure = (type = 'BareMetal', place: object = {}): KubeObject => ({
  ...{ apiVersion: 'config.openshift.io/v1', kind: 'Infrastructure', metadata: { name: 'cluster' } },
  status: {
    apiServerInternalURI: 'https://api-int.ostest.example.com:6443',
    platformStatus: {
      type,
      [type.toLowerCase()]: { apiServerInternalIPs: [API_VIP], ingressIPs: [INGRESS_VIP], ...place },
    },
  },
})

export class OperatorLab {
  /** Returns 403 to refuse a request; a test may replace the function. */
  refuse: KubeApiOptions['authorize'] = () => undefined
  readonly api = new KubeApi({
    kinds: { [OBJECTS]: 'HostedNetServices', [OPERATORS]: 'ClusterOperator', [CONFIGS]: 'MachineConfig' },
    authorize: (request) => this.refuse?.(request),
  })
  readonly log: string[] = []
  readonly account = new OperatorAccount()
  term: OperatorDuty | undefined

  static async start(): Promise<OperatorLab> {
    const lab = new OperatorLab()
    await lab.api.start()
    onTestFinished(async () => {
      await lab.term?.end()
      await lab.api.stop()
    })
    for (const [i, role] of ['master', 'master', 'master', 'worker'].entries())
      lab.api.store.put('v1/nodes', nodeObject({ name: `n${i + 1}`, addresses: [`10.9.0.${11 + i}`], roles: [role] }))
    return lab
  }

  /** Requests to kube-api through the VIPs, at the stand-in. */
  get probe(): ProbeOptions {
    return { port: this.api.port, everyMs: 50, withinMs: 1_000, failures: 3, scheme: 'http' }
  }

  /** Begins a term, and ends the one before. */
  operate(change: Partial<TermOptions> = {}): OperatorDuty {
    void this.term?.end()
    const client = new ClusterClient(async () => [{ server: `http://127.0.0.1:${this.api.port}`, options: {} }], {
      within: 1_000,
    })
    this.term = new OperatorDuty({
      ...{ client, self: 'operator-1', account: this.account },
      ...{
        namespace: 'openshift-cluster-hosted-net-services',
        version: '4.99.0',
        everyMs: 200,
        graceMs: 1_000,
        askEveryMs: 50,
      },
      probe: this.probe,
      log: ({ code, level }, message) => this.log.push(`${level} ${code}: ${message}`),
      ...change,
    })
    return this.term
  }

  put(collection: string, object: KubeObject): void {
    this.api.store.put(collection, object)
  }

  /** Sets the spec of HostedNetServices. */
  spec(spec: unknown): void {
    const there = this.object()
    const head = { apiVersion: `${GROUP}/${VERSION}`, kind: 'HostedNetServices', metadata: { name: 'cluster' } }
    this.put(OBJECTS, { ...(there ?? head), spec })
  }

  /** Publishes the holders of the VIPs, as agents do. An empty name: the VIP has no holder. */
  holders(nodes: Readonly<Record<string, string | readonly string[]>>): void {
    const there = this.object()
    if (there === undefined) throw new Error('There is no HostedNetServices')
    const holders = Object.entries(nodes).map(([address, names]) => {
      const [node = '', ...alsoAnswering] = typeof names === 'string' ? [names] : names
      const service = address === INGRESS_VIP ? 'Ingress' : 'API'
      return { address, service, node, since: '2026-11-22T12:00:00.000Z', saidBy: node || 'n2', alsoAnswering }
    })
    this.put(OBJECTS, { ...there, status: { ...(there.status ?? {}), holders } })
  }

  object(): KubeObject | undefined {
    return this.api.store.get(OBJECTS, 'cluster')
  }

  status(): { conditions: readonly Condition[]; versions: unknown; relatedObjects: readonly unknown[] } | undefined {
    return this.api.store.get(OPERATORS, NAME)?.status as ReturnType<OperatorLab['status']>
  }

  condition(type: string): Condition | undefined {
    return this.status()?.conditions?.find((one) => one.type === type)
  }

  /** Waits until ClusterOperator has conditions, each written as `Degraded=True NobodyHolds`. */
  async says(...lines: readonly string[]): Promise<void> {
    const shown = () =>
      this.status()?.conditions?.map(({ reason, status, type }) => `${type}=${status} ${reason}`) ?? []
    await eventually(lines.join(', '), () => lines.every((line) => shown().includes(line)), {
      sight: () => ({ conditions: this.status()?.conditions, log: this.log }),
      ...SOON,
    })
  }

  events(): readonly string[] {
    return this.api.store.list('v1/events').map(({ message, reason, type }) => `${type} ${reason}: ${message}`)
  }
}
