/**
 * The knobs of one router: what its profile says, except where the file says otherwise (design.md §3).
 * This file does not know what a knob does.
 */
import { type Knobs, profileKnobs } from '../vrrp/parameters.ts'
import type { VirtualRouter } from './config.ts'

export function routerKnobs(router: VirtualRouter): Knobs {
  const profile = profileKnobs(router.profile, router.version)
  return {
    checksum: router.checksum ?? profile.checksum,
    checksumAccepted: router.checksumAccepted ?? profile.checksumAccepted,
    fastPreempt: router.fastPreempt ?? profile.fastPreempt,
    lastAdvertisement: router.lastAdvertisement ?? profile.lastAdvertisement,
    announceOnRival: router.announceOnRival ?? profile.announceOnRival,
    probeRivals: router.probeRivals ?? profile.probeRivals,
    stagger: router.stagger ?? profile.stagger,
    leaving: router.leaving ?? profile.leaving,
    onlyListedPeers: router.onlyListedPeers ?? profile.onlyListedPeers,
    ttlCheck: router.ttlCheck ?? profile.ttlCheck,
    firstAddressLinkLocal: router.firstAddressLinkLocal ?? profile.firstAddressLinkLocal,
    addressListCheck: router.addressListCheck ?? profile.addressListCheck,
    assertOnLower: router.assertOnLower ?? profile.assertOnLower,
    assertSpacing: router.assertSpacing ?? profile.assertSpacing,
    priorityZeroFromActiveOnly: router.priorityZeroFromActiveOnly ?? profile.priorityZeroFromActiveOnly,
    advertisePriorityChange: router.advertisePriorityChange ?? profile.advertisePriorityChange,
  }
}
