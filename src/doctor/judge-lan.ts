/**
 * Judges an interface without its VRRP traffic: link, MTU, kernel settings, and network managers. PURE. This file knows
 * nothing about packets of other routers.
 */
import { compareAddresses, familyOf, isLinkLocal } from '../wire/address.ts'
import type { Finding } from './finding.ts'
import { isUnmeasured, type LanState, leadsElsewhere, type PlannedRouter, type WayBack } from './measurement.ts'

/** Smallest MTU with which the kernel allows IPv6 on an interface (RFC 8200 §5). */
const IPV6_LEAST = 1280
const USUAL = 1500

export function lanFindings(lan: LanState, routers: readonly PlannedRouter[]): readonly Finding[] {
  const here = routers.filter((router) => router.interface === lan.interface)
  return [
    link(lan),
    ...mtu(lan, here),
    ...ipv6(lan, here),
    ...reversePath(lan, here),
    ...arp(lan, here),
    ...managers(lan),
  ]
}

function link({ carrier, interface: about, own, portOf, up }: LanState): Finding {
  const check = 'interface'
  if (!up) return { check, level: 'error', about, found: 'is turned off', advice: `ip link set ${about} up` }
  if (!carrier)
    return {
      check,
      level: 'error',
      about,
      found: 'has no carrier: routers on it are in fault',
      advice: 'Check cable and switch',
    }
  if (portOf !== undefined) {
    const found = `is a port of a ${portOf}, which receives all its packets`
    return { check, level: 'error', about, found, advice: `Use the ${portOf} itself` }
  }
  const addresses = own.filter(({ address }) => !isLinkLocal(address)).map(({ address }) => address)
  const found = addresses.length === 0 ? 'is up, but has no network address' : `is up, with ${addresses.join(', ')}`
  return { check, level: 'ok', about, found }
}

function mtu({ interface: about, mtu: octets }: LanState, routers: readonly PlannedRouter[]): readonly Finding[] {
  const check = 'mtu'
  const tooLong = routers.filter(({ datagramOctets }) => datagramOctets > octets)
  if (tooLong.length > 0) {
    return tooLong.map(({ datagramOctets, name }) => ({
      check,
      level: 'error',
      about,
      found: `the MTU is ${octets}, but an advertisement of "${name}" has ${datagramOctets} octets and is never fragmented`,
      advice: 'Raise the MTU, or split the router into two',
    }))
  }
  if (octets < IPV6_LEAST) {
    const needed = routers.some(({ family }) => family === 'ipv6')
    return [
      {
        check,
        level: needed ? 'error' : 'warning',
        about,
        found: `the MTU is ${octets}: below ${IPV6_LEAST} the interface has no IPv6 (RFC 8200 §5)${needed ? '' : ', which is rarely intended'}`,
        advice: `ip link set ${about} mtu ${USUAL}, if the network carries it`,
      },
    ]
  }
  return [{ check, level: 'ok', about, found: `the MTU is ${octets}` }]
}

function ipv6({ interface: about, own, settings }: LanState, routers: readonly PlannedRouter[]): readonly Finding[] {
  const wanted = routers.filter(({ family }) => family === 'ipv6')
  if (wanted.length === 0) return []
  if (settings.disableIpv6 === 1) {
    const found = `IPv6 is off, but ${wanted.map(({ name }) => `"${name}"`).join(', ')} needs it`
    return [{ check: 'ipv6', level: 'error', about, found, advice: `sysctl net.ipv6.conf.${about}.disable_ipv6=0` }]
  }
  const multicast = wanted.some((router) => router.multicast)
  if (multicast && !own.some(({ address, dadFailed }) => isLinkLocal(address) && !dadFailed)) {
    const found = 'has no link-local address, from which advertisements are sent (RFC 9568 §5.1.2.1)'
    return [{ check: 'ipv6', level: 'error', about, found, advice: 'Check addr_gen_mode and accept_dad' }]
  }
  return [{ check: 'ipv6', level: 'ok', about, found: 'has what IPv6 routers need' }]
}

/**
 * Judges strict reverse path filtering. Strict filtering is harmless if the route back uses the same interface. If the
 * route back uses another interface, the kernel drops every packet silently.
 */
function reversePath(lan: LanState, routers: readonly PlannedRouter[]): readonly Finding[] {
  const { interface: about, routes, settings } = lan
  const { rpFilter } = settings
  if (rpFilter === undefined) return []
  const check = 'reverse-path'
  const away = routes.filter(
    (route) => leadsElsewhere(route, about) && !lan.own.some(({ address }) => address === route.address),
  )
  if (rpFilter !== 1) {
    return [{ check, level: 'ok', about, found: `rp_filter is ${rpFilter} (${rpFilter === 2 ? 'loose' : 'off'})` }]
  }
  if (away.length === 0) {
    const found = 'rp_filter is 1 (strict), and the route back to all known hosts uses this interface'
    return [{ check, level: 'ok', about, found }]
  }
  const whom = away.map((route) => `${route.address} (${wayOf(route, about)})`)
  const used = routers.some(({ family }) => family === 'ipv4') || heardFrom(lan, away)
  return [
    {
      check,
      level: used ? 'error' : 'warning',
      about,
      found: `rp_filter is 1 (strict), and the route back uses another interface for ${whom.join(', ')}: the kernel drops their packets silently`,
      advice: `sysctl net.ipv4.conf.${about}.rp_filter=2 (net.ipv4.conf.all.rp_filter must not be 1 then), or correct the route or the rule`,
    },
  ]
}

function wayOf({ interface: by }: WayBack, here: string): string {
  if (by === here) return 'policy routing: ip rule, ip route show table all'
  return by === undefined ? 'no route' : `by ${by}`
}

function heardFrom({ listening }: LanState, away: LanState['routes']): boolean {
  const { ipv4 } = listening
  return (
    !isUnmeasured(ipv4) &&
    ipv4.heard.some(({ source }) => away.some(({ address }) => compareAddresses(address, source) === 0))
  )
}

/**
 * Judges ARP settings. Virtual addresses have the prefix length 32, so these settings decide whether the kernel answers
 * for them.
 */
function arp({ interface: about, settings }: LanState, routers: readonly PlannedRouter[]): readonly Finding[] {
  const wanted = routers.some(({ held }) => held.some(({ address }) => familyOf(address) === 'ipv4'))
  if (!wanted || settings.arpIgnore === undefined) return []
  const check = 'arp-settings'
  const { arpFilter = 0, arpIgnore } = settings
  if (arpIgnore === 8) {
    const found = 'arp_ignore is 8: the kernel answers for no address, so no host finds the virtual addresses'
    return [{ check, level: 'error', about, found, advice: `sysctl net.ipv4.conf.${about}.arp_ignore=0 (or 1)` }]
  }
  if (arpIgnore === 2) {
    const found = 'arp_ignore is 2: the kernel answers only hosts in a network of this interface'
    return [{ check, level: 'note', about, found }]
  }
  if (arpFilter === 1) {
    const found = 'arp_filter is 1: the kernel does not answer hosts whose route uses another interface'
    return [{ check, level: 'note', about, found }]
  }
  return [
    {
      check,
      level: 'ok',
      about,
      found: `arp_ignore ${arpIgnore}, arp_filter ${arpFilter}: with these values the kernel answers ARP requests for virtual addresses, as it must`,
    },
  ]
}

/** Judges network managers, which may remove foreign addresses (keepalived issue 2564, systemd issue 12050). */
function managers({ interface: about, manager }: LanState): readonly Finding[] {
  const { networkd, networkManager } = manager
  const check = 'network-manager'
  const findings: Finding[] = []
  if (networkManager === 'managed') {
    findings.push({
      check,
      level: 'note',
      about,
      found:
        'NetworkManager manages it: activating a connection again removes foreign addresses; holdfast restores a removed VIP immediately and logs it',
      advice: `nmcli device set ${about} managed no, where addresses are static`,
    })
  }
  if (networkd === 'managed') {
    findings.push({
      check,
      level: 'note',
      about,
      found:
        'systemd-networkd manages it: a restart or a new lease removes foreign addresses; holdfast restores a removed VIP immediately and logs it',
      advice: 'Write KeepConfiguration=yes in the .network file of the interface',
    })
  }
  if (findings.length > 0) return findings
  const who = [
    networkManager === undefined ? [] : 'NetworkManager',
    networkd === undefined ? [] : 'systemd-networkd',
  ].flat()
  if (who.length === 0) return []
  const found = `${who.join(' and ')} ${who.length === 1 ? 'runs and does' : 'run and do'} not manage it, as far as can be seen`
  return [{ check, level: 'ok', about, found }]
}
