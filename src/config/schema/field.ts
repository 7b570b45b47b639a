/**
 * The kinds of values that a configuration is made of. Each kind carries what it wants in words that end a sentence
 * starting with `Cannot use X as "key": `, because "expected string, received number" helps nobody at 3 a.m.
 * This file does not know which key has which kind, nor what else is configured.
 */
import * as z from 'zod'
import { type Address, addressBytes, familyOf, firstOctet, isMulticast, parseAddress } from '../../wire/address.ts'
import { type Mac, parseMac } from '../../wire/mac.ts'
import type { Millis } from '../../wire/units.ts'
import { hostPart, hostPrefixLength } from '../network.ts'
import { DURATION, formatDuration, parseDuration } from './duration.ts'

/** A VIP; the prefix selects the network for `interface: auto` and nothing else. */
export type NetworkAddress = { readonly address: Address; readonly prefixLength: number | undefined }
export type ListenAddress = { readonly host: Address; readonly port: number }

/** `isWhole`: `refused` is a sentence of its own, not the end of `Cannot use X as "key": `. */
export type Reading<T> = { readonly value: T } | { readonly refused: string; readonly isWhole?: boolean }

/** A text that is read by `read`; `wanted` is what a value of another type is told. */
export function textual<T>(wanted: string, read: (text: string) => Reading<T>) {
  return z.string({ error: wanted }).transform((text, context): T => {
    const reading = read(text)
    if ('value' in reading) return reading.value
    const params = { isWhole: reading.isWhole ?? false }
    context.issues.push({ code: 'custom', message: reading.refused, input: text, params })
    return z.NEVER
  })
}

export function whole(min: number, max: number) {
  const error = `a whole number from ${min} to ${max} wanted`
  return z.int({ error }).min(min, { error }).max(max, { error })
}

export const flag = () => z.boolean({ error: 'true or false wanted' })

export function oneOf<const T extends readonly [string, ...string[]]>(...values: T) {
  const last = values.at(-1) ?? ''
  const before = values.slice(0, -1).join(', ')
  return z.enum(values, { error: `${before === '' ? '' : `${before} or `}${last} wanted` })
}

export function pattern(expression: RegExp, wanted: string) {
  return z.string({ error: wanted }).regex(expression, { error: wanted })
}

/** Of whatever the file names: routers, groups, checks. */
export const itemName = () =>
  pattern(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/, 'a name of letters, digits, ".", "_" and "-" wanted')
/** Linux: 15 octets, no slash, no white space, neither "." nor "..". */
export const interfaceName = () =>
  pattern(/^(?!\.{1,2}$)[^\s/:]{1,15}$/, 'the name of an interface wanted, up to 15 characters')
export const absolutePath = () => pattern(/^\/[^\0]*$/, 'an absolute path wanted')

type Wanted = string | ((issue: { readonly input?: unknown }) => string)

export function section<T extends z.core.$ZodLooseShape>(shape: T, wanted: Wanted) {
  // Unknown keys get their words from the schema itself (schema-problem.ts).
  return z.strictObject(shape, {
    error: (issue) => (issue.code !== 'invalid_type' ? undefined : typeof wanted === 'string' ? wanted : wanted(issue)),
  })
}

export const list = <T extends z.ZodType>(element: T, wanted: string) => z.array(element, { error: wanted })

/**
 * `step` is the precision that the wire can carry: what lies between two steps is refused, never rounded. `range` says
 * the bounds where min and max alone do not.
 */
export function duration(min: number, max: number, step?: number, range?: string) {
  const wanted = `a duration from ${range ?? `${formatDuration(min)} to ${formatDuration(max)}`} wanted`
  const error = (issue: { readonly input?: unknown }) =>
    typeof issue.input === 'number'
      ? `${wanted}, with its unit: ${issue.input}s or ${issue.input}ms`
      : `${wanted}, written like 100ms, 1.5s or 2m`
  const nearest = (value: number, by: number) => formatDuration(Math.max(min, Math.round(value / by) * by))
  return z
    .string({ error })
    .regex(DURATION, { error })
    .transform((text, context): Millis => {
      const value = parseDuration(text)
      let message: string | undefined
      if (value === undefined || value < min || value > max) message = wanted
      else if (step !== undefined && value % step !== 0)
        message = `whole steps of ${formatDuration(step)} wanted, such as ${nearest(value, step)}`
      if (message === undefined && value !== undefined) return value
      context.issues.push({ code: 'custom', message: message ?? wanted, input: text })
      return z.NEVER
    })
}

const UNITS: Readonly<Record<string, number>> = { KiB: 1024, MiB: 1024 * 1024 }

/** A size; in octets. */
export function octets(min: number, max: number) {
  const wanted = `a size from ${min / 1024}KiB to ${max / 1024 / 1024}MiB wanted, written like 512KiB or 4MiB`
  return textual(wanted, (text) => {
    const [, digits, unit = ''] = /^(\d{1,9})(KiB|MiB)$/.exec(text) ?? []
    const value = Number(digits) * (UNITS[unit] ?? Number.NaN)
    return value >= min && value <= max ? { value } : { refused: wanted }
  })
}

function readHost(text: string, example: string): Reading<Address> {
  if (text.includes('%')) return { refused: 'an address without zone wanted: it is on the interface of the router' }
  const value = parseAddress(text)
  if (value === undefined) return { refused: `an IP address wanted, written like ${example}` }
  if (isMulticast(value)) return { refused: 'the address of one host wanted, and this one is multicast' }
  const first = familyOf(value) === 'ipv4' ? firstOctet(value) : undefined
  if (first === 127 || value === '::1') return { refused: 'an address of the LAN wanted, and this one is loopback' }
  if (first === 0 || (first !== undefined && first >= 240) || value === '::')
    return { refused: 'no host can have this address' }
  if (value.startsWith('::ffff:'))
    return { refused: `an address as it is on the LAN wanted: ${addressBytes(value).slice(12).join('.')}` }
  return { value }
}

const HOST_EXAMPLE = '10.0.0.11 or fd00::11'
export const host = () =>
  textual(`an IP address wanted, written like ${HOST_EXAMPLE}`, (text) => readHost(text, HOST_EXAMPLE))

const MAC_WANTED = 'the MAC address of one host wanted, written like 00:1c:73:00:00:99'
export const macAddress = () =>
  textual<Mac>(MAC_WANTED, (text) => {
    const value = parseMac(text)
    return value === undefined ? { refused: MAC_WANTED } : { value }
  })

const VIP_EXAMPLE = '10.0.0.200, 10.0.0.200/24 or fd00::200/64'
export const networkAddress = () =>
  textual<NetworkAddress>(`an IP address wanted, written like ${VIP_EXAMPLE}`, (text) => {
    const [before = '', prefix, ...rest] = text.split('/')
    const reading = readHost(before, VIP_EXAMPLE)
    if ('refused' in reading) return reading
    const address = reading.value
    if (prefix === undefined) return { value: { address, prefixLength: undefined } }
    const longest = hostPrefixLength(familyOf(address))
    const prefixLength = /^\d{1,3}$/.test(prefix) ? Number(prefix) : 0
    if (rest.length > 0 || prefixLength < 1 || prefixLength > longest)
      return { refused: `a prefix length from 1 to ${longest} wanted after the slash` }
    const part = longest - prefixLength > 1 ? hostPart(addressBytes(address), prefixLength) : 'mixed'
    if (part === 'zeros') return { refused: 'the address of a host wanted, and this one is its network' }
    if (part === 'ones' && longest === 32)
      return { refused: 'the address of a host wanted, and this one is the broadcast address of its network' }
    return { value: { address, prefixLength } }
  })

const LISTEN_WANTED = 'an IP address and a port wanted, written like 127.0.0.1:9655, or false'
export const listenAddress = () =>
  textual<ListenAddress>(LISTEN_WANTED, (text) => {
    const [, six, four, digits] = /^(?:\[([^\]]*)\]|([^:]*)):(\d{1,5})$/.exec(text) ?? []
    const host = parseAddress(six ?? four ?? '')
    const port = Number(digits)
    const wellFormed = host !== undefined && (six === undefined) === (familyOf(host) === 'ipv4')
    if (!wellFormed || port < 1 || port > 65535) return { refused: LISTEN_WANTED }
    return { value: { host, port } }
  })

const API_WANTED = 'the address of a node wanted, written like http://10.0.0.12:9655'
/** Of the API of another node: where it is, and nothing else. */
export const apiAddress = () =>
  textual<string>(API_WANTED, (text) => {
    if (!/^https?:\/\//.test(text) || !URL.canParse(text)) return { refused: API_WANTED }
    const { hash, origin, password, pathname, search, username } = new URL(text)
    if (username !== '' || password !== '') return { refused: 'an address without user and password wanted' }
    return pathname === '/' && search === '' && hash === '' ? { value: origin } : { refused: API_WANTED }
  })
