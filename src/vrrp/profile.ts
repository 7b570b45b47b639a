/**
 * The profiles: defaults for everything on which the RFC, its neighbours and safety disagree (docs/profiles.md). Here they are flat,
 * one configuration key each; `optionsOf` sorts them to the parts of the protocol that read them. Refuses to know what an
 * option does.
 */
import { type Millis, millis } from '../wire/units.ts'
import type { ChecksumForm, CompetingOptions, ExtensionOptions, Parameters, Reception } from './parameters.ts'

export type ProfileName = 'holdfast' | 'keepalived' | 'rfc9568'

/** The names are those of the configuration file. */
export type Knobs = Reception & {
  readonly checksum: ChecksumForm
  readonly fastPreempt: boolean
  readonly lastAdvertisement: boolean
  /** The grace period. */
  readonly keepUntilClaimed: boolean
  readonly announceOnRival: boolean
  /** Of a silent Active. */
  readonly probeRivals: boolean
  /** Duplicate detection. */
  readonly radar: boolean
  readonly stagger: boolean
  readonly leaving: boolean
  /** Succession. */
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
 * The defaults of each profile. `assertOnLower` of rfc9568 holds for version 3; RFC 3768 (version 2) is silent.
 * `addressListCheck` is the other way round: RFC 9568 §7.1 only logs another list.
 */
export function profileKnobs(profile: ProfileName, version: 2 | 3): Knobs {
  // Equal keepalived nodes take over together (docs/adr/0045); holdfast nodes do not, or tell each other.
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

/** Returns the part of the parameters that the keys make. An extension that is off has no option at all. */
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
      ...(competingActive === undefined ? {} : { competingActive }),
    },
  }
}

/** `undefined`: as the RFC has it, which answers each in version 3, and none in version 2 (RFC 3768). */
function competingOptions(knobs: Knobs, version: 2 | 3): CompetingOptions | undefined {
  const { announceOnRival: announces, assertOnLower: answers, assertSpacing: spacing } = knobs
  return !announces && spacing === 0 && answers === (version === 3) ? undefined : { answers, spacing, announces }
}
