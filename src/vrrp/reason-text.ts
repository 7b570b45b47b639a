/**
 * Texts for the codes of transitions, faults and discarded packets: the log, `holdfast status`, `holdfast events` and
 * the status page print them. The status page has a generated copy (src/http/page/reasons.js). Every text is a clause
 * that may follow "because" or a colon; in the texts of transitions and faults, "it" is the virtual router.
 */
import type { DiscardReason } from './advertisement.ts'
import type { TransitionReason } from './effect.ts'
import type { Fault } from './event.ts'

/** Fault with the name of its cause after a colon. */
type NamedFault = Extract<Fault, `${string}:${string}`>
type KindOf<F> = F extends `${infer Kind}:${string}` ? Kind : never

/** Texts of the reasons of a transition, and of the faults without a name. */
export const REASONS = {
  startup: 'it has started',
  owner: 'it owns the address (priority 255)',
  activeSilent: 'no other router was heard',
  activeReleased: 'the previous Active released the address (priority 0)',
  activeDemoted: 'the previous Active lowered its priority',
  lowerPriorityActive: 'the previous Active had a lower priority',
  noSuccessor: 'no other router took over',
  nobodyElse: 'no other host had the address when this node ran again',
  higherPriorityHeard: 'it heard a router with a higher priority',
  higherAddressHeard: 'it heard a router of the same priority with a higher address',
  successorHeard: 'its successor has taken over',
  faultCleared: 'its fault is gone',
  shutdown: 'it was ordered to stop',
  yield: 'it was ordered to yield',
  willExecuted: 'its guardian removed the address while the engine was late',
  stalled: 'its engine had not run for too long',
  activeHeard: 'another router advertised while this node did not run',
  addressClaimed: 'another host had the address when this node ran again',
  receptionLost: 'it may have missed advertisements while this node did not run',
  linkWasDown: 'its link was down while this node did not run',
  configured: 'its configuration has a fault',
  interfaceMissing: 'its interface is missing',
  linkDown: 'its link is down',
  interfaceIsPort: 'its interface is a port of a bridge or bond',
  sourceAddressMissing: 'its interface has no address to send from',
  socketFailed: 'its socket failed',
  vridTaken: 'another router of this node has its VRID',
  messageTooLarge: 'its advertisement does not fit into the MTU',
  restorationsPaused: 'another program keeps removing its address',
  addressInstallFailed: 'its address could not be installed',
  duplicateHolder: 'another router has its address and would win the election',
} as const satisfies Record<Exclude<TransitionReason, NamedFault>, string>

/** Texts of the faults with a name, which replaces NAME. */
export const NAMED_FAULTS = {
  addressInterfaceDown: 'the interface NAME, which gets an address, is down',
  trackedInterfaceDown: 'the interface NAME, which it tracks, is down',
  healthcheckDown: 'the health check NAME is down',
  healthcheckUndecided: 'the health check NAME has no result yet',
  syncGroup: 'it follows NAME (same sync group)',
} as const satisfies Record<KindOf<NamedFault>, string>

/** Texts of the reasons to discard a packet; "it" is the packet. */
const DISCARDS: Readonly<Record<DiscardReason, string>> = {
  'not-vrrp': 'it is not VRRP',
  fragment: 'it is a fragment',
  'ip-header': 'its IP header is invalid',
  'truncated-ip': 'it is shorter than its IP header says',
  'self-originated': 'this node sent it',
  destination: 'its destination is unknown, or not the group of this router',
  ttl: 'its TTL is not 255',
  truncated: 'it is shorter than a VRRP header',
  version: 'its VRRP version is not the expected one',
  type: 'it is not an advertisement',
  length: 'its length does not match its number of addresses',
  checksum: 'its checksum is wrong',
  'vrid-unknown': 'this node has no router with its VRID',
  'addr-count-zero': 'it has no address',
  'first-addr-not-link-local': 'its first address is not link-local',
  'adver-int-zero': 'its advertisement interval is 0',
  'multicast-unexpected': 'it was sent by multicast, and this router uses unicast',
  'unicast-unexpected': 'it was sent by unicast, and this router uses multicast',
  'unknown-peer': 'its sender is not a listed peer',
  'ttl-range': 'its TTL is outside of the range that is configured for its sender',
  'auth-type': 'its type of authentication differs from the configured one',
  'auth-data': 'its password is wrong',
  'interval-mismatch': 'its advertisement interval differs from the configured one',
  'address-list-mismatch': 'its addresses differ from the configured ones',
}

/** A daemon of a later version may send unknown codes. */
const entry = (table: Readonly<Record<string, string>>, code: string): string | undefined =>
  Object.hasOwn(table, code) ? table[code] : undefined

/** Returns the text for the reason of a transition or for a fault. Returns an unknown code unchanged. */
export function reasonText(code: string): string {
  const at = code.indexOf(':')
  const named = at < 0 ? undefined : entry(NAMED_FAULTS, code.slice(0, at))
  return named === undefined ? (entry(REASONS, code) ?? code) : named.replace('NAME', () => code.slice(at + 1))
}

/** Returns the text for the reason to discard a packet. Returns an unknown code unchanged. */
export const discardText = (reason: string): string => entry(DISCARDS, reason) ?? reason
