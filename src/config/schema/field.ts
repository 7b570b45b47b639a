/**
 * The kinds of values in a configuration. Every kind of value has a text that says what it accepts, such as
 * `an integer from 1 to 255`. The text of a kind is the end of a message (schema-problem.ts). This file knows nothing
 * about which key has which kind, and other values of the configuration.
 */
import * as z from 'zod'
import { type Address, addressBytes, familyOf, firstOctet, isMulticast, parseAddress } from '../../wire/address.ts'
import { type Mac, parseMac } from '../../wire/mac.ts'
import type { Millis } from '../../wire/units.ts'
import { hostPart, hostPrefixLength } from '../network.ts'
import { DURATION, formatDuration, parseDuration } from './duration.ts'

/** A VIP. The prefix length of a VIP only selects the network for `interface: auto`. */
export type NetworkAddress = { readonly address: Address; readonly prefixLength: number | undefined }
export type ListenAddress = { readonly host: Address; readonly port: number }

/**
 * The value read from a text, or why the text is refused. `isWhole`: `refused` is the whole message after the path, not
 * only the accepted form.
 */
export type Reading<T> = { readonly value: T } | { readonly refused: string; readonly isWhole?: boolean }

/**
 * Returns the schema of a text that `read` converts. `accepted` describes the accepted form, for values of another
 * type.
 */
export function textual<T>(accepted: string, read: (text: string) => Reading<T>) {
  return z.string({ error: accepted }).transform((text, context): T => {
    const reading = read(text)
    if ('value' in reading) return reading.value
    const params = { isWhole: reading.isWhole ?? false }
    context.issues.push({ code: 'custom', message: reading.refused, input: text, params })
    return z.NEVER
  })
}

/** Returns the schema of an integer. */
export function whole(min: number, max: number) {
  const error = `an integer from ${min} to ${max}`
  return z.int({ error }).min(min, { error }).max(max, { error })
}

export const flag = () => z.boolean({ error: 'true or false' })

export function oneOf<const T extends readonly [string, ...string[]]>(...values: T) {
  const last = values.at(-1) ?? ''
  const before = values.slice(0, -1).join(', ')
  return z.enum(values, { error: `${before === '' ? '' : `${before} or `}${last}` })
}

export function pattern(expression: RegExp, accepted: string) {
  return z.string({ error: accepted }).regex(expression, { error: accepted })
}

/** Returns the schema of the name of a router, a sync group or a health check. */
export const itemName = () =>
  pattern(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/, 'a name of letters, digits, ".", "_" and "-"')
/**
 * Returns the schema of an interface name. Linux allows 15 octets without slash and white space, but not "." and "..".
 */
export const interfaceName = () =>
  pattern(/^(?!\.{1,2}$)[^\s/:]{1,15}$/, 'the name of an interface, up to 15 characters')
export const absolutePath = () => pattern(/^\/[^\0]*$/, 'an absolute path')

type Accepted = string | ((issue: { readonly input?: unknown }) => string)

export function section<T extends z.core.$ZodLooseShape>(shape: T, accepted: Accepted) {
  // Texts about unknown keys are made in schema-problem.ts.
  return z.strictObject(shape, {
    error: (issue) =>
      issue.code !== 'invalid_type' ? undefined : typeof accepted === 'string' ? accepted : accepted(issue),
  })
}

export const list = <T extends z.ZodType>(element: T, accepted: string) => z.array(element, { error: accepted })

/**
 * Returns the schema of a duration; min, max and step are milliseconds. `step` is the precision of the packet: a value
 * between two multiples of it is refused and never rounded. `range` replaces the text of the bounds.
 */
export function duration(min: number, max: number, step?: number, range?: string) {
  const accepted = `a duration from ${range ?? `${formatDuration(min)} to ${formatDuration(max)}`}`
  const error = (issue: { readonly input?: unknown }) =>
    typeof issue.input === 'number'
      ? `${accepted}, with its unit: ${issue.input}s or ${issue.input}ms`
      : `${accepted}, such as 100ms, 1.5s or 2m`
  const nearest = (value: number, by: number) => formatDuration(Math.max(min, Math.round(value / by) * by))
  return z
    .string({ error })
    .regex(DURATION, { error })
    .transform((text, context): Millis => {
      const value = parseDuration(text)
      let message: string | undefined
      if (value === undefined || value < min || value > max) message = accepted
      else if (step !== undefined && value % step !== 0)
        message = `a multiple of ${formatDuration(step)}, such as ${nearest(value, step)}`
      if (message === undefined && value !== undefined) return value
      context.issues.push({ code: 'custom', message: message ?? accepted, input: text })
      return z.NEVER
    })
}

const UNITS: Readonly<Record<string, number>> = { KiB: 1024, MiB: 1024 * 1024 }

/** Returns the schema of a size in octets, such as `64KiB`. */
export function octets(min: number, max: number) {
  const accepted = `a size from ${min / 1024}KiB to ${max / 1024 / 1024}MiB, such as 512KiB or 4MiB`
  return textual(accepted, (text) => {
    const [, digits, unit = ''] = /^(\d{1,9})(KiB|MiB)$/.exec(text) ?? []
    const value = Number(digits) * (UNITS[unit] ?? Number.NaN)
    return value >= min && value <= max ? { value } : { refused: accepted }
  })
}

function readHost(text: string, example: string): Reading<Address> {
  if (text.includes('%')) return { refused: 'an address without a zone (%): the router sets the interface' }
  const value = parseAddress(text)
  if (value === undefined) return { refused: `an IP address, such as ${example}` }
  if (isMulticast(value)) return { refused: 'the address of one host; this is a multicast address' }
  const first = familyOf(value) === 'ipv4' ? firstOctet(value) : undefined
  if (first === 127 || value === '::1') return { refused: 'an address of the LAN; this is a loopback address' }
  if (first === 0 || (first !== undefined && first >= 240) || value === '::')
    return { refused: 'an address that a host can have' }
  if (value.startsWith('::ffff:'))
    return { refused: `the IPv4 form of this address: ${addressBytes(value).slice(12).join('.')}` }
  return { value }
}

const HOST_EXAMPLE = '10.0.0.11 or fd00::11'
export const host = () => textual(`an IP address, such as ${HOST_EXAMPLE}`, (text) => readHost(text, HOST_EXAMPLE))

const MAC_EXPECTED = 'the MAC address of one host, such as 00:1c:73:00:00:99'
export const macAddress = () =>
  textual<Mac>(MAC_EXPECTED, (text) => {
    const value = parseMac(text)
    return value === undefined ? { refused: MAC_EXPECTED } : { value }
  })

const VIP_EXAMPLE = '10.0.0.200, 10.0.0.200/24 or fd00::200/64'
export const networkAddress = () =>
  textual<NetworkAddress>(`an IP address, such as ${VIP_EXAMPLE}`, (text) => {
    const [before = '', prefix, ...rest] = text.split('/')
    const reading = readHost(before, VIP_EXAMPLE)
    if ('refused' in reading) return reading
    const address = reading.value
    if (prefix === undefined) return { value: { address, prefixLength: undefined } }
    const longest = hostPrefixLength(familyOf(address))
    const prefixLength = /^\d{1,3}$/.test(prefix) ? Number(prefix) : 0
    if (rest.length > 0 || prefixLength < 1 || prefixLength > longest)
      return { refused: `a prefix length from 1 to ${longest} after the slash` }
    const part = longest - prefixLength > 1 ? hostPart(addressBytes(address), prefixLength) : 'mixed'
    if (part === 'zeros') return { refused: 'the address of a host; this is the address of its network' }
    if (part === 'ones' && longest === 32)
      return { refused: 'the address of a host; this is the broadcast address of its network' }
    return { value: { address, prefixLength } }
  })

const LISTEN_EXPECTED = 'an IP address and a port, such as 127.0.0.1:9655, or false'
export const listenAddress = () =>
  textual<ListenAddress>(LISTEN_EXPECTED, (text) => {
    const [, six, four, digits] = /^(?:\[([^\]]*)\]|([^:]*)):(\d{1,5})$/.exec(text) ?? []
    const host = parseAddress(six ?? four ?? '')
    const port = Number(digits)
    const wellFormed = host !== undefined && (six === undefined) === (familyOf(host) === 'ipv4')
    if (!wellFormed || port < 1 || port > 65535) return { refused: LISTEN_EXPECTED }
    return { value: { host, port } }
  })

const API_EXPECTED = 'the address of a node, such as http://10.0.0.12:9655'
/** Returns the schema of the HTTP server of another node: scheme, host and port only. */
export const apiAddress = () =>
  textual<string>(API_EXPECTED, (text) => {
    if (!/^https?:\/\//.test(text) || !URL.canParse(text)) return { refused: API_EXPECTED }
    const { hash, origin, password, pathname, search, username } = new URL(text)
    if (username !== '' || password !== '') return { refused: 'an address without user and password' }
    return pathname === '/' && search === '' && hash === '' ? { value: origin } : { refused: API_EXPECTED }
  })
