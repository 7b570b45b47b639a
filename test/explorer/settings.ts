/**
 * Defines the explored settings of the three nodes: priorities, profile, faults. This file decides only which settings
 * are worth exploring.
 */
import { vrrpGroup } from '../../src/vrrp/packet.ts'
import type { Parameters } from '../../src/vrrp/parameters.ts'
import { optionsOf, type ProfileName, profileKnobs } from '../../src/vrrp/profile.ts'
import { address } from '../../src/wire/address.ts'
import { centis, millis } from '../../src/wire/units.ts'
import { type FaultKind, LONGEST_WAIT, type Setting, type Who } from './world.ts'

/**
 * Advertisement interval in ms, as on most LANs. The parts of this interval are multiples of a power of two, so that
 * sums are exact.
 */
const INTERVAL = 1_000
/** minHold in ms, shorter than the default of 10 s, so that stories are both shorter and longer than it. */
const MIN_HOLD = 2_000
const EVERYTHING: readonly FaultKind[] = [
  ...(['lose', 'delay', 'cut', 'wait', 'stall', 'crash', 'die', 'priority', 'yield', 'shutdown'] as const),
]
/** Addresses of the nodes. The last node has the highest address, which wins between equal priorities. */
const OWN = ['192.0.2.1', '192.0.2.2', '192.0.2.3'].map(address)
const VIRTUAL = address('192.0.2.100')

type Wanted = {
  readonly name: string
  readonly profile: ProfileName
  readonly priorities: readonly [number, number, number]
  readonly lowered: readonly [number, number, number]
  readonly version?: 2 | 3
  /** Advertisement interval of each node in ms; absent: INTERVAL. */
  readonly intervals?: readonly [number, number, number]
  readonly preempt?: boolean
  /** Preemption delay in ms; absent: none. */
  readonly preemptDelay?: number
  /** True if the configuration of each node lists the addresses of the others (stagger). */
  readonly peers?: boolean
  readonly boots?: boolean
  readonly claims?: boolean
  readonly large?: boolean
  readonly faults?: readonly FaultKind[]
}

function setting({ name, profile, priorities, lowered, version = 3, preempt = true, ...wanted }: Wanted): Setting {
  const { intervals = [INTERVAL, INTERVAL, INTERVAL], preemptDelay = 0, peers = false } = wanted
  const { boots = false, claims = false, large = false, faults = EVERYTHING } = wanted
  const knobs = profileKnobs(profile, version)
  const known = new Map<number, Parameters>()
  const build = (who: Who, priority: number): Parameters => ({
    vrid: 51,
    family: 'ipv4',
    version,
    priority,
    advertisementInterval: centis(intervals[who] / 10),
    addresses: [VIRTUAL],
    preempt,
    preemptDelay: millis(preemptDelay),
    minHold: millis(MIN_HOLD),
    primaryAddress: sourceOf(who),
    transport: { mode: 'multicast', group: vrrpGroup('ipv4') },
    peers: peers ? OWN.filter((_, other) => other !== who).map((other) => ({ address: other })) : [],
    ...optionsOf(knobs, version),
  })
  const [interval, shortest] = [Math.max(...intervals), Math.min(...intervals)]
  return {
    ...{ name, priorities, lowered, interval, preemptDelay, minHold: MIN_HOLD, faults, boots, large, claims },
    longestQueue: (LONGEST_WAIT * interval) / shortest,
    // After an answer to a competing sender, the same sender is answered again only after the spacing.
    exchange: Math.min(knobs.assertSpacing, shortest),
    parameters(who, priority) {
      const key = 256 * who + priority
      const parameters = known.get(key) ?? build(who, priority)
      known.set(key, parameters)
      return parameters
    },
  }
}

export function sourceOf(who: Who): Parameters['primaryAddress'] {
  const own = OWN[who]
  if (own === undefined) throw new Error(`Cannot find node ${who}`)
  return own
}

const DISTINCT = { priorities: [200, 150, 100], lowered: [90, 80, 70] } as const
const EQUAL = { priorities: [100, 100, 100], lowered: [50, 50, 50] } as const
/** Priorities with an address owner (255), whose priority never changes. */
const OWNER = { priorities: [255, 150, 100], lowered: [255, 90, 80] } as const
/**
 * Intervals with which the successor of the best node advertises more slowly than the last node's own
 * Active_Down_Interval. The last node has to learn the interval (RFC 9568 §6.4.2).
 */
const UNLIKE = { intervals: [500, 2_000, 500] } as const

export const SETTINGS: readonly Setting[] = [
  setting({ name: 'holdfast-distinct', profile: 'holdfast', ...DISTINCT }),
  setting({ name: 'holdfast-equal', profile: 'holdfast', ...EQUAL }),
  setting({ name: 'holdfast-equal-peers', profile: 'holdfast', ...EQUAL, peers: true }),
  setting({ name: 'holdfast-owner', profile: 'holdfast', ...OWNER }),
  setting({ name: 'holdfast-no-preempt', profile: 'holdfast', ...DISTINCT, preempt: false }),
  setting({ name: 'holdfast-preempt-delay', profile: 'holdfast', ...DISTINCT, preemptDelay: 2_500 }),
  setting({ name: 'holdfast-unlike', profile: 'holdfast', ...DISTINCT, ...UNLIKE }),
  setting({ name: 'holdfast-claims', profile: 'holdfast', ...DISTINCT, claims: true }),
  setting({ name: 'holdfast-equal-claims', profile: 'holdfast', ...EQUAL, claims: true, large: true }),
  setting({ name: 'holdfast-boot', profile: 'holdfast', ...EQUAL, boots: true }),
  setting({ name: 'keepalived-equal', profile: 'keepalived', ...EQUAL }),
  setting({ name: 'keepalived-v2', profile: 'keepalived', ...DISTINCT, version: 2 }),
  setting({ name: 'rfc9568-distinct', profile: 'rfc9568', ...DISTINCT }),
  setting({ name: 'rfc9568-equal', profile: 'rfc9568', ...EQUAL }),
  setting({ name: 'rfc9568-owner', profile: 'rfc9568', ...OWNER }),
  setting({ name: 'rfc9568-unlike', profile: 'rfc9568', ...DISTINCT, ...UNLIKE }),
]

export function settingCalled(name: string): Setting {
  const found = SETTINGS.find((each) => each.name === name)
  if (found === undefined) throw new Error(`Cannot find setting "${name}": have ${SETTINGS.map((each) => each.name)}`)
  return found
}
