/**
 * Defines the traffic of an Active and a Backup while nothing happens: frames per second of each kind. The test
 * quiet-lan.test.ts compares these rates with a real LAN, and docs/lan-traffic.md shows them as a table.
 */

export const KINDS = {
  advertisement: 'advertisement',
  group: 'ARP probe to the group, 01:00:5e:00:00:12',
  virtualMac: 'ARP probe to the virtual MAC, 00:00:5e:00:01:VRID',
  broadcast: 'ARP probe, broadcast',
  solicitation: 'Neighbor Solicitation for the first address, to its solicited-node group',
  solicitationMore: 'Neighbor Solicitation for each further address, to its solicited-node group',
  peer: 'ARP request or Neighbor Solicitation for each listed peer',
  answer: 'answer of that peer',
} as const
export type Kind = keyof typeof KINDS
export type Rates = Readonly<Partial<Record<Kind, number>>>

export type Setup = {
  readonly family: 'ipv4' | 'ipv6'
  readonly transport: 'multicast' | 'multicast, one peer listed' | 'unicast, one peer'
}

type Row = Setup & { readonly at1s: Rates; readonly at100ms: Rates }

const asked = { peer: 1, answer: 1 } as const
const asked100 = { peer: 10, answer: 10 } as const
const V4 = { advertisement: 1, group: 2, virtualMac: 2, broadcast: 1 } as const
const V4_100 = { advertisement: 10, group: 12, virtualMac: 12, broadcast: 1 } as const
const V6 = { advertisement: 1, solicitation: 3, solicitationMore: 1 } as const
const V6_100 = { advertisement: 10, solicitation: 13, solicitationMore: 1 } as const

/**
 * Frames per second of one virtual router: in IPv4 with one virtual address, in IPv6 with a link-local and another
 * virtual address.
 */
export const QUIET: readonly Row[] = [
  { family: 'ipv4', transport: 'multicast', at1s: V4, at100ms: V4_100 },
  {
    family: 'ipv4',
    transport: 'multicast, one peer listed',
    at1s: { ...V4, ...asked },
    at100ms: { ...V4_100, ...asked100 },
  },
  {
    family: 'ipv4',
    transport: 'unicast, one peer',
    at1s: { advertisement: 1, broadcast: 2, ...asked },
    at100ms: { advertisement: 10, broadcast: 11, ...asked100 },
  },
  { family: 'ipv6', transport: 'multicast', at1s: V6, at100ms: V6_100 },
  {
    family: 'ipv6',
    transport: 'multicast, one peer listed',
    at1s: { ...V6, ...asked },
    at100ms: { ...V6_100, ...asked100 },
  },
  {
    family: 'ipv6',
    transport: 'unicast, one peer',
    at1s: { advertisement: 1, solicitation: 2, solicitationMore: 1, ...asked },
    at100ms: { advertisement: 10, solicitation: 11, solicitationMore: 1, ...asked100 },
  },
]
