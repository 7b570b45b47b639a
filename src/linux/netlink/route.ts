/**
 * Decodes routes from rtnetlink. This file decides that only routes of the main table to other hosts count, and a route
 * with several next hops counts as several routes. No input throws.
 */
import type { PresentRoute } from '../../daemon/ports.ts'
import { addressFromBytes, type Family } from '../../wire/address.ts'
import { attributesOf, NLM_F_DUMP, number, request, view } from './frame.ts'

export const RTM_NEWROUTE = 24
const RTM_GETROUTE = 26
const AF_INET = 2
const AF_INET6 = 10
const RT_TABLE_MAIN = 254
const RTN_UNICAST = 1
const RTPROT_RA = 9
/** Flag of an IPv6 route that is a clone for one destination. */
const RTM_F_CLONED = 0x200

const RTA_DST = 1
const RTA_OIF = 4
const RTA_GATEWAY = 5
const RTA_PRIORITY = 6
const RTA_MULTIPATH = 9
const RTA_TABLE = 15
/**
 * An IPv4 route through an IPv6 gateway. The value is a struct rtvia, with the family in two octets before the address.
 */
const RTA_VIA = 18

/** Sizes of struct rtmsg and struct rtnexthop in octets. */
const FIXED = 12
const NEXT_HOP = 8

/** Asks the kernel for all routes of both families. */
export const routesRequest = (sequence: number): Uint8Array =>
  request(RTM_GETROUTE, NLM_F_DUMP, sequence, new Uint8Array(FIXED), [])

/**
 * Decodes a route. Returns an empty list for a route of another table or to no other host, and `undefined` for a wrong
 * length.
 */
export function parseRoute(body: Uint8Array): readonly PresentRoute[] | undefined {
  if (body.length < FIXED) return undefined
  const [family, size] = familyIn(body[0])
  if (family === undefined) return []
  const attributes = attributesOf(body.subarray(FIXED))
  if (attributes === undefined) return undefined
  const table = number(attributes.get(RTA_TABLE)) ?? body[4]
  const cloned = (view(body).getUint32(8, true) & RTM_F_CLONED) !== 0
  if (table !== RT_TABLE_MAIN || body[7] !== RTN_UNICAST || cloned) return []
  const prefixLength = body[1] ?? 0
  const network = attributes.get(RTA_DST)
  if (prefixLength > 0 && network?.length !== size) return undefined
  const common = {
    family,
    destination:
      prefixLength === 0 || network === undefined ? undefined : { address: addressFromBytes(network), prefixLength },
    metric: number(attributes.get(RTA_PRIORITY)) ?? 0,
    fromRouter: body[5] === RTPROT_RA,
  }
  const several = attributes.get(RTA_MULTIPATH)
  const hops = several === undefined ? oneHop(attributes) : hopsIn(several)
  return hops?.map((hop) => ({ ...common, ...hop }))
}

function familyIn(code: number | undefined): [Family, number] | [undefined, number] {
  if (code === AF_INET) return ['ipv4', 4]
  return code === AF_INET6 ? ['ipv6', 16] : [undefined, 0]
}

type Hop = Pick<PresentRoute, 'interfaceIndex' | 'gateway'>

/** For a next hop object (RTA_NH_ID) the kernel also reports interface and gateway. */
function oneHop(attributes: ReadonlyMap<number, Uint8Array>): readonly Hop[] {
  const interfaceIndex = number(attributes.get(RTA_OIF))
  return interfaceIndex === undefined ? [] : [{ interfaceIndex, gateway: gatewayIn(attributes) }]
}

function hopsIn(bytes: Uint8Array): readonly Hop[] | undefined {
  const hops: Hop[] = []
  for (let at = 0; at + NEXT_HOP <= bytes.length; ) {
    const input = view(bytes)
    const length = input.getUint16(at, true)
    if (length < NEXT_HOP || at + length > bytes.length) return undefined
    const attributes = attributesOf(bytes.subarray(at + NEXT_HOP, at + length))
    if (attributes === undefined) return undefined
    hops.push({ interfaceIndex: input.getUint32(at + 4, true), gateway: gatewayIn(attributes) })
    at += (length + 3) & ~3
  }
  return hops
}

function gatewayIn(attributes: ReadonlyMap<number, Uint8Array>): PresentRoute['gateway'] {
  const bytes = attributes.get(RTA_GATEWAY) ?? attributes.get(RTA_VIA)?.subarray(2)
  return bytes?.length === 4 || bytes?.length === 16 ? addressFromBytes(bytes) : undefined
}
