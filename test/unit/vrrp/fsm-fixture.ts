/**
 * A router for the tests of RFC 9568 §6.4: priority 128 at 1 s, so that Skew_Time is 500 ms and Active_Down_Interval
 * 3500 ms, with default values of every state. No expectation is computed here.
 */
import type { Absence, Event } from '../../../src/vrrp/event.ts'
import type { Parameters } from '../../../src/vrrp/parameters.ts'
import { type Knobs, optionsOf, type ProfileName, profileKnobs } from '../../../src/vrrp/profile.ts'
import type { Active, Backup, Initialize, Leaving, Returning } from '../../../src/vrrp/state.ts'
import { type Address, address } from '../../../src/wire/address.ts'
import { centis, millis } from '../../../src/wire/units.ts'

export const SELF = address('192.0.2.10')
/** Address that is above ours as an unsigned number in network order, although its text sorts before. */
export const ABOVE = address('192.0.2.100')
export const BELOW = address('192.0.2.9')
export const OTHER = address('192.0.2.50')
export const VIP = address('198.51.100.1')
export const VIP2 = address('198.51.100.2')
export const VIPS: readonly Address[] = [VIP, VIP2]

/** Skew_Time and Active_Down_Interval of priority 128 at 100 cs: (256 − 128) / 256 × 1 s, and 3 s more. */
export const SKEW = 500
export const DOWN = 3500

export const ms = millis

export function parameters(
  profile: ProfileName,
  overrides: Partial<Parameters> & { knobs?: Partial<Knobs> } = {},
): Parameters {
  const { knobs, version = 3, ...rest } = overrides
  return {
    vrid: 51,
    family: 'ipv4',
    version,
    priority: 128,
    advertisementInterval: centis(100),
    addresses: VIPS,
    preempt: true,
    preemptDelay: ms(0),
    minHold: ms(10_000),
    primaryAddress: SELF,
    transport: { mode: 'multicast', group: address('224.0.0.18') },
    peers: [],
    ...optionsOf({ ...profileKnobs(profile, version), ...knobs }, version),
    ...rest,
  }
}

export function initialize(overrides: Partial<Initialize> = {}): Initialize {
  return { name: 'Initialize', faults: [], stopped: true, ...overrides }
}

/** Entered at 0; no advertisement has arrived. */
export function backup(overrides: Partial<Backup> = {}): Backup {
  return {
    name: 'Backup',
    enteredAt: ms(0),
    activeAdverInterval: centis(100),
    activeDownAt: ms(DOWN),
    downReason: 'activeSilent',
    regularDownAt: undefined,
    active: undefined,
    holderChangedAt: undefined,
    preemptAt: undefined,
    extended: false,
    ...overrides,
  }
}

/** Since 0, next advertisement at 1000. */
export function active(overrides: Partial<Active> = {}): Active {
  return {
    name: 'Active',
    since: ms(0),
    adverAt: ms(1000),
    changeSentAt: undefined,
    asserted: [],
    announcedOverAt: undefined,
    ...overrides,
  }
}

/** Since 0, at 1 s advertisements without peers: until 2000, second priority 0 at 2. */
export function leaving(overrides: Partial<Leaving> = {}): Leaving {
  return {
    name: 'Leaving',
    reason: 'shutdown',
    until: ms(2000),
    repeatAt: ms(2),
    successor: undefined,
    stillAnswered: VIPS.map((vip) => ({ address: vip, offAt: undefined })),
    ...overrides,
  }
}

/** Away until 9000, then drained, and the addresses were asked for. */
export function returning(overrides: Partial<Returning> = {}): Returning {
  return { name: 'Returning', phase: 'probe', until: ms(9020), linkWasUp: true, ...overrides }
}

export function heard(source: Address, priority: number, at: number, interval = 100): Event {
  return {
    kind: 'advertisementReceived',
    source,
    advertisement: { version: 3, vrid: 51, priority, interval: centis(interval), addresses: VIPS },
    receivedAt: ms(at),
  }
}

export const tick: Event = { kind: 'deadlineReached', receptionLost: false }
export const tickAfterLoss: Event = { kind: 'deadlineReached', receptionLost: true }
export const startup: Event = { kind: 'startup' }
export const shutdown: Event = { kind: 'shutdown' }
export const yielded: Event = { kind: 'yield' }
export const linkDown: Event = { kind: 'faultRaised', fault: 'linkDown', canSend: false }
export const linkUp: Event = { kind: 'faultCleared', fault: 'linkDown' }
export const installFailed: Event = { kind: 'faultRaised', fault: 'addressInstallFailed', canSend: true }
export const announcementIn = (claimed: Address, at: number): Event => ({
  kind: 'announcementHeard',
  address: claimed,
  heardAt: ms(at),
})
export const answered = (other: Address, at: number): Event => ({
  kind: 'addressAnswered',
  address: other,
  heardAt: ms(at),
})
export const reached: Event = { kind: 'peerReached', peer: OTHER }
export const absent = (cause: Absence, linkWasUp = true): Event => ({ kind: 'absenceNoticed', cause, linkWasUp })
export const priorityFrom = (previous: number): Event => ({ kind: 'priorityChanged', previous })

export const PROFILES = ['rfc9568', 'holdfast'] as const
