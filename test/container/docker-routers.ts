/**
 * Three containers of the image on a Docker network with IPv4 and IPv6, and clients in containers of their own: the start of every accident
 * in test/container. Assertions use the clients, an ARP question, and the kernels (through their namespaces). The daemons' own reports must
 * agree. Decides priorities and addresses. Heals a router before the next accident, whatever its state is.
 */
import { type ChildProcess, execFileSync, type SpawnOptions, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { GenericContainer, getContainerRuntimeClient, Wait } from 'testcontainers'
import { expect } from 'vitest'
import type { RouterSnapshot, Snapshot } from '../../src/daemon/telemetry/snapshot.ts'
import { probePath } from '../../src/lab/installation.ts'
import type { Host } from '../../src/lab/network.ts'
import { eventually, monotonicMs, sleep } from '../../src/lab/wait.ts'
import { ArpObserver } from '../../src/lab/watch/arp-observer.ts'
import { PROBE_PORT, Prober } from '../../src/lab/watch/probe.ts'
import { docker, MADE_BY, removeLeftovers } from '../support/docker.ts'
import { IMAGE } from './build-image.ts'

export const INTERVAL = 100
export const PRIORITIES = [200, 150, 100] as const
/**
 * Limit in milliseconds. The tests judge order and outcome. A Docker engine that builds images at the same time takes seconds for each
 * answer.
 */
export const API_PORT = 9655

export const FAMILIES = ['IPv4', 'IPv6'] as const
export type Family = (typeof FAMILIES)[number]
/**
 * Number of the Docker network. Files that run beside each other (VITEST_POOL_ID is 1, 2, and so on) have different networks, out of those
 * for benchmarks (RFC 2544). The network of docker-compose.yml is not among them, because its lab may run as well.
 */
const NETWORK = 50 + Number(process.env.VITEST_POOL_ID ?? 1)
const SUBNETS: Readonly<Record<Family, string>> = { IPv4: `198.18.${NETWORK}.0/24`, IPv6: `fd18:${NETWORK}::/64` }
const VIPS: Readonly<Record<Family, string>> = { IPv4: `198.18.${NETWORK}.100`, IPv6: `fd18:${NETWORK}::100` }

const LENGTHS: Readonly<Record<Family, number>> = { IPv4: 24, IPv6: 64 }

/** Memory limit in GiB, several times the need of a router. */
const MEMORY_GIB = 0.25
const SHARED_MEMORY = 256 * 1024 * 1024

/** Returns the Docker engine when it is needed. Without an engine the tests are skipped, or fail with a message of their own. */
const engine = async () => (await getContainerRuntimeClient()).container.dockerode
type Container = ReturnType<Awaited<ReturnType<typeof engine>>['getContainer']>

/**
 * Returns a configuration with interface `auto`. A container that is connected to a network again gets an interface with another name:
 * eth1, eth2, and so on.
 */
function configuration(priority: number): string {
  const router = { vrid: 51, interface: 'auto', priority, advertisementInterval: `${INTERVAL}ms`, minHold: '0s' }
  return JSON.stringify({
    version: 1,
    api: { listen: `0.0.0.0:${API_PORT}`, public: true },
    virtualRouters: FAMILIES.map((family) => ({
      name: family,
      addresses: [`${VIPS[family]}/${LENGTHS[family]}`],
      ...router,
    })),
  })
}

/** One of the three routers. Stops and starts keep its container; an upgrade replaces the container. */
export class DockerRouter {
  readonly name: string
  readonly priority: number
  readonly #network: string
  #container: Container | undefined

  constructor(network: string, position: number) {
    this.name = `r${position}`
    this.priority = PRIORITIES[position - 1] ?? 100
    this.#network = network
  }

  get container(): Container {
    if (this.#container === undefined) throw new Error(`Cannot use the container of ${this.name}: there is none`)
    return this.#container
  }

  /** Creates the container. The program that answers clients runs in the container, so that it is frozen and dies with the daemon. */
  async create(image = IMAGE): Promise<void> {
    const started = await new GenericContainer(image)
      .withName(`${this.#network}-${this.name}`)
      .withHostname(this.name)
      .withNetworkMode(this.#network)
      .withLabels({ [MADE_BY]: String(process.pid) })
      .withDroppedCapabilities('ALL')
      .withAddedCapabilities('NET_ADMIN', 'NET_RAW')
      .withTmpFs({ '/run': 'rw' })
      .withResourcesQuota({ memory: MEMORY_GIB })
      .withSharedMemorySize(SHARED_MEMORY)
      .withBindMounts([{ source: probePath(), target: probePath(), mode: 'ro' }])
      .withCopyContentToContainer([{ content: configuration(this.priority), target: '/etc/holdfast/holdfast.yaml' }])
      // The wait ends with a log line, because the health check runs only every 10 s.
      .withWaitStrategy(Wait.forLogMessage('Serving /metrics'))
      .start()
    this.#container = (await engine()).getContainer(started.getId())
    await this.#respond()
  }

  async remove(): Promise<void> {
    await this.container.remove({ force: true, v: true })
    this.#container = undefined
  }

  async #respond(): Promise<void> {
    const Cmd = [probePath(), 'respond', this.name, String(PROBE_PORT)]
    const responder = await this.container.exec({ Cmd, AttachStdout: false, AttachStderr: false })
    await responder.start({ Detach: true })
  }

  /** Starts the existing container. */
  async start(): Promise<void> {
    await this.container.start()
    await this.#respond()
  }

  /** Heals the container from any state. After heal() the container runs, is not paused and is on the network. */
  async heal(): Promise<void> {
    if (this.#container === undefined) return this.create()
    const { State, NetworkSettings } = await this.container.inspect()
    if (State.Paused) await this.container.unpause()
    if (NetworkSettings.Networks[this.#network] === undefined) await this.connect()
    if (!State.Running) await this.start()
  }

  async disconnect(): Promise<void> {
    await (await engine()).getNetwork(this.#network).disconnect({ Container: this.container.id, Force: true })
  }

  async connect(): Promise<void> {
    await (await engine()).getNetwork(this.#network).connect({ Container: this.container.id })
  }

  async address(): Promise<string> {
    const { NetworkSettings } = await this.container.inspect()
    return NetworkSettings.Networks[this.#network]?.IPAddress ?? ''
  }

  /** Returns the pid of the container's first process; 0 while the container does not run. */
  async pid(): Promise<number> {
    return (await this.container.inspect()).State.Pid
  }

  /** Runs a program of this machine in the container's network. */
  async inNetwork(...argv: readonly string[]): Promise<string> {
    return inNetworkOf(await this.pid(), argv)
  }

  /** Returns the indexes of the container's interfaces except loopback, and the virtual addresses in its kernel. */
  async links(): Promise<{ readonly indexes: readonly number[]; readonly vips: readonly Family[] }> {
    const shown = await this.shown()
    const addresses = shown.flatMap(({ addr_info }) => addr_info.map(({ local }) => local))
    return {
      indexes: shown.filter(({ ifname }) => ifname !== 'lo').map(({ ifindex }) => ifindex),
      vips: FAMILIES.filter((family) => addresses.includes(VIPS[family])),
    }
  }

  /** Returns the container's interfaces; an empty list if the container does not run or ends during the call. */
  async shown(): Promise<readonly Link[]> {
    const pid = await this.pid()
    try {
      const shown: Link[] = pid === 0 ? [] : JSON.parse(inNetworkOf(pid, ['ip', '-json', 'address']))
      return shown
    } catch (error) {
      if (existsSync(`/proc/${pid}/ns/net`)) throw error
      return []
    }
  }

  /** Returns the status of the daemon; `undefined` without an answer. */
  async snapshot(): Promise<Snapshot | undefined> {
    try {
      const answer = await fetch(`http://${await this.address()}:${API_PORT}/v1/status`, {
        signal: AbortSignal.timeout(2_000),
      })
      const snapshot: Snapshot = JSON.parse(await answer.text())
      return snapshot
    } catch {
      return undefined
    }
  }

  async states(): Promise<Readonly<Record<string, string>>> {
    const routers: readonly RouterSnapshot[] = (await this.snapshot())?.routers ?? []
    return Object.fromEntries(routers.map(({ name, state }) => [name, state]))
  }

  /** Returns the container's output, for the messages of failures. */
  log(lines = 20): string {
    return docker(['logs', '--tail', String(lines), this.container.id])
  }
}

type Link = {
  readonly ifname: string
  readonly ifindex: number
  readonly address?: string
  readonly addr_info: readonly { readonly local?: string }[]
}

function inNetworkOf(pid: number, argv: readonly string[]): string {
  const options = { encoding: 'utf8', stdio: 'pipe', timeout: 20_000, killSignal: 'SIGKILL' } as const
  // The error contains the message of the program.
  return execFileSync('nsenter', [`--net=/proc/${pid}/ns/net`, '--', ...argv], options)
}

export class DockerRouters {
  readonly routers: readonly DockerRouter[]
  readonly directory: string
  readonly #network: string
  readonly #children = new Set<ChildProcess>()
  readonly #probers = new Map<Family, Prober>()

  private constructor(network: string) {
    this.#network = network
    this.directory = mkdtempSync(join(tmpdir(), `${network}-`))
    this.routers = PRIORITIES.map((_, i) => new DockerRouter(network, i + 1))
  }

  /** Starts all three routers, with r1 Active in both families and a client of each family. */
  static async settled(image = IMAGE): Promise<DockerRouters> {
    const routers = new DockerRouters(`holdfast-test-${process.pid}`)
    try {
      await routers.#makeNetwork()
      await Promise.all(routers.routers.map((router) => router.create(image)))
      for (const family of FAMILIES) routers.#probers.set(family, new Prober(routers, `client-${family}`, VIPS[family]))
      await routers.settlesOn(1, 'all started')
      return routers
    } catch (error) {
      routers.destroy()
      throw error
    }
  }

  async #makeNetwork(): Promise<void> {
    await (await engine()).createNetwork({
      Name: this.#network,
      EnableIPv6: true,
      Labels: { [MADE_BY]: String(process.pid) },
      IPAM: {
        Driver: 'default',
        // The virtual addresses are reserved, so that no container gets one.
        Config: FAMILIES.map((family) => ({ Subnet: SUBNETS[family], AuxiliaryAddresses: { vip: VIPS[family] } })),
      },
    })
  }

  router(position: number): DockerRouter {
    const router = this.routers[position - 1]
    if (router === undefined) throw new Error(`Cannot use r${position}: there are ${this.routers.length} routers`)
    return router
  }

  prober(family: Family): Prober {
    const prober = this.#probers.get(family)
    if (prober === undefined) throw new Error(`Cannot ask the client of ${family}: there is none`)
    return prober
  }

  observer(family: Family): ArpObserver {
    return new ArpObserver(this, `observer-${family}`, VIPS[family])
  }

  /**
   * Runs a program of this machine as the only process of a container on the network. The program ends when the `docker run` here ends. The
   * program is not the image's, because a judge of the image must not be a part of the image.
   */
  spawn(host: Host | string, argv: readonly string[], options: SpawnOptions = {}): ChildProcess {
    const [program = '', ...rest] = argv
    const path = isAbsolute(program) ? program : execFileSync('which', [program], { encoding: 'utf8' }).trim()
    const mounts = [`${path}:${path}:ro`, `${this.directory}:${this.directory}`].flatMap((mount) => ['--volume', mount])
    const name = this.nameOf(typeof host === 'string' ? host : host.name)
    const own = ['--name', name, '--label', `${MADE_BY}=${process.pid}`, '--network', this.#network]
    const run = [
      'run',
      '--rm',
      '--user',
      '0',
      '--no-healthcheck',
      ...own,
      ...mounts,
      '--entrypoint',
      path,
      IMAGE,
      ...rest,
    ]
    const child = spawn('docker', run, { stdio: ['ignore', 'pipe', 'pipe'], ...options, detached: true })
    this.#children.add(child)
    child.once('exit', () => this.#children.delete(child))
    return child
  }

  /** Runs a program of this machine in the network of a container that spawn() has created. */
  exec(host: Host | string, argv: readonly string[]): string {
    const name = this.nameOf(typeof host === 'string' ? host : host.name)
    return inNetworkOf(Number(docker(['inspect', '--format', '{{.State.Pid}}', name])), argv)
  }

  /** Returns the name of the container, by which other containers on the network find it. */
  nameOf(host: string): string {
    return `${this.#network}-${host}`
  }

  /** Returns the routers whose kernels have the address, by family. */
  async holders(): Promise<Readonly<Record<Family, readonly string[]>>> {
    const links = await Promise.all(this.routers.map((router) => router.links()))
    const of = (family: Family) =>
      this.routers.flatMap(({ name }, i) => (links[i]?.vips.includes(family) ? [name] : []))
    return { IPv4: of('IPv4'), IPv6: of('IPv6') }
  }

  async #states(): Promise<ReadonlyMap<string, Readonly<Record<string, string>>>> {
    const states = this.routers.map(async (router) => [router.name, await router.states()] as const)
    return new Map(await Promise.all(states))
  }

  async sight() {
    return {
      states: Object.fromEntries(await this.#states()),
      holders: await this.holders(),
      clients: FAMILIES.map((family) => `${family}: ${this.#probers.get(family)?.holder}`),
    }
  }

  /** Waits until this router answers the clients of both families. Other kernels may have the addresses as well. */
  answeredBy(position: number, occasion: string): Promise<true> {
    const { name } = this.router(position)
    const answered = () => FAMILIES.every((family) => this.prober(family).holder === name)
    return eventually(`${name} to answer both clients after ${occasion}`, answered, {
      sight: () => this.sight(),
      every: 20,
    })
  }

  /**
   * Waits for the same as answeredBy(), and until the router reports Active, the others report Backup, and no other kernel has the
   * addresses.
   */
  async settlesOn(position: number, occasion: string, others?: readonly number[]): Promise<void> {
    await this.answeredBy(position, occasion)
    const beside = others ?? this.routers.map((_, i) => i + 1).filter((other) => other !== position)
    const { name } = this.router(position)
    const alone = async () => {
      const [holders, states] = [await this.holders(), await this.#states()]
      const says = (of: number, state: string) =>
        FAMILIES.every((one) => states.get(this.router(of).name)?.[one] === state)
      const isAlone = FAMILIES.every((family) => holders[family].join() === name)
      return isAlone && says(position, 'Active') && beside.every((other) => says(other, 'Backup'))
    }
    const expected = `${name} alone to be Active and have the addresses, and r${beside.join(', r')} to be Backup`
    await eventually(`${expected} after ${occasion}`, alone, { sight: () => this.sight(), every: 100 })
  }

  /** Heals all three routers after any accident. Resolves when r1 has been Active for longer than an Active_Down_Interval. */
  async heal(): Promise<void> {
    await Promise.all(this.routers.map((router) => router.heal()))
    await this.settlesOn(1, 'everything was healed')
    await sleep(5 * INTERVAL)
  }

  /** Returns the longest time in ms in which one of the clients had no answer. */
  longestGap(since: number): number {
    return Math.max(...FAMILIES.map((family) => this.prober(family).longestGap(since, monotonicMs())))
  }

  /**
   * Returns the routers that have answered the client since then, in the order of the questions, each consecutive router once. A frozen or
   * waiting router may answer old questions while another router already answers new ones.
   */
  holdersSince(family: Family, since: number): readonly string[] {
    const names: string[] = []
    let latest = -1
    for (const { at, name, sequence } of this.prober(family).holders) {
      if (at < since || sequence < latest) continue
      latest = sequence
      if (names.at(-1) !== name) names.push(name)
    }
    return names
  }

  /** Asserts that both clients saw exactly these routers, one after the other. */
  expectHolders(names: readonly string[], since: number, occasion: string): void {
    for (const family of FAMILIES)
      expect(this.holdersSince(family, since), `who answered the client of ${family} after ${occasion}`).toEqual(names)
  }

  /** Removes containers and network. May be called again. */
  destroy(): void {
    for (const child of this.#children) child.kill('SIGKILL')
    this.#children.clear()
    removeLeftovers((pid) => pid === String(process.pid))
    rmSync(this.directory, { recursive: true, force: true })
  }
}
