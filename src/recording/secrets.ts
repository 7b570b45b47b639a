/**
 * Removes secrets from a recording: passwords, tokens, arguments, and data that a health check sends to its target. One
 * replacement stands for a secret in the whole recording, so equal secrets stay equal. A packet of version 2 gets the
 * replacement of its password, and its checksum stays as right or wrong as it was. This file decides which keys of a
 * configuration hold a secret (schema-problem.ts has the same list for its messages). This file knows nothing about
 * files.
 */
import type { Config } from '../config/config.ts'
import type { JournalEvent } from '../events/event.ts'
import { AUTHENTICATION_LENGTH, simplePassword } from '../vrrp/authentication.ts'
import { viewOf } from '../wire/bytes.ts'

/**
 * Number of passwords with a replacement of their own. A flood of forged passwords must not use memory, so further
 * passwords share one replacement.
 */
const PASSWORD_LIMIT = 1_000
/** Octets of the VRRP header: version, type, VRID, priority, count, Auth Type, Adver Int, checksum (RFC 3768 §5). */
const HEADER = 8
const CHECKSUM = 6
const IPV4_ADDRESS = 4

/** Configuration keys whose values are an operator's own texts. */
const MAPPINGS: ReadonlySet<string> = new Set(['headers', 'environment'])
/** Configuration keys with text that is sent to a target, or searched in its answer. */
const TEXTS: ReadonlySet<string> = new Set(['send', 'text', 'pattern'])

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

export class Secrets {
  readonly #texts = new Map<string, string>()
  /** Replacements by the eight octets of the password. */
  readonly #passwords = new Map<string, string>()

  /** Returns the configuration without secrets. A router behaves the same with it. */
  config(config: Config): unknown {
    return this.#walk(config, '', false)
  }

  #walk(value: unknown, key: string, inNotify: boolean): unknown {
    if (typeof value === 'string') {
      if (key === 'password') return this.#password(simplePassword(value).authentication.octets, true)
      if (TEXTS.has(key)) return this.#text(value)
      return key === 'url' ? this.#url(value) : value
    }
    // A program and its arguments, of a check or of a notification.
    if (Array.isArray(value)) {
      const isCommand = key === 'argv' || (inNotify && key !== 'events')
      return value.map((each: unknown, i) =>
        isCommand && i > 0 && typeof each === 'string' ? this.#text(each) : this.#walk(each, '', inNotify),
      )
    }
    if (!isRecord(value)) return value
    return Object.fromEntries(
      Object.entries(value).map(([name, each]) => [
        name,
        MAPPINGS.has(name) && isRecord(each)
          ? this.#values(each)
          : this.#walk(each, name, inNotify || name === 'notify'),
      ]),
    )
  }

  #values(mapping: Readonly<Record<string, unknown>>): unknown {
    return Object.fromEntries(
      Object.entries(mapping).map(([name, each]) => [name, typeof each === 'string' ? this.#text(each) : each]),
    )
  }

  #text(text: string): string {
    const known = this.#texts.get(text) ?? `secret-${this.#texts.size + 1}`
    this.#texts.set(text, known)
    return known
  }

  /**
   * Replaces password, path and query of a URL. Different URLs stay different. A path may be a token, for example in
   * the URL of a webhook.
   */
  #url(text: string): string {
    if (!URL.canParse(text)) return this.#text(text)
    const url = new URL(text)
    const hidden = [url.username, url.password, url.pathname, url.search, url.hash].join(' ')
    if (hidden.trim() === '/') return text
    return `${url.origin}/?${this.#text(hidden)}`
  }

  #password(octets: Iterable<number>, isOurs: boolean): string {
    const key = [...octets].join(' ')
    const known = this.#passwords.get(key)
    if (known !== undefined) return known
    const isFull = !isOurs && this.#passwords.size >= PASSWORD_LIMIT
    const word = isFull ? 'pass-?' : `pass-${this.#passwords.size + 1}`
    if (!isFull) this.#passwords.set(key, word)
    return word
  }

  /**
   * Returns the octets of a packet whose VRRP message begins at `start`. A message of version 2 ends with
   * Authentication Data (RFC 3768 §5). In a message of the wrong length these octets may be a password too.
   */
  packet(bytes: Uint8Array, start = 0): Uint8Array {
    const message = bytes.subarray(start)
    if ((message[0] ?? 0) >> 4 !== 2 || message.length <= HEADER) return bytes
    const end = HEADER + (message[3] ?? 0) * IPV4_ADDRESS
    const from = end < message.length ? end : Math.max(HEADER, message.length - AUTHENTICATION_LENGTH)
    const data = message.subarray(from)
    if (data.every((octet) => octet === 0)) return bytes
    const copy = bytes.slice()
    const hidden = copy.subarray(start)
    const { octets } = simplePassword(this.#password(data, false)).authentication
    for (let i = from; i < hidden.length; i++) hidden[i] = octets[i - from] ?? 0
    carryOver(message, hidden)
    return copy
  }
}

/**
 * Corrects a checksum after a change of the message (RFC 1624 §3, equation 3): a right checksum stays right, a wrong
 * one stays wrong.
 */
function carryOver(before: Uint8Array, after: Uint8Array): void {
  let sum = ~viewOf(before).getUint16(CHECKSUM) & 0xffff
  const word = (bytes: Uint8Array, i: number) => ((bytes[i] ?? 0) << 8) | (bytes[i + 1] ?? 0)
  for (let i = HEADER; i < before.length; i += 2) sum += (~word(before, i) & 0xffff) + word(after, i)
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16)
  viewOf(after).setUint16(CHECKSUM, ~sum & 0xffff)
}

/**
 * Returns the event without text from the target of a check. Not every reader of a recording may see that text
 * (http/public-view.ts).
 */
export function withoutDetail(event: JournalEvent): JournalEvent {
  if (event.kind !== 'checkChanged') return event
  const { detail: _, ...rest } = event
  return rest
}

/**
 * Returns where the VRRP message of a received packet begins. IPv4 packets include their header, IPv6 packets do not
 * (ports.ts).
 */
export const messageStart = (family: 'ipv4' | 'ipv6', bytes: Uint8Array): number =>
  family === 'ipv6' ? 0 : ((bytes[0] ?? 0) & 0x0f) * 4
