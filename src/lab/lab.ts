/**
 * A lab: routers, a client and an observer on one bridge, and the accidents of a cable. This file decides names and
 * addresses, and that no exit path leaves anything behind, even if the run is killed. This file does not know daemons.
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
  /** Number of routers: r1, r2, … have the addresses 10.77.0.11, 10.77.0.12, … */
  readonly routers: number
  /** Names of further hosts, with the addresses 10.77.0.2 and up. */
  readonly clients?: readonly string[]
  /** True if every host also has an address of fd00:77::/64, which ends like its IPv4 address. */
  readonly ipv6?: boolean
}

/** Program that tests start. HOLDFAST_BIN names another build than this one. */
export const HOLDFAST = process.env.HOLDFAST_BIN ?? holdfastProgram()
export const LAB_VIP = '10.77.0.100'
export const LAB_VIP6 = 'fd00:77::100'
const PREFIX = 'hflab'
/** Folder in which the directories of labs stay, to study a failed run. If unset, they are removed. */
export const KEPT = process.env.HOLDFAST_LAB_KEEP
/** Frames of the routers to each other and to all. The stored capture has no requests of clients. */
const KEPT_FRAMES =
  'ip proto 112 or ip6 proto 112 or (arp and arp[14:4] = arp[24:4]) or (ip6 multicast and icmp6 and ip6[40] = 136)'
let created = 0

/** Returns a name that no other lab on this machine has. The first call removes the leftovers of dead processes. */
function nextPrefix(): string {
  if (created === 0) sweepLeftovers(PREFIX)
  created += 1
  return `${PREFIX}${process.pid}x${created}`
}

/** Builds a lab that is removed when this process ends, in whichever way. */
export function createLab(options: LabOptions): Lab {
  return new Lab(nextPrefix(), options)
}

/** Returns namespaces without any link between them, which are removed when this process ends. */
export function createNamespaces(): Namespaces {
  const namespaces = new Namespaces(nextPrefix())
  cleanUpAtEnd(() => namespaces.destroy())
  return namespaces
}

/** The part of a lab that does not depend on what its hosts are. */
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
  /** Folder of configuration, captures and stored logs. It is removed with the lab unless HOLDFAST_LAB_KEEP is set. */
  readonly directory: string
  /** Folder of the processes' logs; `undefined` if they are not stored. */
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
    // One process that waits for commands, so that an accident happens without the delay of a process start.
    this.#wire = spawn('ip', ['-n', this.bridge, '-force', '-batch', '-'], {
      stdio: ['pipe', 'ignore', 'inherit'],
      detached: true,
    })
    this.#wire.unref()
    if (KEPT !== undefined) this.#keepWire()
  }

  /** Captures frames at the routers' ports, because the bridge itself does not receive unicast. */
  #keepWire(): void {
    const ports = this.routers.flatMap(({ port }) => ['-i', port, '-f', KEPT_FRAMES])
    const argv = ['dumpcap', '-q', ...ports, '-w', join(this.directory, 'wire.pcapng')]
    this.spawn(this.bridge, argv, { stdio: 'ignore' })
  }

  /** Returns the router at position 1, 2, …. */
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
   * Cuts the path in silence: the bridge port drops everything in both directions, and the carrier stays. It uses the
   * state listening (1): without STP the kernel returns a blocking port, and after a notification a disabled one, to
   * forwarding.
   */
  cut(host: Host): number {
    return this.#accident(`link set dev ${host.port} type bridge_slave state 1`)
  }

  heal(host: Host): number {
    return this.#accident(`link set dev ${host.port} type bridge_slave state 3`)
  }

  /** Isolates hosts from each other. They still receive all other hosts. */
  isolate(hosts: readonly Host[]): number {
    return this.#accident(hosts.map(({ port }) => `link set dev ${port} type bridge_slave isolated on`).join('\n'))
  }

  unite(hosts: readonly Host[]): number {
    return this.#accident(hosts.map(({ port }) => `link set dev ${port} type bridge_slave isolated off`).join('\n'))
  }

  /** Pulls the cable: the host loses its carrier. */
  unplug(host: Host): number {
    return this.#accident(`link set dev ${host.port} down`)
  }

  plug(host: Host): number {
    return this.#accident(`link set dev ${host.port} up`)
  }

  /** Turns the interface of a host off or on, as an operator does. */
  setLink(host: Host, state: 'up' | 'down'): number {
    const at = monotonicMs()
    ip(host, `link set eth0 ${state}`)
    return at
  }

  /** Waits until duplicate address detection is over everywhere, as on a node that has been up for a while. */
  async addressesSettle(within = 5_000): Promise<void> {
    const tentative = () =>
      [...this.hosts.values()].filter((host) => ip(host, '-6 address show tentative').trim() !== '')
    const sight = () => tentative().map(({ name }) => name)
    await eventually('no tentative address', () => tentative().length === 0, { sight, within, every: 100 })
  }

  /** Names of the hosts on whose eth0 the kernel has the address, whatever its prefix length. */
  holders(address: string): string[] {
    return this.routers.filter((r) => this.addresses(r).some((a) => a.startsWith(`${address}/`))).map((r) => r.name)
  }

  override destroy(): void {
    // A LAN that could not be built has none of these.
    if (#forget in this) this.#forget()
    if (#wire in this) this.#wire.kill('SIGKILL')
    super.destroy()
    if (this.directory !== undefined && KEPT === undefined) rmSync(this.directory, { recursive: true, force: true })
  }
}
