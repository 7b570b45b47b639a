/**
 * Who speaks VRRP for the VRID of a router and is not, or not quite, one of its group: another version, another
 * password, other addresses. Such a neighbour must not look like "there is no Active", so he is remembered by his
 * address until he has been silent for long. Bounded, because sources can be invented. What is wrong with a packet is
 * decided in vrrp/receive.ts; nothing here changes an election.
 */
import type { DiscardReason, ReceiveWarning } from '../vrrp/advertisement.ts'
import type { Address } from '../wire/address.ts'
import type { Millis } from '../wire/units.ts'

/** Sources of one router; the newest win, because an invented one is not heard again. */
const MOST_SOURCES = 8
/** More than twice the longest interval that there is (version 2: 255 s). */
const FORGET_AFTER = 600_000
/** A source that is heard well after this has been put right; before, there may be two daemons on that node. */
const PUT_RIGHT_AFTER = 10_000

/** What is strange about a neighbour, in words that follow his address. What is not here is no sign of a stranger. */
const WORDS = {
  ttl: 'sends from another network: its TTL is not 255',
  version: 'speaks another version',
  type: 'sends messages of another type',
  length: 'sends messages of a wrong length',
  checksum: 'sends checksums that do not verify',
  'addr-count-zero': 'advertises no address',
  'first-addr-not-link-local': 'does not advertise a link-local address first',
  'adver-int-zero': 'advertises an interval of 0',
  'multicast-unexpected': 'advertises by multicast, this router by unicast',
  'unicast-unexpected': 'advertises by unicast, this router by multicast',
  'unknown-peer': 'is not among the peers',
  'unlisted-peer': 'is not among the peers',
  'auth-type': 'authenticates in another way than this router',
  'auth-data': 'has another password',
  'interval-mismatch': 'advertises at another interval',
  'address-list-mismatch': 'advertises other addresses',
  'checksum-form-differs': 'uses the other checksum form, and may refuse ours',
  'multiple-owners': 'says as well that it owns the addresses',
} as const satisfies Partial<Record<DiscardReason | ReceiveWarning, string>>
export type Strangeness = keyof typeof WORDS

export type Stranger = {
  readonly address: Address
  readonly reason: Strangeness
  /** VRRP version of its last packet. */
  readonly version: number | undefined
  /** Its advertisements count in the election all the same. */
  readonly listenedTo: boolean
  /** Packets since it was first heard, or heard again after a long silence. */
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

export class ForeignPeers {
  /** By address, the one heard last at the end; of one address by reason. */
  readonly #strangers = new Map<Address, Map<Strangeness, Stranger>>()

  /** Every packet for this router comes by, also one about which there is nothing to say. */
  note({ address, heardAt, listenedTo, reasons, version }: Sighting): void {
    const strange = reasons.filter(isStrange)
    if (strange.length === 0) {
      if (listenedTo) this.#drop(address, heardAt - PUT_RIGHT_AFTER)
      return
    }
    this.#drop(address, heardAt - FORGET_AFTER)
    const findings = this.#strangers.get(address) ?? new Map<Strangeness, Stranger>()
    for (const reason of strange) {
      const count = (findings.get(reason)?.count ?? 0) + 1
      findings.set(reason, { address, reason, version, listenedTo, count, lastHeardAt: heardAt })
    }
    this.#strangers.delete(address)
    this.#strangers.set(address, findings)
    const [oldest] = this.#strangers.keys()
    if (this.#strangers.size > MOST_SOURCES && oldest !== undefined) this.#strangers.delete(oldest)
  }

  /** The one heard last comes first. */
  list(now: Millis): readonly Stranger[] {
    for (const address of this.#strangers.keys()) this.#drop(address, now - FORGET_AFTER)
    return [...this.#strangers.values()].reverse().flatMap((findings) => [...findings.values()])
  }

  /** Whose advertisements have been heard since and do not count: they may well be what somebody misses. */
  unheeded(since: Millis): readonly Stranger[] {
    return this.list(since).filter(({ lastHeardAt, listenedTo }) => !listenedTo && lastHeardAt >= since)
  }

  #drop(address: Address, before: number): void {
    const findings = this.#strangers.get(address)
    if (findings === undefined) return
    for (const [reason, { lastHeardAt }] of findings) if (lastHeardAt < before) findings.delete(reason)
    if (findings.size === 0) this.#strangers.delete(address)
  }
}

export const isStrange = (reason: DiscardReason | ReceiveWarning): reason is Strangeness => Object.hasOwn(WORDS, reason)

/** "speaks VRRPv2, this router VRRPv3"; to be put behind an address. */
export function strangeWords(reason: Strangeness, version: number | null | undefined, own: number): string {
  return reason === 'version' && typeof version === 'number'
    ? `speaks VRRPv${version}, this router VRRPv${own}`
    : WORDS[reason]
}
