/**
 * A node with CoreDNS and `holdfast corednsmonitor` in a network namespace, two upstream DNS servers on other hosts,
 * and the stand-in of the Kubernetes API. This file decides the names, the addresses and the answers of the upstream
 * servers. This file does not know what a test is about.
 */
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { GROUP, KIND, PLURAL, VERSION } from '../../src/cluster/decisions/status/published-status.ts'
import { packageRoot } from '../../src/lab/installation.ts'
import { HOLDFAST, type Host } from '../../src/lab/lab.ts'
import { LoggedProcess } from '../../src/lab/logged-process.ts'
import { eventually } from '../../src/lab/wait.ts'
import { ClusterLab } from './cluster-lab.ts'
import { corednsProgram } from './require.ts'

export const DOMAIN = 'ostest.example.com'
/**
 * Interval and jitter at which CoreDNS reads the Corefile, the shortest that its plugin reload accepts. The shipped
 * template has the plugin's own values, 30 s and 15 s.
 */
const RELOAD = '2s 1s'
const CLUSTER_CONFIG =
  'kind: ConfigMap\ndata:\n  install-config: |\n    metadata: { name: ostest }\n    baseDomain: example.com\n    platform: { baremetal: {} }\n'

const HOSTED = `${GROUP}/${VERSION}/${PLURAL}`

type HostedStatus = { readonly conditions?: readonly Readonly<Record<'type' | 'reason' | 'message', string>>[] }
const hasStatus = (object: unknown): object is { readonly status: HostedStatus } =>
  typeof object === 'object' && object !== null && 'status' in object

export type DnsLabOptions = {
  readonly apiVips: string
  readonly ingressVips: string
  /** Port of CoreDNS on the node (default: 53). */
  readonly port?: number
  /** True if corednsmonitor reports to the agent of the node. */
  readonly reports?: boolean
  /** True if corednsmonitor takes the nodes from the agent of the node. */
  readonly fromAgent?: boolean
  /** Further options of corednsmonitor. */
  readonly flags?: readonly string[]
  /** Environment variables of corednsmonitor. */
  readonly environment?: Readonly<Record<string, string>>
}

export class DnsLab {
  readonly cluster = new ClusterLab({ nodes: 1, flags: ['--stable-for=500ms'] })
  readonly folder: string
  readonly corefile: string
  readonly resolvConf: string
  readonly #options: DnsLabOptions
  coredns: LoggedProcess | undefined
  monitor: LoggedProcess | undefined
  readonly upstreams: LoggedProcess[] = []

  constructor(options: DnsLabOptions) {
    this.#options = options
    this.folder = join(this.cluster.lab.directory, 'dns')
    this.corefile = join(this.folder, 'etc', 'Corefile')
    this.resolvConf = join(this.folder, 'resolv.conf')
    mkdirSync(join(this.folder, 'etc'), { recursive: true })
    writeFileSync(join(this.folder, 'cluster-config.yaml'), CLUSTER_CONFIG)
    const template = join(this.folder, 'Corefile.tmpl')
    copyFileSync(join(packageRoot(), 'deploy', 'dns', 'Corefile.tmpl'), template)
    const { port } = options
    this.#edit(template, /^ {4}reload$/m, `    reload ${RELOAD}`)
    if (port !== undefined) this.#edit(template, /^\. \{$/m, `.:${port} {`)
    this.serversAre('127.0.0.1', this.node.address, this.#up(0).address, this.#up(1).address)
  }

  /** Replaces a line of the shipped template. */
  #edit(template: string, line: RegExp, by: string): void {
    const text = readFileSync(template, 'utf8')
    if (!line.test(text)) throw new Error(`Cannot find ${line} in ${template}`)
    writeFileSync(template, text.replace(line, by))
  }

  get node(): Host {
    return this.cluster.node(1).host
  }

  #up(index: 0 | 1): Host {
    return this.cluster.lab.host(index === 0 ? 'client' : 'api')
  }

  /** Writes NetworkManager's resolv.conf. */
  serversAre(...servers: readonly string[]): void {
    writeFileSync(this.resolvConf, servers.map((server) => `nameserver ${server}\n`).join(''))
  }

  /** Starts the two upstream servers. The second upstream server has other answers, and answers servfail.example. */
  async startUpstreams(): Promise<void> {
    for (const index of [0, 1] as const) {
      const answer = (zone: string) =>
        `    template IN A ${zone} {\n        answer "{{ .Name }} 60 IN A 198.51.100.${index + 1}"\n    }\n`
      const servfail =
        index === 0
          ? '    template ANY ANY servfail.example {\n        rcode SERVFAIL\n    }\n'
          : answer('servfail.example')
      const rest = '    template ANY ANY . {\n        rcode NXDOMAIN\n    }\n'
      const file = join(this.folder, `upstream-${index + 1}`)
      writeFileSync(file, `. {\n    errors\n${servfail}${answer('outside.example')}${rest}}\n`)
      this.upstreams[index] = await this.#startCoredns(this.#up(index), file)
    }
  }

  async startCoredns(): Promise<void> {
    await eventually('a Corefile', () => existsSync(this.corefile), {
      sight: () => this.monitor?.lines.slice(-5),
      within: 60_000,
    })
    this.coredns = await this.#startCoredns(this.node, this.corefile)
  }

  /** Starts a CoreDNS with another Corefile on the node, as a program that has its port. */
  async startOther(file: string): Promise<void> {
    await this.#startCoredns(this.node, file)
  }

  async #startCoredns(host: Host, file: string): Promise<LoggedProcess> {
    const started = new LoggedProcess(this.cluster.lab, host, [corednsProgram() ?? 'coredns', '-conf', file])
    await started.line(/^CoreDNS-/, 60_000)
    return started
  }

  startMonitor(): LoggedProcess {
    const argv = [HOLDFAST, 'corednsmonitor', ...this.words]
    this.monitor = new LoggedProcess(this.cluster.lab, this.node, argv, this.#options.environment)
    return this.monitor
  }

  /** Starts the engine and the agent of the node. */
  startAgent(): void {
    const node = this.cluster.node(1)
    node.startEngine()
    node.startAgent(`--dns-report=${this.#reportFile}`)
  }

  get #reportFile(): string {
    return join(this.folder, 'report')
  }

  /** Writes `HostedNetServices.spec.dns`, as an administrator does. */
  wish(dns: object): void {
    this.cluster.api.store.put(HOSTED, {
      ...{ apiVersion: `${GROUP}/${VERSION}`, kind: KIND, metadata: { name: 'cluster' }, spec: { dns } },
      status: this.#status(),
    })
  }

  #status(): HostedStatus | undefined {
    const object: unknown = this.cluster.api.store.get(HOSTED, 'cluster')
    return hasStatus(object) ? object.status : undefined
  }

  /** Waits until the message of a condition of HostedNetServices has a text; `isPresent` false: no longer has it. */
  async condition(type: string, text: string, isPresent = true): Promise<void> {
    const message = () => this.#status()?.conditions?.find((each) => each.type === type)?.message
    await eventually(
      `${type} ${isPresent ? 'with' : 'without'} "${text}"`,
      () => message()?.includes(text) === isPresent,
      {
        sight: () => ({
          status: this.#status(),
          agent: this.cluster
            .node(1)
            .told.map(({ msg }) => msg)
            .filter((msg) => msg !== 'status of the engine read')
            .slice(-12),
          engine: this.cluster
            .node(1)
            .engine?.lines.slice(-4)
            .map(({ text: line }) => line),
        }),
        within: 60_000,
      },
    )
  }

  /** Arguments of corednsmonitor. */
  get words(): readonly string[] {
    const { apiVips, flags = [], fromAgent, ingressVips, reports } = this.#options
    return [
      ...[join(this.cluster.lab.directory, 'kubeconfig'), join(this.folder, 'Corefile.tmpl'), this.corefile],
      ...['--api-vips', apiVips, '--ingress-vips', ingressVips, '--resolv-conf', this.resolvConf, '--json'],
      ...['--cluster-config', join(this.folder, 'cluster-config.yaml'), ...flags],
      ...(fromAgent === true ? ['--nodes-from', this.cluster.node(1).stateDirectory] : []),
      ...(reports === true ? [`--report=${this.#reportFile}`] : []),
    ]
  }

  /** Asks a DNS server of the node. Returns the status and the sorted data of the answers, such as `NOERROR 10.0.0.5`. */
  dig(name: string, type: string, ...options: readonly string[]): string {
    const argv = ['dig', `@${this.node.address}`, '+time=3', '+tries=1', '+noall', '+comments', '+answer', ...options]
    let text: string
    try {
      text = this.cluster.lab.exec(this.node, [...argv, name, type])
    } catch (error) {
      text = String(error)
    }
    const [, status = 'no answer'] = /status: (\w+)/.exec(text) ?? []
    const data = text
      .split('\n')
      .flatMap((line) => (/^[^;\s]/.test(line) ? (line.trim().split(/\s+/).at(4) ?? []) : []))
    return [status, ...data.toSorted()].join(' ')
  }

  /** Waits until a question has the answer. */
  async answers(
    name: string,
    type: string,
    expected: string,
    within = 60_000,
    ...options: readonly string[]
  ): Promise<void> {
    await eventually(`${name} ${type} to be ${expected}`, () => this.dig(name, type, ...options) === expected, {
      sight: () => ({
        is: this.dig(name, type, ...options),
        monitor: this.monitor?.lines.slice(-4).map(({ text }) => text),
      }),
      within,
      every: 250,
    })
  }

  async destroy(): Promise<void> {
    await this.cluster.destroy()
  }
}
