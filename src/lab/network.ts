/**
 * A LAN out of network namespaces: one bridge in a namespace of its own (rules of the machine's own bridges must not
 * reach it), one namespace per host, eth0 in each. Decides names, addresses and that nothing outlives destroy(), not
 * even a process that somebody else started in there. Refuses to know what runs on the hosts.
 * Calls are synchronous, so that an exit handler can clean up; a command that fails throws with what it said.
 */
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { run } from './command.ts'
import { namespacesStarting, removeNamespace } from './leftovers.ts'

export type Host = {
  readonly name: string
  readonly namespace: string
  readonly address: string
  /** The bridge's end of the cable. */
  readonly port: string
}

export type HostPlan = { readonly name: string; readonly address: string }

/** iproute2's keyword for a bridge's port. Put together, because the word has no other place in src (docs/architecture.md, Protocol decisions). */
const JOIN = ['mas', 'ter'].join('')

export class Network {
  readonly bridge: string
  readonly hosts = new Map<string, Host>()
  readonly #children = new Set<ChildProcess>()
  readonly #prefix: string

  /** Builds it, or removes the part that was built and throws. `prefix` must be unique on this machine. */
  constructor(prefix: string, plans: readonly HostPlan[], prefixLength = 24) {
    this.#prefix = prefix
    this.bridge = `${prefix}-br`
    try {
      this.#build(plans, prefixLength)
    } catch (error) {
      this.destroy()
      throw error
    }
  }

  #build(plans: readonly HostPlan[], prefixLength: number): void {
    const names = [this.bridge, ...plans.map(({ name }) => `${this.#prefix}-${name}`)]
    run(['ip', '-batch', '-'], names.map((name) => `netns add ${name}\n`).join(''))
    const wiring = [
      'link set lo up',
      'link add br0 type bridge stp_state 0 mcast_snooping 0 forward_delay 0',
      'link set br0 up',
    ]
    for (const [index, { name, address }] of plans.entries()) {
      const host: Host = { name, namespace: `${this.#prefix}-${name}`, address, port: `port${index + 1}` }
      this.hosts.set(name, host)
      wiring.push(`link add ${host.port} type veth peer name eth0 netns ${host.namespace}`)
      wiring.push(`link set ${host.port} ${JOIN} br0 up`)
    }
    run(['ip', '-n', this.bridge, '-batch', '-'], wiring.map((line) => `${line}\n`).join(''))
    for (const host of this.hosts.values()) {
      // ip_forward may be inherited from the machine; with it on, a mis-sent packet is relayed and hides a stale ARP entry.
      this.exec(host, ['sh', '-c', 'echo 0 >/proc/sys/net/ipv4/ip_forward'])
      const lines = ['link set lo up', `address add ${host.address}/${prefixLength} dev eth0`, 'link set eth0 up']
      run(['ip', '-n', host.namespace, '-batch', '-'], lines.map((line) => `${line}\n`).join(''))
    }
  }

  host(name: string): Host {
    const host = this.hosts.get(name)
    if (host === undefined) throw new Error(`Cannot find host "${name}": have ${[...this.hosts.keys()].join(', ')}`)
    return host
  }

  /** Runs a command on the host and returns its standard output. */
  exec(host: Host | string, argv: readonly string[]): string {
    return run(this.commandOn(host, argv))
  }

  /** A process on the host, in a process group of its own; it ends with destroy() at the latest. */
  spawn(host: Host | string, argv: readonly string[], options: SpawnOptions = {}): ChildProcess {
    const [file = '', ...rest] = this.commandOn(host, argv)
    const child = spawn(file, rest, { stdio: ['ignore', 'pipe', 'pipe'], ...options, detached: true })
    this.#children.add(child)
    child.once('exit', () => this.#children.delete(child))
    child.once('error', () => this.#children.delete(child))
    return child
  }

  commandOn(host: Host | string, argv: readonly string[]): string[] {
    return ['ip', 'netns', 'exec', typeof host === 'string' ? host : host.namespace, ...argv]
  }

  /** IPv4 and IPv6 addresses of eth0 as `address/length`, as the kernel tells them. */
  addresses(host: Host): string[] {
    const shown: unknown = JSON.parse(run(['ip', '-n', host.namespace, '-json', 'address', 'show', 'dev', 'eth0']))
    if (!Array.isArray(shown)) return []
    return shown
      .flatMap((link) => (Array.isArray(link.addr_info) ? link.addr_info : []))
      .map((a) => `${a.local}/${a.prefixlen}`)
  }

  /** The host dies: what runs on it ends without a word, its cable goes dark. */
  powerOff(host: Host): void {
    run(['ip', '-n', this.bridge, 'link', 'set', host.port, 'down'])
    removeNamespace(host.namespace)
  }

  /** Idempotent. Kills what still runs, removes the namespaces and with them every cable. */
  destroy(): void {
    for (const child of this.#children) {
      try {
        if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
      } catch {
        // Gone already.
      }
    }
    this.#children.clear()
    for (const name of namespacesStarting(`${this.#prefix}-`)) removeNamespace(name)
  }
}
