/**
 * The lab as code: routers, a client and an observer on one bridge, and the accidents that can happen to a cable.
 * Decides names, addresses, and that nothing is left behind in any exit path, also of runs that were killed earlier.
 * Refuses to know which daemon runs on the routers.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { run } from './command.ts'
import { sweepLeftovers } from './leftovers.ts'
import { type Host, Network } from './network.ts'
import { eventually, monotonicMs } from './wait.ts'

export type { Host } from './network.ts'

export type LabOptions = {
  /** r1, r2, …: 10.77.0.11, 10.77.0.12, … */
  readonly routers: number
  /** Further hosts, 10.77.0.2 and up. */
  readonly clients?: readonly string[]
}

export const LAB_VIP = '10.77.0.100'
const PREFIX = 'hflab'
/** Where the directories of labs are made and stay, for whoever has to find out what a run was about; unset: nothing stays. */
export const KEPT = process.env.HOLDFAST_LAB_KEEP
/** What routers say to each other and to everybody; the wire is not kept for what clients ask. */
const TOLD =
  'ip proto 112 or ip6 proto 112 or (arp and arp[14:4] = arp[24:4]) or (ip6 multicast and icmp6 and ip6[40] = 136)'
const labs = new Set<Lab>()
let created = 0
let hooked = false

function hookExits(): void {
  if (hooked) return
  hooked = true
  const destroyAll = () => {
    for (const lab of labs) lab.destroy()
  }
  process.on('exit', destroyAll)
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => {
      destroyAll()
      process.kill(process.pid, signal)
    })
  }
}

export function createLab(options: LabOptions): Lab {
  sweepLeftovers(PREFIX)
  hookExits()
  created += 1
  const lab = new Lab(`${PREFIX}${process.pid}x${created}`, options)
  labs.add(lab)
  return lab
}

/** What runs and happens in a lab, whatever its hosts are. */
export type LabView = Pick<
  Lab,
  | 'routers'
  | 'router'
  | 'client'
  | 'host'
  | 'hosts'
  | 'directory'
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
  /** Configuration, captures, and where it is kept what processes said; otherwise removed with the lab. */
  readonly directory: string
  readonly #wire: ChildProcess

  constructor(prefix: string, { routers, clients = ['client', 'observer'] }: LabOptions) {
    const routerPlans = Array.from({ length: routers }, (_, i) => ({ name: `r${i + 1}`, address: `10.77.0.${11 + i}` }))
    const clientPlans = clients.map((name, i) => ({ name, address: `10.77.0.${2 + i}` }))
    super(prefix, [...routerPlans, ...clientPlans])
    this.routers = routerPlans.map(({ name }) => this.host(name))
    this.client = this.host(clients[0] ?? 'r1')
    if (KEPT !== undefined) mkdirSync(KEPT, { recursive: true })
    this.directory = mkdtempSync(join(KEPT ?? tmpdir(), `${prefix}-`))
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
    const ports = this.routers.flatMap(({ port }) => ['-i', port, '-f', TOLD])
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
    run(['ip', '-n', host.namespace, 'link', 'set', 'eth0', state])
    return at
  }

  /** IPv6 on a node that has been up for a while: duplicate address detection is over everywhere. */
  async addressesSettle(within = 5_000): Promise<void> {
    const tentative = () =>
      [...this.hosts.values()].filter(
        ({ namespace }) => run(['ip', '-n', namespace, '-6', 'address', 'show', 'tentative']).trim() !== '',
      )
    const sight = () => tentative().map(({ name }) => name)
    await eventually('no tentative address', () => tentative().length === 0, sight, { within, every: 100 })
  }

  /** Names of the hosts on whose eth0 the kernel has the address, whatever its prefix length. */
  holders(address: string): string[] {
    return this.routers.filter((r) => this.addresses(r).some((a) => a.startsWith(`${address}/`))).map((r) => r.name)
  }

  override destroy(): void {
    labs.delete(this)
    // A LAN that could not be built has neither.
    if (#wire in this) this.#wire.kill('SIGKILL')
    super.destroy()
    if (this.directory !== undefined && KEPT === undefined) rmSync(this.directory, { recursive: true, force: true })
  }
}
