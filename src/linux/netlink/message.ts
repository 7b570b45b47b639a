/**
 * Encodes the rtnetlink requests that add and remove VIPs, and decodes messages about links, addresses, routes and
 * neighbours. This file decides the flags of a VIP in the kernel (no prefix route, no duplicate address detection,
 * never a source address). Other files handle sockets, sequence numbers and the meaning of an errno. No input throws: a
 * cut or hostile message becomes `malformed` and ends the datagram. `frame.ts` has the layout.
 */
import type {
  AddressStep,
  Link,
  NeighborResolution,
  PresentAddress,
  PresentRoute,
  WantedAddress,
} from '../../daemon/ports.ts'
import { type Address, addressBytes, addressFromBytes } from '../../wire/address.ts'
import { type Mac, macFromBytes } from '../../wire/mac.ts'
import { attributesOf, HEADER, NLM_F_ACK, NLM_F_DUMP, number, request, view, words } from './frame.ts'
import { parseRoute, RTM_NEWROUTE } from './route.ts'

const NLMSG_ERROR = 2
const NLMSG_DONE = 3
const NLMSG_OVERRUN = 4
const RTM_NEWLINK = 16
const RTM_DELLINK = 17
const RTM_GETLINK = 18
const RTM_NEWADDR = 20
const RTM_DELADDR = 21
const RTM_GETADDR = 22
const RTM_NEWNEIGH = 28
const RTM_DELNEIGH = 29

const NLM_F_DUMP_INTR = 0x010
const NLM_F_REPLACE = 0x100
const NLM_F_EXCL = 0x200
const NLM_F_CREATE = 0x400

const AF_UNSPEC = 0
const AF_INET = 2
const AF_INET6 = 10

const IFLA_ADDRESS = 1
const IFLA_IFNAME = 3
const IFLA_MTU = 4
const IFLA_LINKINFO = 18
const IFLA_INFO_SLAVE_KIND = 4
const IFLA_EXT_MASK = 29
const RTEXT_FILTER_SKIP_STATS = 8
const IFF_UP = 0x01
const IFF_RUNNING = 0x40

/**
 * Kinds of interfaces that receive the packets of their ports. A vrf is not one of them: its members receive their
 * packets themselves.
 */
const TAKES_ALL = new Set(['bridge', 'openvswitch', 'bond', 'team'])

const IFA_ADDRESS = 1
const IFA_LOCAL = 2
const IFA_LABEL = 3
const IFA_CACHEINFO = 6
const IFA_FLAGS = 8
const IFA_F_NODAD = 0x02
const IFA_F_DEPRECATED = 0x20
const IFA_F_TENTATIVE = 0x40
const IFA_F_PERMANENT = 0x80
const IFA_F_NOPREFIXROUTE = 0x200

const NDA_DST = 1
/** States of a resolved neighbour entry: NUD_REACHABLE, STALE, NOARP, PERMANENT. */
const NUD_RESOLVED = 0x02 | 0x04 | 0x40 | 0x80
/** NUD_DELAY, PROBE: the kernel resolved the neighbour entry before, and has not given it up. */
const NUD_PROBED = 0x08 | 0x10

/** An endless lifetime in seconds: the kernel's INFINITY_LIFE_TIME. */
export const FOREVER = 0xffffffff

export type NetlinkMessage =
  | { readonly kind: 'link'; readonly link: Link }
  | { readonly kind: 'linkGone'; readonly index: number; readonly name: string }
  | { readonly kind: 'address'; readonly present: PresentAddress }
  | { readonly kind: 'addressGone'; readonly present: PresentAddress }
  | {
      readonly kind: 'neighbor'
      readonly interfaceIndex: number
      readonly address: Address
      readonly resolution: NeighborResolution
    }
  /** The routes to one destination: one route for each next hop. */
  | { readonly kind: 'routes'; readonly routes: readonly PresentRoute[] }
  /** The kernel's answer to a request; errno 0 = success. */
  | { readonly kind: 'ack'; readonly errno: number }
  /** The end of a dump of a kernel table. */
  | { readonly kind: 'done'; readonly errno: number }
  | { readonly kind: 'overrun' }
  /** A message of a type or family that no caller uses. */
  | { readonly kind: 'other'; readonly type: number }
  | { readonly kind: 'malformed' }

/**
 * A netlink message with its sequence number. `interrupted`: the kernel's table changed during the dump, so the dump
 * has to be repeated (NLM_F_DUMP_INTR).
 */
export type Envelope = { readonly sequence: number; readonly interrupted: boolean; readonly message: NetlinkMessage }

function ifaddrmsg({ address, prefixLength, interfaceIndex }: WantedAddress): Uint8Array {
  const bytes = Uint8Array.of(addressBytes(address).length === 4 ? AF_INET : AF_INET6, prefixLength, 0, 0, 0, 0, 0, 0)
  view(bytes).setUint32(4, interfaceIndex, true)
  return bytes
}

/**
 * An IPv6 VIP is usable immediately, without duplicate address detection, because it moves between nodes. The kernel
 * never chooses an IPv6 VIP as a source address (preferred lifetime 0, docs/architecture.md, Protocol decisions). The
 * preferred lifetime of an IPv4 VIP equals its valid lifetime: the kernel refuses a longer one, and a shorter one has
 * no use.
 */
function newAddressRequest(flags: number, wanted: WantedAddress, sequence: number, lifetime?: number): Uint8Array {
  const value = addressBytes(wanted.address)
  const v6 = value.length === 16
  const valid = lifetime ?? FOREVER
  // A prefix shorter than 32 (IPv4) or 128 (IPv6) bits means that the operator wants the route of its network as well
  // (docs/architecture.md, Addresses).
  const alone = wanted.prefixLength === 8 * value.length ? IFA_F_NOPREFIXROUTE : 0
  const label =
    wanted.label === undefined || v6 ? [] : [Uint8Array.from([...wanted.label, '\0'], (char) => char.charCodeAt(0))]
  const cacheInfo = v6 || lifetime !== undefined ? [words(v6 ? 0 : valid, valid, 0, 0)] : []
  return request(RTM_NEWADDR, NLM_F_ACK | NLM_F_CREATE | flags, sequence, ifaddrmsg(wanted), [
    { type: IFA_LOCAL, value },
    { type: IFA_FLAGS, value: words(alone | (v6 ? IFA_F_NODAD : 0)) },
    { type: IFA_ADDRESS, value },
    ...label.map((value) => ({ type: IFA_LABEL, value })),
    ...cacheInfo.map((value) => ({ type: IFA_CACHEINFO, value })),
  ])
}

/**
 * EXCL, not REPLACE: another program that manages this address notices the conflict. For holdfast EEXIST means success.
 */
export const addAddressRequest = (wanted: WantedAddress, sequence: number, lifetime?: number): Uint8Array =>
  newAddressRequest(NLM_F_EXCL, wanted, sequence, lifetime)

/**
 * Restarts the lifetime of an address without removing it; `undefined` ends the lifetime. The request creates a missing
 * address. For this reason the guardian sends the request only for units that are not withdrawn, and the engine sends
 * the request only to change a lifetime.
 */
export const renewAddressRequest = (wanted: WantedAddress, sequence: number, lifetime?: number): Uint8Array =>
  newAddressRequest(NLM_F_REPLACE, wanted, sequence, lifetime ?? FOREVER)

export function removeAddressRequest(present: WantedAddress, sequence: number): Uint8Array {
  const value = addressBytes(present.address)
  return request(RTM_DELADDR, NLM_F_ACK, sequence, ifaddrmsg(present), [
    { type: IFA_LOCAL, value },
    { type: IFA_ADDRESS, value },
  ])
}

export const stepRequest = (step: AddressStep, sequence: number): Uint8Array =>
  step.action === 'add' ? addAddressRequest(step, sequence, step.lifetime) : removeAddressRequest(step, sequence)

/** Asks the kernel for one link, or without an index for all links. */
export function linkRequest(sequence: number, index?: number): Uint8Array {
  const fixed = words(AF_UNSPEC, index ?? 0, 0, 0)
  return request(RTM_GETLINK, index === undefined ? NLM_F_DUMP : 0, sequence, fixed, [
    { type: IFLA_EXT_MASK, value: words(RTEXT_FILTER_SKIP_STATS) },
  ])
}

/** Asks the kernel for all addresses of both families. The kernel cannot be asked for a single IPv4 address. */
export const addressesRequest = (sequence: number): Uint8Array =>
  request(RTM_GETADDR, NLM_F_DUMP, sequence, new Uint8Array(8), [])

function text(bytes: Uint8Array): string {
  const end = bytes.indexOf(0)
  return String.fromCharCode(...(end === -1 ? bytes : bytes.subarray(0, end)).subarray(0, 255))
}

/**
 * Returns the MAC of an interface. Tunnels have link addresses of another length and loopback has none. Tunnels and
 * loopback get zeros, because no address is announced on these interfaces.
 */
const macOf = (bytes: Uint8Array | undefined): Mac => macFromBytes(bytes?.length === 6 ? bytes : new Uint8Array(6))

function parseLink(type: number, body: Uint8Array): NetlinkMessage {
  if (body.length < 16) return { kind: 'malformed' }
  // The kernel reports a port that leaves a bridge as DELLINK of family AF_BRIDGE. The interface itself still exists.
  if (body[0] !== AF_UNSPEC) return { kind: 'other', type }
  const attributes = attributesOf(body.subarray(16))
  if (attributes === undefined) return { kind: 'malformed' }
  const named = attributes.get(IFLA_IFNAME)
  if (named === undefined) return { kind: 'other', type }
  const name = text(named)
  const index = view(body).getUint32(4, true)
  if (type === RTM_DELLINK) return { kind: 'linkGone', index, name }
  const flags = view(body).getUint32(8, true)
  const mac = macOf(attributes.get(IFLA_ADDRESS))
  const mtu = number(attributes.get(IFLA_MTU)) ?? 0
  const portOf = portOfAnother(attributes.get(IFLA_LINKINFO))
  const link = { index, name, mac, mtu, up: (flags & IFF_UP) !== 0, running: (flags & IFF_RUNNING) !== 0, portOf }
  return { kind: 'link', link }
}

function portOfAnother(linkInfo: Uint8Array | undefined): string | undefined {
  const kind = linkInfo === undefined ? undefined : attributesOf(linkInfo)?.get(IFLA_INFO_SLAVE_KIND)
  const name = kind === undefined ? undefined : text(kind)
  return name !== undefined && TAKES_ALL.has(name) ? name : undefined
}

function parsePresent(type: number, body: Uint8Array): NetlinkMessage {
  if (body.length < 8) return { kind: 'malformed' }
  const size = body[0] === AF_INET ? 4 : body[0] === AF_INET6 ? 16 : 0
  if (size === 0) return { kind: 'other', type }
  const attributes = attributesOf(body.subarray(8))
  // If IFA_LOCAL exists, IFA_ADDRESS is the other end of a point-to-point link.
  const own = attributes?.get(IFA_LOCAL) ?? attributes?.get(IFA_ADDRESS)
  if (own === undefined || own.length !== size) return { kind: 'malformed' }
  const flags = number(attributes?.get(IFA_FLAGS)) ?? body[2] ?? 0
  const label = attributes?.get(IFA_LABEL)
  const present = {
    interfaceIndex: view(body).getUint32(4, true),
    address: addressFromBytes(own),
    prefixLength: body[1] ?? 0,
    tentative: (flags & IFA_F_TENTATIVE) !== 0,
    deprecated: (flags & IFA_F_DEPRECATED) !== 0,
    permanent: (flags & IFA_F_PERMANENT) !== 0,
    flags,
    ...(label === undefined ? {} : { label: text(label) }),
  }
  return { kind: type === RTM_NEWADDR ? 'address' : 'addressGone', present }
}

/** Decodes a neighbour entry. A removed entry has no useful state. FDB entries (AF_BRIDGE) are of another kind. */
function parseNeighbor(type: number, body: Uint8Array): NetlinkMessage {
  if (body.length < 12) return { kind: 'malformed' }
  const size = body[0] === AF_INET ? 4 : body[0] === AF_INET6 ? 16 : 0
  if (size === 0) return { kind: 'other', type }
  const destination = attributesOf(body.subarray(12))?.get(NDA_DST)
  if (destination === undefined || destination.length !== size) return { kind: 'malformed' }
  const state = type === RTM_DELNEIGH ? 0 : view(body).getUint16(8, true)
  return {
    kind: 'neighbor',
    interfaceIndex: view(body).getUint32(4, true),
    address: addressFromBytes(destination),
    resolution: (state & NUD_RESOLVED) !== 0 ? 'resolved' : (state & NUD_PROBED) !== 0 ? 'probed' : 'unresolved',
  }
}

function parseBody(type: number, body: Uint8Array): NetlinkMessage {
  if (type === RTM_NEWLINK || type === RTM_DELLINK) return parseLink(type, body)
  if (type === RTM_NEWADDR || type === RTM_DELADDR) return parsePresent(type, body)
  if (type === RTM_NEWNEIGH || type === RTM_DELNEIGH) return parseNeighbor(type, body)
  if (type === RTM_NEWROUTE) {
    const routes = parseRoute(body)
    return routes === undefined ? { kind: 'malformed' } : { kind: 'routes', routes }
  }
  if (type === NLMSG_OVERRUN) return { kind: 'overrun' }
  if (type !== NLMSG_ERROR && type !== NLMSG_DONE) return { kind: 'other', type }
  // Old kernels end a dump without a status. An error message without a status is malformed.
  if (body.length < 4) return type === NLMSG_DONE ? { kind: 'done', errno: 0 } : { kind: 'malformed' }
  const errno = Math.abs(view(body).getInt32(0, true))
  return { kind: type === NLMSG_DONE ? 'done' : 'ack', errno }
}

/** Returns all netlink messages of one datagram, in order. */
export function parseMessages(bytes: Uint8Array): readonly Envelope[] {
  const envelopes: Envelope[] = []
  const input = view(bytes)
  let at = 0
  while (at < bytes.length) {
    const length = at + HEADER <= bytes.length ? input.getUint32(at, true) : 0
    if (length < HEADER || at + length > bytes.length) {
      envelopes.push({ sequence: 0, interrupted: false, message: { kind: 'malformed' } })
      break
    }
    envelopes.push({
      sequence: input.getUint32(at + 8, true),
      interrupted: (input.getUint16(at + 6, true) & NLM_F_DUMP_INTR) !== 0,
      message: parseBody(input.getUint16(at + 4, true), bytes.subarray(at + HEADER, at + length)),
    })
    // The 32-bit align() is not used: a hostile length must not become negative.
    at += Math.ceil(length / 4) * 4
  }
  return envelopes
}
