/**
 * Provides the network changes of a host that is moved to another network, as commands for `ip`. The module also reads
 * the host's addresses from its kernel. This file does not know which programs run on the host.
 */
import { ip } from '../../src/lab/ip.ts'
import type { Host } from '../../src/lab/lab.ts'

export const batch = (host: Host, lines: readonly string[]) => ip(host, ...lines)

/** Returns the addresses of the host as texts such as "10.77.0.100/32@br-ex", sorted. */
export function addressesOf(host: Host): readonly string[] {
  const links: { ifname: string; addr_info: { local?: string; prefixlen: number; family: string }[] }[] = JSON.parse(
    ip(host, '-json address'),
  )
  const found = links.flatMap(({ ifname, addr_info }) =>
    addr_info.flatMap(({ family, local, prefixlen }) =>
      family === 'inet' && ifname !== 'lo' ? [`${local}/${prefixlen}@${ifname}`] : [],
    ),
  )
  return found.sort()
}

export const MAKE_BRIDGE = [
  'link add br-ex type bridge stp_state 0 forward_delay 0 mcast_snooping 0',
  'link set br-ex up',
]
/** Commands that rename the network interface, so that the host is without any address for a moment. */
export const UPROOT = [
  'address flush dev eth0',
  'link set eth0 down',
  'link set eth0 name ens3',
  'link set ens3 master br-ex',
  'link set ens3 up',
]
