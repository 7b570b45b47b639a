/**
 * Builds a lab: routers, a client and an observer on one bridge. The functions of the lab make faults of a cable. This
 * file decides names and addresses. However this process ends, even if it is killed, the lab's namespaces are removed.
 * This file does not know daemons.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { holdfastProgram } from './installation.ts'
import { ip } from './ip.ts'
import { cleanUpAtEnd, sweepLeftovers } from './leftovers.ts'
import { Namespaces } from './namespaces.ts'
import { type Host, type HostPlan, Network } from './network.ts'
import { eventually, monotonicMs } from './wait.ts'

export type { Host } from './network.ts'

export type LabOptions = {
  /** Number of routers. The routers are named r1, r2, …, with the addresses 10.77.0.11, 10.77.0.12, … */
  readonly routers: number
  /** Names of further hosts, with the addresses 10.77.0.2 and up. */
  readonly clients?: readonly string[]
  /** True to give every host an address of fd00:77::/64 too, which ends like the host's IPv4 address. */
  readonly ipv6?: boolean
}

/**
 * Path of the holdfast program that tests start. The environment variable HOLDFAST_BIN names another build than this
 * one.
 */
export const HOLDFAST = process.env.HOLDFAST_BIN ?? holdfastProgram()
export const LAB_VIP = '10.77.0.100'
export const LAB_VIP6 = 'fd00:77::100'
const PREFIX = 'hflab'
/**
 * Folder in which the files of labs are stored, to study a failed run. `undefined`: the files are removed with the lab.
 */
export const KEPT = process.env.HOLDFAST_LAB_KEEP
/**
 * Capture filter for the frames that routers send to each other and to all hosts. The stored capture does not contain
 * the requests of clients.
 */
const KEPT_FRAMES =
  'ip proto 112 or ip6 proto 112 or (arp and arp[14:4] = arp[24:4]) or (ip6 multicast and icmp6 and ip6[40] = 136)'
let created = 0

/**
 * Returns a name prefix that no other lab on this machine has. The first call of this function removes what ended
 * processes have left.
 */
function nextPrefix(): string {
  if (created === 0) sweepLeftovers(PREFIX)
  created += 1
  return `${PREFIX}${process.pid}x${created}`
}

/** Builds a lab that is removed when this process ends, however it ends. */
export function createLab(options: LabOptions): Lab {
  return new Lab(nextPrefix(), options)
}

/**
 * Returns a set of network namespaces without any cable between them. The namespaces are removed when this process
 * ends.
 */
export function createNamespaces(): Namespaces {
  const namespaces = new Namespaces(nextPrefix())
  cleanUpAtEnd(() => namespaces.destroy())
  return namespaces
}

/** The functions of a lab that do not depend on what its hosts are: network namespaces or containers. */
export type LabView = Pick<
  Lab,
  | 'routers'
  | 'router'
  | 'client'
  | 'host'
  | 'hosts'
  | 'directory'
  | 'logs'
  | 'exec'
  | 'spawn'
  | 'cut'
  | 'heal'
  | 'isolate'
  | 'unite'
  | 'unplug'
  | 'setLink'
  | 'addressesSettle'
>

export class Lab extends Network {
  readonly routers: readonly Host[]
  readonly client: Host
  /**
   * Folder for the lab's configuration files, captures and logs. The folder is removed with the lab unless
   * HOLDFAST_LAB_KEEP is set.
   */
  readonly directory: string
  /** Folder in which the logs of the lab's processes are stored; `undefined` if they are not stored. */
  readonly logs: string | undefined
  readonly program = HOLDFAST
  readonly #wire: ChildProcess
  readonly #forget = cleanUpAtEnd(() => this.destroy())

  constructor(prefix: string, { routers, clients = ['client', 'observer'], ipv6 = false }: LabOptions) {
    const plan = (name: string, last: number): HostPlan => ({
      ...{ name, address: `10.77.0.${last}` },
      ...(ipv6 ? { ipv6: `fd00:77::${last}/64` } : {}),
    })
    const names = Array.from({ length: routers }, (_, i) => `r${i + 1}`)
    super(prefix, [...names.map((name, i) => plan(name, 11 + i)), ...clients.map((name, i) => plan(name, 2 + i))])
    this.routers = names.map((name) => this.host(name))
    this.client = this.host(clients[0] ?? 'r1')
    if (KEPT !== undefined) mkdirSync(KEPT, { recursive: true })
    this.directory = mkdtempSync(join(KEPT ?? tmpdir(), `${prefix}-`))
    this.logs = KEPT === undefined ? undefined : this.directory
    // A single `ip` process waits for commands, so that a fault happens without the delay of a process start.
    this.#wire = spawn('ip', ['-n', this.bridge, '-force', '-batch', '-'], {
      stdio: ['pipe', 'ignore', 'inherit'],
      detached: true,
    })
    this.#wire.unref()
    if (KEPT !== undefined) this.#keepWire()
  }

  /**
   * Captures at the bridge ports of the routers, because the bridge interface itself does not receive unicast frames.
   */
  #keepWire(): void {
    const ports = this.routers.flatMap(({ port }) => ['-i', port, '-f', KEPT_FRAMES])
    const argv = ['dumpcap', '-q', ...ports, '-w', join(this.directory, 'wire.pcapng')]
    this.spawn(this.bridge, argv, { stdio: 'ignore' })
  }

  /** Returns the router at position 1, 2, … (r1, r2, …). */
  router(position: number): Host {
    const host = this.routers[position - 1]
    if (host === undefined) throw new Error(`Cannot find router ${position}: have ${this.routers.length}`)
    return host
  }

  #accident(command: string): number {
    const at = monotonicMs()
    if (this.#wire.stdin?.writable !== true) throw new Error(`Cannot run "ip ${command}": the lab is gone`)
    this.#wire.stdin.write(`${command}\n`)
    return at
  }

  /**
   * Cuts a host off without loss of carrier: its bridge port drops every frame in both directions. Returns the time in
   * ms. The port gets the STP state listening (1). Without STP, the kernel sets a blocking port back to forwarding, and
   * a disabled port after a notification.
   */
  cut(host: Host): number {
    return this.#accident(`link set dev ${host.port} type bridge_slave state 1`)
  }

  heal(host: Host): number {
    return this.#accident(`link set dev ${host.port} type bridge_slave state 3`)
  }

  /** Isolates the bridge ports of these hosts: the hosts no longer receive each other, but still all other hosts. */
  isolate(hosts: readonly Host[]): number {
    return this.#accident(hosts.map(({ port }) => `link set dev ${port} type bridge_slave isolated on`).join('\n'))
  }

  unite(hosts: readonly Host[]): number {
    return this.#accident(hosts.map(({ port }) => `link set dev ${port} type bridge_slave isolated off`).join('\n'))
  }

  /** Pulls the cable of the host, which loses its carrier. Returns the time in ms. */
  unplug(host: Host): number {
    return this.#accident(`link set dev ${host.port} down`)
  }

  plug(host: Host): number {
    return this.#accident(`link set dev ${host.port} up`)
  }

  /** Sets the interface of the host up or down on the host itself, as an operator does. Returns the time in ms. */
  setLink(host: Host, state: 'up' | 'down'): number {
    const at = monotonicMs()
    ip(host, `link set eth0 ${state}`)
    return at
  }

  /** Waits until duplicate address detection has ended on all hosts, as on nodes that have been up for a while. */
  async addressesSettle(within = 5_000): Promise<void> {
    const tentative = () =>
      [...this.hosts.values()].filter((host) => ip(host, '-6 address show tentative').trim() !== '')
    const sight = () => tentative().map(({ name }) => name)
    await eventually('no tentative address', () => tentative().length === 0, { sight, within, every: 100 })
  }

  /** Returns the names of the hosts whose kernel has the address on eth0, with any prefix length. */
  holders(address: string): string[] {
    return this.routers.filter((r) => this.addresses(r).some((a) => a.startsWith(`${address}/`))).map((r) => r.name)
  }

  override destroy(): void {
    // A lab whose LAN could not be built has no private field yet.
    if (#forget in this) this.#forget()
    if (#wire in this) this.#wire.kill('SIGKILL')
    super.destroy()
    if (this.directory !== undefined && KEPT === undefined) rmSync(this.directory, { recursive: true, force: true })
  }
}
