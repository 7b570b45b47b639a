/**
 * Defines the profiles: the defaults of all settings on which the RFC, other implementations and safety disagree
 * (docs/profiles.md). A profile has one setting for each configuration key. `optionsOf` converts the settings to the
 * parameters of a router. `profile.ts` does not know what an option does.
 */
import { defined } from '../base/defined.ts'
import { type Millis, millis } from '../wire/units.ts'
import type { ChecksumForm, CompetingOptions, ExtensionOptions, Parameters, Reception } from './parameters.ts'

export type ProfileName = 'holdfast' | 'keepalived' | 'rfc9568'

/** The settings of a profile, with the names of the configuration keys. */
export type Knobs = Reception & {
  readonly checksum: ChecksumForm
  readonly fastPreempt: boolean
  readonly lastAdvertisement: boolean
  /** True: a router that has lost still answers for its addresses for a time (extensions/grace-period.ts). */
  readonly keepUntilClaimed: boolean
  readonly announceOnRival: boolean
  /**
   * True: a router asks the LAN for its addresses, to find an Active that does not advertise
   * (extensions/silent-active.ts).
   */
  readonly probeRivals: boolean
  /** True: an Active asks the LAN which other host has its addresses (duplicate address detection). */
  readonly radar: boolean
  readonly stagger: boolean
  readonly leaving: boolean
  /** True: a router in Leaving reminds the winner if several routers took over (extensions/succession.ts). */
  readonly remindSuccessor: boolean
  readonly assertOnLower: boolean
  readonly assertSpacing: Millis
  readonly priorityZeroFromActiveOnly: boolean
  readonly groupTie: boolean
  readonly advertisePriorityChange: boolean
}

const SAFE: Knobs = {
  checksum: 'pseudo-header',
  checksumAccepted: 'either',
  fastPreempt: true,
  lastAdvertisement: true,
  keepUntilClaimed: true,
  announceOnRival: true,
  probeRivals: true,
  radar: true,
  stagger: true,
  leaving: true,
  remindSuccessor: false,
  onlyListedPeers: false,
  ttlCheck: false,
  firstAddressLinkLocal: false,
  addressListCheck: false,
  intervalCheck: false,
  oldUnicastChecksum: false,
  assertOnLower: true,
  assertSpacing: millis(100),
  priorityZeroFromActiveOnly: true,
  advertisePriorityChange: true,
  groupTie: true,
}

/**
 * Returns the defaults of a profile. In rfc9568, `assertOnLower` is on only in version 3, because RFC 3768 (version 2)
 * does not require it. `addressListCheck` is on only in version 2, because RFC 9568 §7.1 only logs an address list that
 * differs.
 */
export function profileKnobs(profile: ProfileName, version: 2 | 3): Knobs {
  // keepalived nodes of equal priority take over at the same time (docs/adr/0045). holdfast nodes take over one after
  // the other, so only keepalived nodes need the reminder.
  if (profile === 'keepalived') return { ...SAFE, remindSuccessor: true }
  if (profile !== 'rfc9568') return SAFE
  return {
    checksum: 'message-only',
    checksumAccepted: 'either',
    fastPreempt: false,
    lastAdvertisement: false,
    keepUntilClaimed: false,
    announceOnRival: false,
    probeRivals: false,
    radar: false,
    stagger: false,
    leaving: false,
    remindSuccessor: false,
    onlyListedPeers: true,
    ttlCheck: true,
    firstAddressLinkLocal: true,
    addressListCheck: version === 2,
    intervalCheck: false,
    oldUnicastChecksum: false,
    assertOnLower: version === 3,
    assertSpacing: millis(0),
    priorityZeroFromActiveOnly: false,
    advertisePriorityChange: false,
    groupTie: false,
  }
}

/** Converts the settings of a profile to parameters of a router. An extension that is off gets no option. */
export function optionsOf(knobs: Knobs, version: 2 | 3): Pick<Parameters, 'checksum' | 'reception' | 'extensions'> {
  const { checksum, checksumAccepted, onlyListedPeers, ttlCheck, firstAddressLinkLocal } = knobs
  const { addressListCheck, intervalCheck, oldUnicastChecksum } = knobs
  const competingActive = competingOptions(knobs, version)
  const on: Required<Omit<ExtensionOptions, 'competingActive'>> = {
    fastPreempt: knobs.fastPreempt,
    lastAdvertisement: knobs.lastAdvertisement,
    gracePeriod: knobs.keepUntilClaimed,
    silentActive: knobs.probeRivals,
    duplicateDetection: knobs.radar,
    stagger: knobs.stagger,
    leaving: knobs.leaving,
    succession: knobs.remindSuccessor,
    releaseOfActive: knobs.priorityZeroFromActiveOnly,
    advertiseChange: knobs.advertisePriorityChange,
    groupTie: knobs.groupTie,
  }
  return {
    checksum,
    reception: {
      ...{ checksumAccepted, onlyListedPeers, ttlCheck, firstAddressLinkLocal },
      ...{ addressListCheck, intervalCheck, oldUnicastChecksum },
    },
    extensions: {
      ...Object.fromEntries(Object.entries(on).filter(([, isOn]) => isOn)),
      ...defined({ competingActive }),
    },
  }
}

/**
 * Returns the options for a competing Active. `undefined` means the behaviour of the RFC: version 3 answers each
 * advertisement, version 2 answers none (RFC 3768).
 */
function competingOptions(knobs: Knobs, version: 2 | 3): CompetingOptions | undefined {
  const { announceOnRival: announces, assertOnLower: answers, assertSpacing: spacing } = knobs
  return !announces && spacing === 0 && answers === (version === 3) ? undefined : { answers, spacing, announces }
}
