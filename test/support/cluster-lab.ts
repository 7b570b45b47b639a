/**
 * Builds a cluster in network namespaces. Each router of a lab runs an engine that an agent configures, and that agent.
 * A host of its own runs the stand-in of the Kubernetes API, which a test can stop and start again. This file decides
 * how the processes are started and where their files are. This file does not know what a test is about.
 */
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import type { Snapshot } from '../../src/daemon/telemetry/snapshot.ts'
import { packageRoot } from '../../src/lab/installation.ts'
import { createLab, HOLDFAST, type Host, LAB_VIP, type Lab } from '../../src/lab/lab.ts'
import { LoggedProcess } from '../../src/lab/logged-process.ts'
import { snapshotOf } from '../../src/lab/status.ts'
import { eventually } from '../../src/lab/wait.ts'
import { writeKubeconfig } from './kube-api/kubeconfig.ts'
import { NODES, type NodePlan, nodeObject } from './kube-api/node-object.ts'
import { KubeApi, type KubeApiOptions } from './kube-api/server.ts'

const PORT = join(packageRoot(), 'test', 'support', 'kube-api', 'port.mjs')
const READY_PORTS = join(packageRoot(), 'test', 'support', 'ready-ports.mjs')
const API_PORT = 6443
export const INGRESS_VIP = '10.77.0.101'

export type ClusterLabOptions = {
  readonly nodes: number
  readonly api?: KubeApiOptions
  /** True to give every host an IPv6 address, too. */
  readonly ipv6?: boolean
  /** Further command-line options of each agent. */
  readonly flags?: readonly string[]
}

export class ClusterLab {
  readonly lab: Lab
  readonly api: KubeApi
  readonly nodes: readonly LabNode[]
  readonly #apiHost: Host
  #port: LoggedProcess | undefined

  constructor({ nodes, api, flags = [], ipv6 = false }: ClusterLabOptions) {
    this.lab = createLab({ routers: nodes, clients: ['client', 'api'], ipv6 })
    this.api = new KubeApi(api)
    const apiHost = this.lab.hosts.get('api')
    if (apiHost === undefined) throw new Error('Cannot find the host of the API')
    this.#apiHost = apiHost
    const server = `http://${apiHost.address}:${API_PORT}`
    const kubeconfig = writeKubeconfig(join(this.lab.directory, 'kubeconfig'), { server })
    this.nodes = this.lab.routers.map((host, i) => new LabNode(this.lab, host, i, kubeconfig, flags))
  }

  /** Returns the node at position 1, 2, … of the lab. */
  node(position: number): LabNode {
    const node = this.nodes[position - 1]
    if (node === undefined) throw new Error(`Cannot find node ${position}: have ${this.nodes.length}`)
    return node
  }

  /** Registers a node with the Kubernetes API, as kubelet does. The node need not run in this lab. */
  register(plan: Partial<NodePlan> & Pick<NodePlan, 'name'>): void {
    this.api.store.put(NODES, nodeObject(plan))
  }

  /** Registers all nodes of the lab with the Kubernetes API, as control plane nodes. */
  registerAll(): void {
    for (const { name, host } of this.nodes) this.register({ name, addresses: [host.address] })
  }

  leave(name: string): void {
    this.api.store.remove(NODES, name)
  }

  /** Makes the Kubernetes API reachable at its address, for the first time or again. */
  async apiUp(): Promise<void> {
    const path = join(this.lab.directory, 'api.sock')
    rmSync(path, { force: true })
    await this.api.start({ path })
    this.#port = new LoggedProcess(this.lab, this.#apiHost, ['node', PORT, '0.0.0.0', String(API_PORT), path])
    await this.#port.line(/^listening$/, 20_000)
  }

  /** Resets all connections to the Kubernetes API. After the reset the port refuses new connections. */
  async apiDown(): Promise<void> {
    this.#port?.signal('SIGKILL')
    await this.#port?.exited
    this.#port = undefined
    await this.api.stop()
  }

  /** Makes the Kubernetes API accept connections and answer none. */
  apiFreezes(): void {
    this.#port?.signal('SIGSTOP')
  }

  apiThaws(): void {
    this.#port?.signal('SIGCONT')
  }

  async destroy(): Promise<void> {
    await this.apiDown()
    this.lab.destroy()
  }
}

type Kept = {
  readonly virtualRouters: readonly {
    readonly name: string
    readonly transport: { readonly unicast?: { readonly peers: readonly { readonly address: string }[] } }
  }[]
}

export class LabNode {
  readonly name: string
  readonly host: Host
  readonly socket: string
  readonly memory: string
  readonly stateDirectory: string
  readonly metricsPort = 9656
  readonly #lab: Lab
  readonly #kubeconfig: string
  readonly #flags: readonly string[]
  readonly #run: string
  /**
   * Environment variables of the agent and of its launcher, for example to give both a mount namespace of their own.
   */
  environment: Readonly<Record<string, string>> = {}
  wrapper: readonly string[] = []
  vips: { readonly api: string; readonly ingress: string } = { api: LAB_VIP, ingress: INGRESS_VIP }
  engine: LoggedProcess | undefined
  agent: LoggedProcess | undefined

  constructor(lab: Lab, host: Host, index: number, kubeconfig: string, flags: readonly string[]) {
    this.#lab = lab
    this.host = host
    this.name = `n${index + 1}`
    this.#kubeconfig = kubeconfig
    this.#flags = flags
    const directory = join(lab.directory, this.name)
    this.#run = join(directory, 'run')
    this.socket = join(this.#run, 'holdfast.sock')
    this.memory = join(directory, 'managed.yaml')
    this.stateDirectory = join(directory, 'agent')
    mkdirSync(directory, { recursive: true })
  }

  startEngine(...more: readonly string[]): LoggedProcess {
    const place = ['-c', this.memory, '--run-directory', this.#run, '--listen', 'false', ...more]
    this.engine = new LoggedProcess(this.#lab, this.host, [...this.wrapper, HOLDFAST, 'run', '--managed', ...place])
    return this.engine
  }

  startAgent(...more: readonly string[]): LoggedProcess {
    const { api, ingress } = this.vips
    const words = ['--api-vips', api, '--ingress-vips', ingress, '--name', 'ostest', '--json']
    const places = ['--engine-socket', this.socket, '--state-dir', this.stateDirectory]
    // A node keeps this loopback address when it moves to another network.
    const listen = ['--listen', `127.0.0.1:${this.metricsPort}`]
    const argv = [
      ...this.wrapper,
      HOLDFAST,
      'agent',
      this.#kubeconfig,
      ...words,
      ...places,
      ...listen,
      ...this.#flags,
      ...more,
    ]
    const environment = { NODE_NAME: this.name, ENABLE_NODEIP_DEBUG: 'yes', ...this.environment }
    this.agent = new LoggedProcess(this.#lab, this.host, argv, environment)
    return this.agent
  }

  /**
   * Starts a service that makes the node's ingress router ready, as the preset for ingress requires. Before this
   * service starts, no node has the ingress address.
   */
  serveIngress(): LoggedProcess {
    return new LoggedProcess(this.#lab, this.host, ['node', READY_PORTS, this.#lab.directory, '1936'])
  }

  /** Returns the unicast peers of each router, sorted. The engine uses these peers now, and after a restart. */
  peers(): Readonly<Record<string, readonly string[]>> {
    // This file does not exist until the engine has received the first configuration from the agent.
    const text = existsSync(this.memory) ? readFileSync(this.memory, 'utf8') : ''
    const kept: Kept | null = parse(text)
    return Object.fromEntries(
      (kept?.virtualRouters ?? []).map(({ name, transport }) => [
        name,
        (transport.unicast?.peers ?? []).map(({ address }) => address).sort(),
      ]),
    )
  }

  snapshot(): Promise<Snapshot | undefined> {
    return snapshotOf(this.socket)
  }

  /** Returns one line for each router of the engine, such as `ostest_API_0: unicast to 2 peers`. */
  async routers(): Promise<string[]> {
    const routers = (await this.snapshot())?.routers ?? []
    return routers.map(({ name, transport }) => `${name}: ${transport}`)
  }

  /** Log records of the agent, each parsed from JSON. */
  get told(): readonly Readonly<Record<string, unknown>>[] {
    return (this.agent?.lines ?? []).flatMap(({ text }) => {
      try {
        const value: unknown = JSON.parse(text)
        return typeof value === 'object' && value !== null ? [{ ...value }] : []
      } catch {
        return []
      }
    })
  }

  /** Names of the routers in the last configuration that the agent gave to the engine, as the agent logged them. */
  get lastHandOver(): readonly string[] {
    const handed = this.told.filter(({ msg }) => msg === 'configuration handed over to the engine').at(-1)
    return Array.isArray(handed?.routers) ? handed.routers.map(String) : []
  }

  async metrics(): Promise<string> {
    const url = `http://127.0.0.1:${this.metricsPort}/metrics`
    return this.#lab.exec(this.host, ['curl', '-sS', '--max-time', '5', url])
  }

  async routersAre(expected: readonly string[], within = 40_000): Promise<void> {
    await eventually(
      `${this.name} to have ${expected.join(', ')}`,
      async () => JSON.stringify(await this.routers()) === JSON.stringify(expected),
      {
        sight: async () => ({ has: await this.routers(), agent: this.agent?.lines.slice(-6).map(({ text }) => text) }),
        within,
        every: 100,
      },
    )
  }
}
