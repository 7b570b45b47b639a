/**
 * Options of a router whose defaults depend on the profile (docs/architecture.md, Protocol decisions): their schema,
 * and their value after the profile and the file are combined. This file knows nothing about what an option does.
 */
import type * as z from 'zod'
import { type Knobs, type ProfileName, profileKnobs } from '../../vrrp/profile.ts'
import { duration, flag, oneOf } from './field.ts'
import { type TransportKeys, unicastOf } from './transport.ts'

const profileDefault = 'default: by profile'

/**
 * Schema of the options on which the RFC, other implementations and safety disagree. If an option is `undefined`, the
 * profile decides.
 */
export const knobShape = {
  checksum: oneOf('pseudo-header', 'message-only')
    .optional()
    .describe(`Form of the IPv4 checksum that we send (RFC 9568 §5.2.8), ${profileDefault}`),
  checksumAccepted: oneOf('either', 'pseudo-header', 'message-only')
    .optional()
    .describe(`Forms of the IPv4 checksum that we accept, ${profileDefault}`),
  fastPreempt: flag()
    .optional()
    .describe(`If the Active lowers its priority, a better Backup takes over after Skew_Time, ${profileDefault}`),
  lastAdvertisement: flag()
    .optional()
    .describe(`An Active that loses the election sends one more advertisement, ${profileDefault}`),
  keepUntilClaimed: flag()
    .optional()
    .describe(
      `An Active that loses answers for its addresses until it hears the winner's gratuitous ARP or NA, at most 20 ms, ${profileDefault}`,
    ),
  announceOnRival: flag()
    .optional()
    .describe(`Announce the addresses again when a competing Active is heard, ${profileDefault}`),
  probeRivals: flag()
    .optional()
    .describe(
      `Before each advertisement, an Active asks by ARP or ND whether another host answers for its addresses, ${profileDefault}`,
    ),
  radar: flag()
    .optional()
    .describe(
      `Duplicate address detection: an Active asks once a second which other hosts have its addresses, ${profileDefault}`,
    ),
  stagger: flag()
    .optional()
    .describe(`Backups of equal priority take over one after the other, not together, ${profileDefault}`),
  leaving: flag()
    .optional()
    .describe(`On shutdown, the Active keeps the addresses until its successor is heard, ${profileDefault}`),
  remindSuccessor: flag()
    .optional()
    .describe(
      `A router that leaves asks the winner of several successors to announce the addresses again, ${profileDefault}`,
    ),
  onlyListedPeers: flag()
    .optional()
    .describe(`Refuse unicast advertisements of routers that are not in peers, ${profileDefault}`),
  ttlCheck: flag().optional().describe(`Require TTL 255 in unicast too; multicast always does, ${profileDefault}`),
  firstAddressLinkLocal: flag()
    .optional()
    .describe(`IPv6: the first address of an advertisement must be link-local, ${profileDefault}`),
  assertOnLower: flag()
    .optional()
    .describe(`An Active answers a lower-priority advertisement immediately (RFC 9568 §6.4.3), ${profileDefault}`),
  assertSpacing: duration(0, 10_000)
    .optional()
    .describe(`Shortest time between two answers to the same lower-priority router, ${profileDefault}`),
  priorityZeroFromActiveOnly: flag()
    .optional()
    .describe(`Accept priority 0 only from the Active whose advertisement was accepted last, ${profileDefault}`),
  advertisePriorityChange: flag()
    .optional()
    .describe(`An Active advertises a change of its effective priority immediately, ${profileDefault}`),
  groupTie: flag()
    .optional()
    .describe(`If sync groups have equal priority, the same member decides on every node, ${profileDefault}`),
  addressListCheck: flag()
    .optional()
    .describe(`Discard advertisements that list other addresses than ours (RFC 3768 §7.1), ${profileDefault}`),
  intervalCheck: flag()
    .optional()
    .describe(
      `Version 3: discard advertisements with another interval than ours, as version 2 does, ${profileDefault}`,
    ),
  oldUnicastChecksum: flag()
    .optional()
    .describe(`IPv4 unicast: accept the checksums of keepalived up to 1.3.6 as well, ${profileDefault}`),
} satisfies Record<keyof Knobs, z.ZodType>

type Written = z.output<z.ZodObject<typeof knobShape>>
type Transported = { readonly transport: TransportKeys }

/**
 * Returns the protocol options of a router. An option that the configuration does not set comes from the router's
 * profile.
 */
export function routerKnobs(
  router: Written & Transported & { readonly profile: ProfileName; readonly version: 2 | 3 },
): Knobs {
  const profile = profileKnobs(router.profile, router.version)
  return {
    checksum: router.checksum ?? profile.checksum,
    checksumAccepted: router.checksumAccepted ?? profile.checksumAccepted,
    fastPreempt: router.fastPreempt ?? profile.fastPreempt,
    lastAdvertisement: router.lastAdvertisement ?? profile.lastAdvertisement,
    keepUntilClaimed: router.keepUntilClaimed ?? profile.keepUntilClaimed,
    announceOnRival: router.announceOnRival ?? profile.announceOnRival,
    probeRivals: router.probeRivals ?? profile.probeRivals,
    radar: router.radar ?? profile.radar,
    stagger: router.stagger ?? profile.stagger,
    leaving: router.leaving ?? profile.leaving,
    remindSuccessor: router.remindSuccessor ?? profile.remindSuccessor,
    onlyListedPeers: router.onlyListedPeers ?? (hasTtlRange(router) || profile.onlyListedPeers),
    ttlCheck: router.ttlCheck ?? profile.ttlCheck,
    firstAddressLinkLocal: router.firstAddressLinkLocal ?? profile.firstAddressLinkLocal,
    addressListCheck: router.addressListCheck ?? profile.addressListCheck,
    intervalCheck: router.intervalCheck ?? profile.intervalCheck,
    oldUnicastChecksum: router.oldUnicastChecksum ?? profile.oldUnicastChecksum,
    assertOnLower: router.assertOnLower ?? profile.assertOnLower,
    assertSpacing: router.assertSpacing ?? profile.assertSpacing,
    priorityZeroFromActiveOnly: router.priorityZeroFromActiveOnly ?? profile.priorityZeroFromActiveOnly,
    groupTie: router.groupTie ?? profile.groupTie,
    advertisePriorityChange: router.advertisePriorityChange ?? profile.advertisePriorityChange,
  }
}

/**
 * Tells whether a listed peer has a TTL range. If a peer has a TTL range, packets of routers that are not listed are
 * refused; otherwise the range would be useless (VR-UC-04).
 */
function hasTtlRange(router: Transported): boolean {
  const { peers = [] } = unicastOf(router) ?? {}
  return peers.some(({ minTtl, maxTtl }) => minTtl !== undefined || maxTtl !== undefined)
}
