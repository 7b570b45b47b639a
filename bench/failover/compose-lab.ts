/**
 * Adapts the lab of docker-compose.yml for the benchmark. The routers are containers of the image, client and observer
 * are two more containers, and the measuring programs work in the containers' network namespaces. This file decides
 * which accidents can be done to a container from outside (as root). The network has the addresses of the other lab.
 * This file does not know which accident happens.
 */
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Snapshot } from '../../src/daemon/telemetry/snapshot.ts'
import { ask } from '../../src/files/control-client.ts'
import { run } from '../../src/lab/command.ts'
import type { Daemon, RouterPlan } from '../../src/lab/daemons/daemon.ts'
import { holdfastConfig } from '../../src/lab/daemons/holdfast.ts'
import { ip, linkOf } from '../../src/lab/ip.ts'
import type { Host, LabView } from '../../src/lab/lab.ts'
import { namespacesStarting, sweepLeftovers } from '../../src/lab/leftovers.ts'
import { type Exit, familyOf } from '../../src/lab/logged-process.ts'
import { eventually, monotonicMs } from '../../src/lab/wait.ts'
import { command } from '../compose/command.ts'
import { ROUTERS } from '../compose/lab.ts'
import { findCompose, PREFIX, Project, removeProjects } from '../compose/project.ts'
import { type Cell, kindsOf } from './accident.ts'

/** Folder in the container for holdfast's socket; a tmpfs. */
const RUN = '/run/holdfast'
const NETWORK = { LAB_IPV4: '10.77.0', LAB_IPV6: 'fd77' }
const SCENARIOS = [
  'engine',
  'group',
  'frozen',
  'sigterm',
  'yield',
  'reload',
  'reload-changed',
  'cut',
  'carrier',
  'heal',
]

export function uncomposed(cell: Cell): string | undefined {
  if (kindsOf(cell).some((kind) => kind !== 'holdfast')) return 'the containers run holdfast'
  return SCENARIOS.includes(cell.scenario) ? undefined : 'not done to containers'
}

type PortHost = Host & { port: string }

function signal(pid: number, name: NodeJS.Signals): number {
  const at = monotonicMs()
  process.kill(pid, name)
  return at
}

/** A container that is started with its router's configuration, controlled from outside. */
class ContainerDaemon implements Daemon {
  readonly kind = 'holdfast'
  readonly plan: RouterPlan
  readonly lines = []
  readonly exited: Promise<Exit>
  readonly #file: string
  readonly #pid: number

  constructor(plan: RouterPlan, file: string, container: string, begun: () => void) {
    this.plan = plan
    this.#file = file
    this.#write(plan)
    run(['docker', 'start', container])
    this.#pid = Number(run(['docker', 'inspect', '--format', '{{.State.Pid}}', container]).trim())
    begun()
    this.exited = command(['docker', 'wait', container], { within: 3_600_000 }).then((code) => ({
      at: monotonicMs(),
      code: Number(code),
      signal: null,
    }))
  }

  /**
   * Overwrites the configuration file in place. A new file would be another inode, and the container has mounted this
   * one.
   */
  #write(plan: RouterPlan): void {
    writeFileSync(this.#file, holdfastConfig(plan, RUN))
  }

  get #socket(): string {
    return `/proc/${this.#pid}/root${RUN}/holdfast.sock`
  }

  /** Process number of the engine. The container also runs the service that answers the lab's own client. */
  get #engine(): number {
    const children = familyOf(this.#pid).slice(1)
    const engine = children.find((pid) => /runtime\/node/.test(readFileSync(`/proc/${pid}/cmdline`, 'utf8')))
    if (engine === undefined) throw new Error(`Cannot find the engine of ${this.plan.host.name}`)
    return engine
  }

  async state(): Promise<string> {
    try {
      const { status, body } = await ask(this.#socket, { path: '/v1/status', within: 1_000 })
      if (status !== 200) return 'Initialize'
      const snapshot: Snapshot = JSON.parse(body)
      return snapshot.routers[0]?.state ?? 'Initialize'
    } catch {
      return 'Initialize'
    }
  }

  async ready(within = 10_000): Promise<void> {
    const runs = async () => (await this.state()) !== 'Initialize'
    await eventually(`${this.plan.host.name} to run its state machine`, runs, {
      sight: () => this.state(),
      within,
      every: 20,
    })
  }

  async yieldFor(forMs: number): Promise<number> {
    const at = monotonicMs()
    const order = { router: 'vip', forMs }
    const { status, body } = await ask(this.#socket, { path: '/v1/yield', order, within: 3_000 })
    if (status !== 200) throw new Error(`${this.plan.host.name} does not yield: ${status} ${body}`)
    return at
  }

  reload(plan: RouterPlan): number {
    this.#write(plan)
    return signal(this.#pid, 'SIGHUP')
  }

  terminate = () => signal(this.#pid, 'SIGTERM')
  killEngine = () => signal(this.#engine, 'SIGKILL')
  /**
   * Kills the first process of the container. The kernel then ends all other processes, and removes the container's
   * network.
   */
  killAll = () => signal(this.#pid, 'SIGKILL')
  freeze = () => signal(this.#engine, 'SIGSTOP')
  thaw = () => signal(this.#engine, 'SIGCONT')
}

export class ComposeLab implements LabView {
  readonly directory: string
  readonly logs = undefined
  readonly routers: readonly Host[]
  readonly client: Host
  /** Hosts whose network namespace exists, by name. */
  readonly hosts = new Map<string, Host>()
  readonly #prefix: string
  readonly #hosts: readonly PortHost[]
  readonly #containers: readonly string[]
  readonly #children = new Set<ChildProcess>()

  static async create(): Promise<ComposeLab> {
    sweepLeftovers(PREFIX)
    // The folder has a name like the folders of the other lab, so it is removed after this process has ended.
    const directory = mkdtempSync(join(tmpdir(), `${PREFIX}${process.pid}x-`))
    for (const router of ROUTERS) writeFileSync(join(directory, `${router}.yaml`), '')
    const env = { ...NETWORK, LAB_CONFIG: directory }
    const project = await Project.create({ compose: await findCompose(), env })
    await project.compose(['up', '--no-start', ...ROUTERS], false)
    return new ComposeLab(project, directory, await Promise.all(ROUTERS.map((one) => project.container(one))))
  }

  private constructor(project: Project, directory: string, containers: readonly string[]) {
    this.directory = directory
    this.#prefix = `${project.name}x`
    process.once('exit', this.#end)
    this.#containers = containers
    const host = (name: string, last: number): PortHost => {
      return { name, namespace: `${project.name}x-${name}`, address: `${NETWORK.LAB_IPV4}.${last}`, port: '' }
    }
    this.routers = this.#hosts = ROUTERS.map((name, i) => host(name, 11 + i))
    const image = run(['docker', 'inspect', '--format', '{{.Image}}', containers[0] ?? '']).trim()
    for (const [i, name] of ['client', 'observer'].entries()) {
      const one = host(name, 2 + i)
      const where = ['--network', project.lan, '--ip', one.address, '--ip6', `${NETWORK.LAB_IPV6}::${2 + i}`]
      const marks = [
        '--label',
        `com.docker.compose.project=${project.name}`,
        '--name',
        one.namespace,
        '--no-healthcheck',
      ]
      const idle = ['--entrypoint', '/bin/sleep', image, 'infinity']
      this.#attach(one, run(['docker', 'run', '--detach', ...where, ...marks, ...idle]).trim())
    }
    this.client = this.host('client')
  }

  #attach(host: PortHost, container: string): void {
    const pid = Number(run(['docker', 'inspect', '--format', '{{.State.Pid}}', container]).trim())
    if (namespacesStarting(host.namespace).includes(host.namespace)) removeNamespaceName(host.namespace)
    run(['ip', 'netns', 'attach', host.namespace, `${pid}`])
    const { link_index } = linkOf(host)
    const all: { ifindex: number; ifname: string }[] = JSON.parse(run(['ip', '-json', 'link', 'show']))
    host.port = all.find(({ ifindex }) => ifindex === link_index)?.ifname ?? ''
    this.hosts.set(host.name, host)
  }

  start(position: number, plan: RouterPlan): Daemon {
    const host = this.#hosts[position - 1]
    const container = this.#containers[position - 1]
    if (host === undefined || container === undefined) throw new Error(`Cannot find router ${position}`)
    return new ContainerDaemon(plan, join(this.directory, `${host.name}.yaml`), container, () => {
      this.#attach(host, container)
    })
  }

  router(position: number): Host {
    const host = this.routers[position - 1]
    if (host === undefined) throw new Error(`Cannot find router ${position}: have ${this.routers.length}`)
    return host
  }

  host(name: string): Host {
    const host = this.hosts.get(name)
    if (host === undefined) throw new Error(`Cannot find host "${name}": have ${[...this.hosts.keys()].join(', ')}`)
    return host
  }

  #on = (host: Host | string, argv: readonly string[]): readonly string[] => [
    ...['ip', 'netns', 'exec', typeof host === 'string' ? host : host.namespace],
    ...argv,
  ]

  exec(host: Host | string, argv: readonly string[]): string {
    return run(this.#on(host, argv))
  }

  spawn(host: Host | string, argv: readonly string[], options: SpawnOptions = {}): ChildProcess {
    const [file = '', ...rest] = this.#on(host, argv)
    const child = spawn(file, rest, { stdio: ['ignore', 'pipe', 'pipe'], ...options, detached: true })
    this.#children.add(child)
    child.once('exit', () => this.#children.delete(child))
    return child
  }

  #link(argv: readonly string[], hosts: readonly Host[]): number {
    const at = monotonicMs()
    run(['ip', '-batch', '-'], hosts.map(({ port }) => `link set dev ${port} ${argv.join(' ')}\n`).join(''))
    return at
  }

  /** Bridge port state 1 (listening) and isolated ports cut a host off, as in the other lab. */
  cut = (host: Host) => this.#link(['type', 'bridge_slave', 'state', '1'], [host])
  heal = (host: Host) => this.#link(['type', 'bridge_slave', 'state', '3'], [host])
  isolate = (hosts: readonly Host[]) => this.#link(['type', 'bridge_slave', 'isolated', 'on'], hosts)
  unite = (hosts: readonly Host[]) => this.#link(['type', 'bridge_slave', 'isolated', 'off'], hosts)
  unplug = (host: Host) => this.#link(['down'], [host])

  setLink(host: Host, state: 'up' | 'down'): number {
    const at = monotonicMs()
    ip(host, `link set eth0 ${state}`)
    return at
  }

  /** The Docker engine itself waits until the addresses are usable. */
  async addressesSettle(): Promise<void> {}

  #end = () => this.destroy()

  destroy(): void {
    process.off('exit', this.#end)
    for (const child of this.#children) child.kill('SIGKILL')
    for (const name of namespacesStarting(`${this.#prefix}-`)) removeNamespaceName(name)
    rmSync(this.directory, { recursive: true, force: true })
  }
}

/** Removes only the name of the network namespace. Docker ends the processes of a container. */
function removeNamespaceName(name: string): void {
  run(['ip', 'netns', 'delete', name])
}

export async function inComposeLab<T>(happen: (lab: ComposeLab) => Promise<T>): Promise<T> {
  const lab = await ComposeLab.create()
  try {
    return await happen(lab)
  } finally {
    lab.destroy()
    removeProjects()
  }
}
