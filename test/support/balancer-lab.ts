/**
 * Builds three control plane nodes in network namespaces, each with a stand-in of the API server, HAProxy, and HAProxy's
 * monitor. The first node holds the VIP of the API. A client asks the VIP each 10 ms, and this file counts the requests
 * that were lost after an event. VRRP is no part of this lab.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '../../src/lab/installation.ts'
import { ip } from '../../src/lab/ip.ts'
import { HOLDFAST, type Host, LAB_VIP, type Lab } from '../../src/lab/lab.ts'
import { familyOf, LoggedProcess } from '../../src/lab/logged-process.ts'
import { eventually, monotonicMs, sleep } from '../../src/lab/wait.ts'
import { ClusterLab } from './cluster-lab.ts'

const WITHIN = 40_000
export const TEMPLATE = join(packageRoot(), 'deploy', 'haproxy', 'haproxy.cfg.tmpl')
const RUN_HAPROXY = join(packageRoot(), 'bin', 'holdfast-haproxy')
const API_SERVER = join(packageRoot(), 'test', 'support', 'api-server.mjs')
const API_CLIENT = join(packageRoot(), 'test', 'support', 'api-client.mjs')
const TABLE = 'ocp_nat'
/**
 * Rules of a node's network, as kube-proxy and OVN-Kubernetes have them. Without them the monitor's rules are the only ones that
 * use connection tracking, and their removal resets open connections (docs/load-balancer.md).
 */
const NAT_OF_OTHERS = ['ip', 'ip6']
  .flatMap((family) => [
    `add table ${family} node_nat`,
    `add chain ${family} node_nat leaving { type nat hook postrouting priority srcnat; }`,
    `add rule ${family} node_nat leaving meta mark 0x4000 masquerade`,
  ])
  .join('; ')

/** Result of the requests that began in a time. */
export type Loss = {
  readonly asked: number
  readonly lost: number
  /** Milliseconds from the event to the start of the last lost request; 0 without a loss. */
  readonly until: number
  /** Milliseconds from the event to the first answer after the last lost request; 0 without a loss. */
  readonly answersAfter: number
  /** Milliseconds of the slowest answer. */
  readonly slowest: number
  /** Reasons of the lost requests, each once. */
  readonly reasons: readonly string[]
}

export class BalancerNode {
  readonly host: Host
  readonly directory: string
  readonly file: string
  readonly socket: string
  readonly metricsPort = 9657
  template = TEMPLATE
  /** Value of --api-vips. */
  vips = LAB_VIP
  api: LoggedProcess | undefined
  haproxy: LoggedProcess | undefined
  monitor: LoggedProcess | undefined
  readonly #lab: Lab

  constructor(lab: Lab, host: Host) {
    this.#lab = lab
    this.host = host
    this.directory = join(lab.directory, `balancer-${host.name}`)
    this.file = join(this.directory, 'haproxy.cfg')
    this.socket = join(this.directory, 'haproxy-master.sock')
    mkdirSync(this.directory, { recursive: true })
    execFileSync('ip', ['netns', 'exec', host.namespace, 'nft', NAT_OF_OTHERS])
  }

  async startApi(): Promise<void> {
    this.api = new LoggedProcess(this.#lab, this.host, [
      'node',
      API_SERVER,
      this.#lab.directory,
      '6443',
      this.host.name,
    ])
    await this.api.line(/^listening$/, WITHIN)
  }

  /** Starts HAProxy as the pod does. */
  startHaproxy(): LoggedProcess {
    this.haproxy = new LoggedProcess(this.#lab, this.host, [RUN_HAPROXY, this.file, this.socket])
    return this.haproxy
  }

  startMonitor(...flags: readonly string[]): LoggedProcess {
    const places = [join(this.#lab.directory, 'kubeconfig'), this.template, this.file]
    const own = ['--haproxy-socket', this.socket, '--listen', `127.0.0.1:${this.metricsPort}`, '--json']
    const argv = [HOLDFAST, 'monitor', ...places, '--api-vips', this.vips, ...own, ...flags]
    this.monitor = new LoggedProcess(this.#lab, this.host, argv)
    return this.monitor
  }

  async metrics(): Promise<string> {
    return this.#lab.exec(this.host, ['curl', '-sS', '--max-time', '5', `http://127.0.0.1:${this.metricsPort}/metrics`])
  }

  /** Returns the table of the redirect as nft lists it; empty if the table does not exist. */
  async redirect(): Promise<string> {
    return this.#lab.exec(this.host, ['sh', '-c', `nft list table ip ${TABLE} 2>/dev/null || true`])
  }

  async redirectIs(present: boolean, within = WITHIN): Promise<void> {
    await eventually(
      `the rules of ${this.host.name} to be ${present ? 'there' : 'gone'}`,
      async () => (await this.redirect()).includes('OCP_API_LB_REDIRECT') === present,
      { sight: async () => [await this.redirect(), this.monitor?.lines.slice(-6)], within, every: 50 },
    )
  }

  /** Stops HAProxy's processes, or lets them go on, without an end. */
  signalHaproxy(signal: 'SIGSTOP' | 'SIGCONT'): number {
    const at = monotonicMs()
    for (const pid of this.haproxy === undefined ? [] : familyOf(this.haproxy.pid)) process.kill(pid, signal)
    return at
  }
}

export class BalancerLab {
  readonly cluster: ClusterLab
  readonly lab: Lab
  readonly nodes: readonly BalancerNode[]
  #client: LoggedProcess | undefined

  constructor({ ipv6 = false } = {}) {
    this.cluster = new ClusterLab({ nodes: 3, ipv6 })
    this.lab = this.cluster.lab
    this.nodes = this.lab.routers.map((host) => new BalancerNode(this.lab, host))
  }

  node(position: number): BalancerNode {
    const node = this.nodes[position - 1]
    if (node === undefined) throw new Error(`Cannot find node ${position}: have ${this.nodes.length}`)
    return node
  }

  /**
   * Starts the API servers and the API of the cluster with all three nodes. Gives the VIP to the first node, unless the
   * test runs VRRP.
   */
  async start({ holdsVip = true } = {}): Promise<void> {
    const { directory } = this.lab
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-subj', '/CN=api', '-days', '2']
    const files = ['-keyout', join(directory, 'key.pem'), '-out', join(directory, 'cert.pem')]
    execFileSync('openssl', ['req', '-x509', ...key, ...files], { stdio: 'pipe' })
    if (holdsVip) ip(this.node(1).host, `address add ${LAB_VIP}/32 dev eth0`)
    this.cluster.registerAll()
    await this.cluster.apiUp()
    await Promise.all(this.nodes.map((node) => node.startApi()))
  }

  /** Starts monitor and HAProxy on a node, and waits until the rules are there. */
  async balance(node: BalancerNode, ...flags: readonly string[]): Promise<void> {
    node.startMonitor(...flags)
    await eventually(
      'haproxy.cfg to be written',
      () => existsSync(node.file) && readFileSync(node.file, 'utf8') !== '',
      {
        sight: () => node.monitor?.lines.slice(-6),
        within: WITHIN,
      },
    )
    node.startHaproxy()
    await node.redirectIs(true)
  }

  /** Starts the client, which asks the VIP each 10 ms, and holds some connections open. */
  async startClient(held = 0): Promise<void> {
    const argv = ['node', API_CLIENT, LAB_VIP, '6443', 'hold', String(held)]
    this.#client = new LoggedProcess(this.lab, this.lab.client, argv)
    await this.#client.line(held > 0 ? new RegExp(`"open":${held}\\b`) : /"ok":true/, WITHIN)
    await this.#client.line(/"ok":true/, WITHIN)
  }

  /** Returns how many of the held connections have ended. */
  get broken(): number {
    return (
      this.#said()
        .flatMap(({ broken }) => (typeof broken === 'number' ? [broken] : []))
        .at(-1) ?? 0
    )
  }

  #said(): readonly Readonly<Record<string, unknown>>[] {
    return (this.#client?.lines ?? []).flatMap(({ text }) => {
      const value: unknown = text.startsWith('{') ? JSON.parse(text) : undefined
      return typeof value === 'object' && value !== null ? [{ ...value }] : []
    })
  }

  /** Waits until all requests that began in the `ms` after an event have ended, and returns what was lost of them. */
  async lossSince(from: number, ms: number): Promise<Loss> {
    const to = from + ms
    await sleep(to - monotonicMs())
    await eventually('the requests to end', () => this.#allEnded(to), {
      sight: () => this.#said().slice(-3),
      within: WITHIN,
      every: 100,
    })
    const loss = this.loss(from, to)
    // On a busy machine the client sends less often than each 10 ms.
    if (loss.asked <= ms / 500) throw new Error(`Expected more than ${loss.asked} requests in ${ms} ms`)
    return loss
  }

  /** Returns the requests that began between two times, as far as they have ended, in the order of their starts. */
  #requests(from: number, to: number) {
    return this.#said()
      .flatMap(({ at, ok, ms, what }) =>
        typeof at === 'number' && at >= from && at < to ? [{ at, isLost: ok === false, ms: Number(ms), what }] : [],
      )
      .toSorted((one, other) => one.at - other.at)
  }

  /** Returns the requests that began between two times, as far as they have ended. */
  loss(from: number, to: number): Loss {
    const requests = this.#requests(from, to)
    const lost = requests.filter(({ isLost }) => isLost)
    const last = lost.at(-1)?.at
    const answers = requests.filter(({ isLost }) => !isLost)
    const after = answers.filter(({ at }) => last !== undefined && at > last).map(({ at, ms }) => at + ms)
    return {
      asked: requests.length,
      lost: lost.length,
      until: last === undefined ? 0 : Math.round(last - from),
      answersAfter: last === undefined ? 0 : Math.round(Math.min(...after) - from),
      slowest: Math.round(Math.max(0, ...answers.map(({ ms }) => ms))),
      reasons: [...new Set(lost.map(({ what }) => String(what)))],
    }
  }

  /** Returns the time at which the last lost request since `from` began; `from` without a loss. */
  lastLoss(from: number): number {
    return (
      this.#requests(from, Number.POSITIVE_INFINITY)
        .filter(({ isLost }) => isLost)
        .at(-1)?.at ?? from
    )
  }

  /** Returns whether each request that began before a time has ended. The client numbers its requests: 0, 1, … */
  #allEnded(before: number): boolean {
    const requests = this.#said().filter(({ number }) => typeof number === 'number')
    const later = requests.filter(({ at }) => Number(at) >= before).map(({ number }) => Number(number))
    const first = Math.min(...later)
    return later.length > 0 && requests.filter(({ number }) => Number(number) < first).length === first
  }

  /** Makes the API server of a node ready or not. */
  setReady(node: BalancerNode, isReady: boolean): void {
    writeFileSync(join(this.lab.directory, `${node.host.name}-readyz`), isReady ? '200' : '500')
  }

  destroy(): Promise<void> {
    return this.cluster.destroy()
  }
}
