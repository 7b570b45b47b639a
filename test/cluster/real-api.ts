/**
 * Runs a real etcd and real kube-apiservers on hosts of a lab (scripts/cluster-binaries.sh). This file decides their flags,
 * certificates and files, and reads their audit logs. This file does not know what a test is about.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '../../src/lab/installation.ts'
import type { Host, Lab } from '../../src/lab/lab.ts'
import { LoggedProcess } from '../../src/lab/logged-process.ts'
import { eventually } from '../../src/lab/wait.ts'

const SCRIPTS = join(packageRoot(), 'scripts')
export const DEPLOY = join(packageRoot(), 'deploy', 'kubernetes')
const START = { within: 120_000, every: 200 }

/** Programs that the tests of the API need. */
export const API_PROGRAMS = ['etcd', 'kube-apiserver', 'kubectl']

/** Returns the folder with these programs, or with all programs of a cluster; `undefined` if one was not built. */
export function clusterPrograms(names: readonly string[] = []): string | undefined {
  const script = join(SCRIPTS, 'cluster-binaries.sh')
  const { status, stdout } = spawnSync(script, ['--look', ...names], { encoding: 'utf8' })
  return status === 0 ? stdout.trim() : undefined
}

export type Answer = { readonly ok: boolean; readonly text: string }

/** A request that an API server has answered, as its audit log has it. */
export type Asked = {
  readonly id: string
  /** Address of the client. */
  readonly from: string
  /** Empty if the credentials were refused. */
  readonly user: string
  readonly verb: string
  readonly uri: string
  readonly code: number
  /** Milliseconds since 1970. */
  readonly at: number
}

const AUDIT = {
  apiVersion: 'audit.k8s.io/v1',
  kind: 'Policy',
  omitStages: ['RequestReceived'],
  rules: [{ level: 'Metadata' }],
}

export type ApiPlan = {
  /** Further hosts with an API server, whose addresses the certificate has. */
  readonly hosts?: readonly Host[]
  /** Virtual address that the certificate has; absent: the address of the first host. */
  readonly vip?: string
}

export class RealApi {
  readonly server: string
  readonly #lab: Lab
  readonly #host: Host
  readonly #programs: string
  readonly #folder: string
  readonly #servers = new Map<string, LoggedProcess>()
  #etcd: LoggedProcess | undefined

  /** `host` has etcd, and the API server that kubectl asks. */
  constructor(lab: Lab, host: Host, programs: string, { hosts = [], vip = host.address }: ApiPlan = {}) {
    this.#lab = lab
    this.#host = host
    this.#programs = programs
    this.#folder = join(lab.directory, 'api')
    this.server = `https://${host.address}:6443`
    mkdirSync(this.#folder)
    writeFileSync(this.file('audit.yaml'), JSON.stringify(AUDIT))
    const nodes = [`${host.name}=${host.address}`, 'n1=127.0.0.2', 'n2=127.0.0.3']
    const more = hosts.map(({ name, address }) => `${name}=${address}`)
    const script = join(SCRIPTS, 'cluster', 'certificates.sh')
    const made = spawnSync(script, [this.#folder, vip, ...nodes, ...more], { encoding: 'utf8' })
    if (made.status !== 0) throw new Error(`Cannot make certificates: ${made.stderr}`)
  }

  file(name: string): string {
    return join(this.#folder, name)
  }

  /** Starts etcd, if it does not run, and the API server of a host. Resolves when the API server is ready. */
  async start(flags: readonly string[] = [], host: Host = this.#host): Promise<void> {
    const etcd = this.#host.address
    this.#etcd ??= new LoggedProcess(this.#lab, this.#host, [
      join(this.#programs, 'etcd'),
      `--data-dir=${this.file('etcd')}`,
      `--listen-client-urls=http://127.0.0.1:2379,http://${etcd}:2379`,
      `--advertise-client-urls=http://${etcd}:2379`,
      '--listen-peer-urls=http://127.0.0.1:2380',
      '--watch-progress-notify-interval=5s',
      '--unsafe-no-fsync',
    ])
    const api = new LoggedProcess(this.#lab, host, [
      join(this.#programs, 'kube-apiserver'),
      `--etcd-servers=http://${etcd}:2379`,
      `--advertise-address=${host.address}`,
      '--authorization-mode=Node,RBAC',
      '--enable-admission-plugins=NodeRestriction',
      `--client-ca-file=${this.file('ca.crt')}`,
      `--tls-cert-file=${this.file('api-server.crt')}`,
      `--tls-private-key-file=${this.file('api-server.key')}`,
      '--service-account-issuer=https://kubernetes.default.svc',
      `--service-account-key-file=${this.file('service-accounts.pub')}`,
      `--service-account-signing-key-file=${this.file('service-accounts.key')}`,
      '--service-cluster-ip-range=10.96.0.0/16',
      `--audit-policy-file=${this.file('audit.yaml')}`,
      `--audit-log-path=${this.file(`audit-${host.name}.log`)}`,
      ...flags,
    ])
    this.#servers.set(host.name, api)
    const ask = ['get', '--raw', '/readyz', '--server', `https://${host.address}:6443`]
    await eventually('the API server to be ready', () => this.kubectl(...ask).ok, {
      sight: () => [...api.lines, ...(this.#etcd?.lines ?? [])].slice(-5).map(({ text }) => text),
      ...START,
    })
  }

  /** Kills the API server of a host. Its connections are reset. */
  async kill(host: Host = this.#host): Promise<void> {
    const api = this.#servers.get(host.name)
    api?.signal('SIGKILL')
    await api?.exited
  }

  /** Ends the API server of a host by SIGTERM, as kubelet does. */
  async stop(host: Host = this.#host): Promise<void> {
    const api = this.#servers.get(host.name)
    api?.signal('SIGTERM')
    await api?.exited
  }

  /** Returns what the agents have asked, in the order of the answers. A watch counts when it begins. */
  asked(): readonly Asked[] {
    const files = [...this.#servers.keys()].map((name) => this.file(`audit-${name}.log`)).filter(existsSync)
    const lines = files.flatMap((file) => readFileSync(file, 'utf8').split('\n').slice(0, -1))
    const byId = new Map<string, Asked>()
    for (const line of lines) {
      const { auditID, user, verb, requestURI, sourceIPs, responseStatus, userAgent, stageTimestamp } = JSON.parse(line)
      if (userAgent !== 'holdfast-agent' || byId.has(auditID)) continue
      byId.set(auditID, {
        ...{ id: auditID, from: sourceIPs?.[0] ?? '', user: user?.username ?? '', verb, uri: requestURI },
        ...{ code: responseStatus?.code ?? 0, at: Date.parse(stageTimestamp) },
      })
    }
    return [...byId.values()].sort((one, other) => one.at - other.at)
  }

  /** Removes all versions but the newest one from etcd. A watch can then not begin at an earlier version. */
  compact(): void {
    const call = (method: string, body: object): { header: { revision: string } } =>
      JSON.parse(
        this.#lab.exec(this.#host, [
          ...['curl', '-sS', '--fail', '--max-time', '20', '-d', JSON.stringify(body)],
          `http://127.0.0.1:2379/v3/kv/${method}`,
        ]),
      )
    const { revision } = call('range', { key: Buffer.from('/').toString('base64') }).header
    call('compaction', { revision, physical: true })
  }

  /** Runs kubectl as the administrator. */
  kubectl(...argv: readonly string[]): Answer {
    return this.kubectlAs(this.file('admin.conf'), argv)
  }

  /** Runs kubectl with the administrator's rights and `input` as standard input. */
  apply(input: object, ...argv: readonly string[]): Answer {
    return this.kubectlAs(this.file('admin.conf'), ['apply', ...argv, '-f', '-'], JSON.stringify(input))
  }

  kubectlAs(kubeconfig: string, argv: readonly string[], input?: string): Answer {
    const server = argv.includes('--server') ? [] : ['--server', this.server]
    const options = ['--kubeconfig', kubeconfig, '--request-timeout=20s', ...server]
    const command = [join(this.#programs, 'kubectl'), ...options, ...argv]
    const [file = '', ...rest] = this.#lab.commandOn(this.#host, command)
    const ended = spawnSync(file, rest, {
      encoding: 'utf8',
      timeout: 60_000,
      ...(input === undefined ? {} : { input }),
    })
    return { ok: ended.status === 0, text: `${ended.stdout}${ended.stderr}`.trim() }
  }

  /** Returns the parsed output of `kubectl get … -o json`. Throws if kubectl fails. */
  get(...argv: readonly string[]): Readonly<Record<string, unknown>> {
    const { ok, text } = this.kubectl('get', ...argv, '-o', 'json')
    if (!ok) throw new Error(`Cannot get ${argv.join(' ')}: ${text}`)
    return JSON.parse(text)
  }
}
