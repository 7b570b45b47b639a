/**
 * The knobs of one router: their place in the file, and what they are: what the profile says, except where the file
 * says otherwise (docs/architecture.md, Protocol decisions). This file does not know what a knob does.
 */
import type * as z from 'zod'
import { type Knobs, type ProfileName, profileKnobs } from '../../vrrp/profile.ts'
import { duration, flag, oneOf } from './field.ts'
import { type TransportKeys, unicastOf } from './transport.ts'

const profileDefault = 'default: by profile'

/** docs/architecture.md, Protocol decisions: everything on which the RFC, its neighbours and safety disagree. Undefined = as the profile says. */
export const knobShape = {
  checksum: oneOf('pseudo-header', 'message-only')
    .optional()
    .describe(`IPv4 checksum that we send (RFC 9568 §5.2.8), ${profileDefault}`),
  checksumAccepted: oneOf('either', 'pseudo-header', 'message-only')
    .optional()
    .describe(`IPv4 checksum forms that we accept, ${profileDefault}`),
  fastPreempt: flag()
    .optional()
    .describe(`A better Backup acts on a demotion of the Active after Skew_Time, ${profileDefault}`),
  lastAdvertisement: flag().optional().describe(`An Active that loses sends one last advertisement, ${profileDefault}`),
  keepUntilClaimed: flag()
    .optional()
    .describe(
      `An Active that loses answers until the winner's gratuitous ARP or NA is heard, 20 ms at most, ${profileDefault}`,
    ),
  announceOnRival: flag().optional().describe(`Announce the addresses again when a rival is heard, ${profileDefault}`),
  probeRivals: flag()
    .optional()
    .describe(
      `An Active asks by ARP or ND before every advertisement whether somebody else answers, ${profileDefault}`,
    ),
  radar: flag()
    .optional()
    .describe(`An Active asks once a second who else has any of its addresses, ${profileDefault}`),
  stagger: flag().optional().describe(`Backups of equal priority expire one after the other, ${profileDefault}`),
  leaving: flag().optional().describe(`On shutdown keep the addresses until the successor is heard, ${profileDefault}`),
  remindSuccessor: flag()
    .optional()
    .describe(`Who leaves has the winner of several successors announce again, ${profileDefault}`),
  onlyListedPeers: flag()
    .optional()
    .describe(`Refuse unicast advertisements of routers not in peers, ${profileDefault}`),
  ttlCheck: flag().optional().describe(`Require TTL 255 in unicast too; multicast always does, ${profileDefault}`),
  firstAddressLinkLocal: flag()
    .optional()
    .describe(`IPv6: the first address of an advertisement must be link-local, ${profileDefault}`),
  assertOnLower: flag()
    .optional()
    .describe(`An Active answers a lower-priority advertisement at once (RFC 9568 §6.4.3), ${profileDefault}`),
  assertSpacing: duration(0, 10_000)
    .optional()
    .describe(`Least time between two such answers to the same router, ${profileDefault}`),
  priorityZeroFromActiveOnly: flag()
    .optional()
    .describe(`Priority 0 counts only from the Active last accepted, ${profileDefault}`),
  advertisePriorityChange: flag()
    .optional()
    .describe(`An Active advertises a change of its effective priority at once, ${profileDefault}`),
  groupTie: flag()
    .optional()
    .describe(`Of sync groups of equal priority one member decides, the same on every node, ${profileDefault}`),
  addressListCheck: flag()
    .optional()
    .describe(`Discard advertisements that list other addresses than ours (RFC 3768 §7.1), ${profileDefault}`),
  intervalCheck: flag()
    .optional()
    .describe(`Version 3: discard advertisements with another interval than ours, as in version 2, ${profileDefault}`),
  oldUnicastChecksum: flag()
    .optional()
    .describe(`IPv4 unicast: take the checksums of keepalived up to 1.3.6 as well, ${profileDefault}`),
} satisfies Record<keyof Knobs, z.ZodType>

type Written = z.output<z.ZodObject<typeof knobShape>>
type Transported = { readonly transport: TransportKeys }

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

/** A range for the listed ones would be worth nothing if everybody else came in without one (VR-UC-04). */
function hasTtlRange(router: Transported): boolean {
  const { peers = [] } = unicastOf(router) ?? {}
  return peers.some(({ minTtl, maxTtl }) => minTtl !== undefined || maxTtl !== undefined)
}
