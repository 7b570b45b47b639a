/**
 * A lab: routers, a client and an observer on one bridge, and the accidents that can happen to a cable. Decides names and
 * addresses, and that no exit path leaves anything behind, not even a run that was killed. Knows no daemon.
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
  /** r1, r2, …: 10.77.0.11, 10.77.0.12, … */
  readonly routers: number
  /** Further hosts, 10.77.0.2 and up. */
  readonly clients?: readonly string[]
  /** Every host has an address of fd00:77::/64 as well, which ends like its IPv4 address. */
  readonly ipv6?: boolean
}

/** The program that tests start: HOLDFAST_BIN names another build than this one. */
export const HOLDFAST = process.env.HOLDFAST_BIN ?? holdfastProgram()
export const LAB_VIP = '10.77.0.100'
export const LAB_VIP6 = 'fd00:77::100'
const PREFIX = 'hflab'
/** Folder in which the directories of labs are made and stay, for the study of a failed run. Unset: nothing stays. */
export const KEPT = process.env.HOLDFAST_LAB_KEEP
/** Frames of the routers to each other and to all: the kept wire has no requests of clients. */
const KEPT_FRAMES =
  'ip proto 112 or ip6 proto 112 or (arp and arp[14:4] = arp[24:4]) or (ip6 multicast and icmp6 and ip6[40] = 136)'
let created = 0

/** A name that no other lab on this machine has. Before the first one the leftovers of dead processes are removed. */
function nextPrefix(): string {
  if (created === 0) sweepLeftovers(PREFIX)
  created += 1
  return `${PREFIX}${process.pid}x${created}`
}

/** Builds a lab that is gone when this process ends, however it ends. */
export function createLab(options: LabOptions): Lab {
  return new Lab(nextPrefix(), options)
}

/** Returns namespaces without any link between them, which are gone when this process ends. */
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
  /** Configuration, captures, and kept logs; removed with the lab unless HOLDFAST_LAB_KEEP is set. */
  readonly directory: string
  /** Folder of the processes' logs; `undefined` where nothing is kept. */
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
    // One process that waits for commands: an accident happens when it is written down, not a process start later.
    this.#wire = spawn('ip', ['-n', this.bridge, '-force', '-batch', '-'], {
      stdio: ['pipe', 'ignore', 'inherit'],
      detached: true,
    })
    this.#wire.unref()
    if (KEPT !== undefined) this.#keepWire()
  }

  /** At the routers' ports: unicast is not heard at the bridge itself. */
  #keepWire(): void {
    const ports = this.routers.flatMap(({ port }) => ['-i', port, '-f', KEPT_FRAMES])
    const argv = ['dumpcap', '-q', ...ports, '-w', join(this.directory, 'wire.pcapng')]
    this.spawn(this.bridge, argv, { stdio: 'ignore' })
  }

  /** The router at position 1, 2, …. */
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
   * Silent death of the path: the bridge port drops everything both ways, the carrier stays. Listening (1), because
   * without STP the kernel turns a blocking port, and after a notification a disabled one, back to forwarding at once.
   */
  cut(host: Host): number {
    return this.#accident(`link set dev ${host.port} type bridge_slave state 1`)
  }

  heal(host: Host): number {
    return this.#accident(`link set dev ${host.port} type bridge_slave state 3`)
  }

  /** These hear everybody but each other. */
  isolate(hosts: readonly Host[]): number {
    return this.#accident(hosts.map(({ port }) => `link set dev ${port} type bridge_slave isolated on`).join('\n'))
  }

  unite(hosts: readonly Host[]): number {
    return this.#accident(hosts.map(({ port }) => `link set dev ${port} type bridge_slave isolated off`).join('\n'))
  }

  /** The cable is pulled: the host sees its carrier go. */
  unplug(host: Host): number {
    return this.#accident(`link set dev ${host.port} down`)
  }

  plug(host: Host): number {
    return this.#accident(`link set dev ${host.port} up`)
  }

  /** Somebody on the host turns the interface off (or on again). */
  setLink(host: Host, state: 'up' | 'down'): number {
    const at = monotonicMs()
    ip(host, `link set eth0 ${state}`)
    return at
  }

  /** IPv6 on a node that has been up for a while: duplicate address detection is over everywhere. */
  async addressesSettle(within = 5_000): Promise<void> {
    const tentative = () =>
      [...this.hosts.values()].filter((host) => ip(host, '-6 address show tentative').trim() !== '')
    const sight = () => tentative().map(({ name }) => name)
    await eventually('no tentative address', () => tentative().length === 0, sight, { within, every: 100 })
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
