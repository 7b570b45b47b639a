/**
 * Remembers VRRP routers with our VRID whose version, password, interval or address list differs. Without this record,
 * such a router would look as if no Active existed. A router is remembered by its address until it has been silent for
 * long. The number is limited, because a sender can forge source addresses. In vrrp/receive.ts it is decided why a
 * packet is discarded. Mismatched routers have no effect on an election.
 */
import type { DiscardReason, ReceiveWarning } from '../../vrrp/advertisement.ts'
import type { Address } from '../../wire/address.ts'
import type { Millis } from '../../wire/units.ts'

/**
 * Number of source addresses that are remembered for one router, the newest ones. A forged source address does not
 * appear again.
 */
export const MOST_SOURCES = 8
/**
 * Milliseconds between two source addresses that replace another one, so that a flood of forged addresses costs neither
 * memory nor time.
 */
const PUSH_OUT_SPACING = 100
/**
 * Milliseconds of silence after which a source is forgotten: more than twice the longest interval (version 2: 255 s).
 */
const FORGET_AFTER = 600_000
/**
 * Milliseconds after the last wrong packet of a router. Valid packets after this time show that its configuration was
 * corrected. Before, its node may run two daemons.
 */
const PUT_RIGHT_AFTER = 10_000

/**
 * Texts for each mismatch, which follow the address of the router. Other reasons are not a sign of a mismatched router.
 */
const WORDS = {
  ttl: 'sends from another network: its TTL is not 255',
  version: 'speaks another version',
  type: 'sends messages of another type',
  length: 'sends messages of a wrong length',
  checksum: 'sends wrong checksums',
  'addr-count-zero': 'advertises no address',
  'first-addr-not-link-local': 'does not advertise a link-local address first',
  'adver-int-zero': 'advertises an interval of 0',
  'multicast-unexpected': 'advertises by multicast, this router by unicast',
  'unicast-unexpected': 'advertises by unicast, this router by multicast',
  'unknown-peer': 'is not a listed peer',
  'ttl-range': 'sends with a TTL outside of the range that is configured for it',
  'unlisted-peer': 'is not a listed peer',
  'auth-type': 'uses another type of authentication',
  'auth-data': 'has another password',
  'interval-mismatch': 'advertises at another interval',
  'address-list-mismatch': 'advertises other addresses',
  'checksum-form-differs': 'uses the other checksum form, and may discard our packets',
  'multiple-owners': 'has priority 255 as well: only one router can be the address owner',
} as const satisfies Partial<Record<DiscardReason | ReceiveWarning, string>>
export type Mismatch = keyof typeof WORDS

export type MismatchedRouter = {
  readonly address: Address
  readonly reason: Mismatch
  /** VRRP version of the router's last packet; `undefined` if the version could not be read. */
  readonly version: number | undefined
  /** True if the router's advertisements count in the election. */
  readonly listenedTo: boolean
  /** Number of packets since the first packet of the router, or since it was silent for long. */
  readonly count: number
  readonly lastHeardAt: Millis
}

export type Sighting = {
  readonly address: Address
  readonly reasons: readonly (DiscardReason | ReceiveWarning)[]
  readonly version: number | undefined
  readonly listenedTo: boolean
  readonly heardAt: Millis
}

/**
 * An entry about a mismatched router. The entry is changed, not replaced, because a flood must not allocate memory for
 * each packet.
 */
type Finding = { -readonly [key in keyof MismatchedRouter]: MismatchedRouter[key] }
type Source = { readonly address: Address; lastHeardAt: Millis; findings: Finding[] }

export class MismatchedRouters {
  #sources: Source[] = []
  #pushedOutAt: Millis | undefined

  /** Notes a packet for this router, even one without a mismatch. */
  note({ address, heardAt, listenedTo, reasons, version }: Sighting): void {
    const known = this.#sources.find((source) => source.address === address)
    if (!reasons.some(isMismatch)) {
      if (listenedTo && known !== undefined) this.#forget(heardAt - PUT_RIGHT_AFTER, known)
      return
    }
    const source = known ?? this.#admit(address, heardAt)
    if (source === undefined) return
    if (heardAt - source.lastHeardAt > FORGET_AFTER) source.findings = []
    source.lastHeardAt = heardAt
    for (const reason of reasons) {
      if (!isMismatch(reason)) continue
      const found = source.findings.find((finding) => finding.reason === reason)
      if (found === undefined)
        source.findings.push({ address, reason, version, listenedTo, count: 1, lastHeardAt: heardAt })
      else {
        found.count = heardAt - found.lastHeardAt > FORGET_AFTER ? 1 : found.count + 1
        found.lastHeardAt = heardAt
        found.version = version
        found.listenedTo = listenedTo
      }
    }
  }

  /** Returns the mismatched routers. The router with the latest packet comes first. */
  list(now: Millis): readonly MismatchedRouter[] {
    for (const source of [...this.#sources]) this.#forget(now - FORGET_AFTER, source)
    const newestFirst = this.#sources.toSorted((left, right) => right.lastHeardAt - left.lastHeardAt)
    return newestFirst.flatMap(({ findings }) => findings.map((finding) => ({ ...finding })))
  }

  /**
   * Returns the routers whose advertisements since `since` were discarded. The Active that this router misses may be
   * one of these routers.
   */
  unheeded(since: Millis): readonly MismatchedRouter[] {
    return this.list(since).filter(({ lastHeardAt, listenedTo }) => !listenedTo && lastHeardAt >= since)
  }

  #admit(address: Address, heardAt: Millis): Source | undefined {
    if (this.#sources.length >= MOST_SOURCES) {
      if (this.#pushedOutAt !== undefined && heardAt - this.#pushedOutAt < PUSH_OUT_SPACING) return undefined
      this.#pushedOutAt = heardAt
      const oldest = this.#sources.reduce((left, right) => (right.lastHeardAt < left.lastHeardAt ? right : left))
      this.#sources.splice(this.#sources.indexOf(oldest), 1)
    }
    const source = { address, lastHeardAt: heardAt, findings: [] }
    this.#sources.push(source)
    return source
  }

  #forget(before: number, source: Source): void {
    source.findings = source.findings.filter(({ lastHeardAt }) => lastHeardAt >= before)
    if (source.findings.length === 0) this.#sources = this.#sources.filter((each) => each !== source)
  }
}

export const isMismatch = (reason: DiscardReason | ReceiveWarning): reason is Mismatch => Object.hasOwn(WORDS, reason)

/** Returns the text of a mismatch, which follows an address: "speaks VRRPv2, this router VRRPv3". */
export function describeMismatch(reason: Mismatch, version: number | null | undefined, own: number): string {
  return reason === 'version' && typeof version === 'number'
    ? `speaks VRRPv${version}, this router VRRPv${own}`
    : WORDS[reason]
}
