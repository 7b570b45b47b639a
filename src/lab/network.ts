/**
 * Builds a LAN of network namespaces: one bridge in a namespace of its own, and one namespace for each host, whose
 * interface is eth0. The bridge has its own namespace because packet filter rules of the machine must not affect it.
 * This file decides names, cables and addresses. This file does not know what runs on the hosts.
 */
import { run } from './command.ts'
import { addressesOf, ip } from './ip.ts'
import { removeNamespaces } from './leftovers.ts'
import { Namespaces } from './namespaces.ts'

export type Host = {
  readonly name: string
  readonly namespace: string
  readonly address: string
  /** Name of the bridge port: the bridge's end of the host's cable. */
  readonly port: string
}

export type HostPlan = {
  readonly name: string
  /** IPv4 address of the host's eth0. */
  readonly address: string
  /** A further IPv6 address of eth0 with its prefix length, usable immediately without duplicate address detection. */
  readonly ipv6?: string
}

/**
 * iproute2's keyword that makes an interface a port of a bridge. The keyword is assembled from two parts, because it
 * may not stand elsewhere in src (docs/architecture.md, Protocol decisions).
 */
const JOIN = ['mas', 'ter'].join('')
const BRIDGE = 'type bridge stp_state 0 mcast_snooping 0 forward_delay 0'

const batch = (inside: string, commands: readonly string[]) => `ip ${inside} -batch - <<E\n${commands.join('\n')}\nE`

export class Network extends Namespaces {
  readonly bridge: string
  readonly hosts = new Map<string, Host>()

  /** Builds the LAN. If that fails, removes the built part and throws. `prefix` must be unique on this machine. */
  constructor(prefix: string, plans: readonly HostPlan[], prefixLength = 24) {
    super(prefix)
    this.bridge = this.named('br')
    for (const [index, { name, address }] of plans.entries())
      this.hosts.set(name, { name, namespace: this.named(name), address, port: `port${index + 1}` })
    try {
      run(['sh', '-e'], this.#script(plans, prefixLength))
    } catch (error) {
      this.destroy()
      throw error
    }
  }

  /**
   * Returns one shell script that sets up all hosts at the same time. Each process that Node starts would cost
   * milliseconds.
   */
  #script(plans: readonly HostPlan[], prefixLength: number): string {
    const hosts = [...this.hosts.values()]
    const namespaces = [this.bridge, ...hosts.map(({ namespace }) => namespace)]
    const wiring = hosts.flatMap(({ namespace, port }) => [
      `link add ${port} type veth peer name eth0 netns ${namespace}`,
      `link set ${port} ${JOIN} br0 up`,
    ])
    const setUps = plans.map(({ address, ipv6, name }) => {
      const commands = ['link set lo up', `address add ${address}/${prefixLength} dev eth0`, 'link set eth0 up']
      if (ipv6 !== undefined) commands.push(`address add ${ipv6} dev eth0 nodad`)
      // A new namespace may inherit ip_forward from the machine. With ip_forward, a host relays a packet that was sent
      // to the wrong host, and that hides a stale ARP entry.
      const script = `echo 0 >/proc/sys/net/ipv4/ip_forward\n${batch('', commands)}`
      return `ip netns exec ${this.host(name).namespace} sh -ec '${script}\n' & started="$started $!"`
    })
    return [
      batch(
        '',
        namespaces.map((name) => `netns add ${name}`),
      ),
      batch(`-n ${this.bridge}`, ['link set lo up', `link add br0 ${BRIDGE}`, 'link set br0 up', ...wiring]),
      ...setUps,
      'for one in $started; do wait $one; done\n',
    ].join('\n')
  }

  host(name: string): Host {
    const host = this.hosts.get(name)
    if (host === undefined) throw new Error(`Cannot find host "${name}": have ${[...this.hosts.keys()].join(', ')}`)
    return host
  }

  /** Returns the IPv4 and IPv6 addresses that the kernel has on the host's eth0, as `address/length`. */
  addresses(host: Host): string[] {
    return addressesOf(host)
  }

  /** Ends all processes on the host together, as a power failure does, and takes the carrier of its cable away. */
  powerOff(host: Host): void {
    ip(this.bridge, `link set ${host.port} down`)
    removeNamespaces([host.namespace])
  }
}
