/**
 * Bounds for each accident of a node or of the LAN: how long two nodes may answer, how long no node may answer, and how
 * long a client may get no answer. Every bound follows from RFC 9568 or from a page of docs/, and none from a
 * measurement. A suite supplies its circumstances, and names the accident of each of its faults. This file does not
 * know runs and results. Pure.
 */
import type { Question } from './outages.ts'

/**
 * A bound in milliseconds: `length` for one piece, and `after` for the part of it after the end of the accident. With
 * `forced`, the protocol requires the effect while the accident lasts, and `length` counts only the time outside of the
 * accident.
 */
export type Limit = { readonly length: number; readonly after: number; readonly forced?: boolean }
export type Limits = Readonly<Record<Question, Limit>>
/** Bounds of one accident. `aftermath`: time after its end in which the accident may still have an effect, ms. */
export type Bound = Limits & { readonly aftermath: number; readonly source: string }

export type Circumstances = {
  /** Advertisement interval, ms. */
  readonly interval: number
  /** Skew_Time and Active_Down_Interval of the last in line, ms (RFC 9568 §6.1). */
  readonly skew: number
  readonly down: number
  /** Rank × step of the last among equals (docs/profiles.md, `stagger`). */
  readonly stagger: number
  /** Lifetime of an address in the kernel, ms. */
  readonly lifetime: number
  /** Longest time of one exchange between two nodes on this machine, with timers and two readings of a clock, ms. */
  readonly handover: number
  /** Time after which a kernel asks again for a host that it could not resolve, ms. 0: this network has no such kernels. */
  readonly resolves: number
  /** If equal Backups take over together: time until the winner's announcement is the last one, ms. 0: there are no equals. */
  readonly lastWord: number
  /** Bound for a client that still uses an older holder because announcements were lost. */
  readonly misled: Limit
  /** A loser that still answers may be hit: its cleanup plan has a deadline of its own (docs/adr/0045). */
  readonly losers: boolean
  /** Longest delay of a packet. */
  readonly delay: number
  /** A single packet may be lost, or overtake another one. */
  readonly astray: boolean
  /**
   * Two nodes may be Active without receiving each other, or announce too late for a client to follow. The client gives
   * up after so long.
   */
  readonly givenUp: number
  /** A packet may be lost, or a node may go while two are Active: a clean leave is then as a silent death. */
  readonly unheard: boolean
  /** Repeats of announcements go one after the other: so long until the last address had its own. */
  readonly pacing: number
  /** First announcements beyond those that go together: a node that leaves answers until the last one. */
  readonly unannounced: number
}

/** Of an address in the kernel: Active_Down_Interval rounded up to a second, 2 s at least (docs/failures.md). */
export const lifetimeOf = (downMs: number): number => Math.max(2, Math.ceil(downMs / 1_000)) * 1_000
/** An address of a node without processes may stay so much longer: the kernel's coarse timer (docs/adr/0015). */
export const GRACE = 200
/** A dead or late engine's addresses are off by then (docs/performance.md, budgets). */
export const RELEASED = 50
/** Between two looks of guardian and engine at each other (docs/adr/0040). */
export const BEAT = 250
/** An engine leaves a guardian that was silent for this, or for half the lifetime (docs/failures.md). */
export const patienceOf = (lifetime: number): number => Math.max(1_000, lifetime / 2)
/** RFC 4861 §10 RetransTimer, and the same of Linux for ARP. */
export const RESOLVES_AGAIN = 1_000
/** This number of advertisements in a row is never lost: 0.3 ^ 12 < 1e-6. */
const EXCHANGES = 12
/** An address that another program removed is put back and announced immediately (docs/failures.md): by then. */
const INSTALLED = 10

export const limit = (length: number, after = length): Limit => ({ length, after })
export const forced = (after: number): Limit => ({ length: after, after, forced: true })
/** Not even one question. */
export const NEVER = limit(0)

/** No accident: one node may hand over to a better one, which advertises and then installs the address. */
export function quietOf({ handover, lastWord, pacing }: Circumstances): Limits {
  const one = limit(handover)
  return { two: one, none: one, client: limit(handover + lastWord + pacing) }
}

/** Times and limits of single steps in these circumstances. */
export function stepsIn(on: Circumstances) {
  const { astray, delay, down, handover, interval, lastWord, skew, stagger, unannounced, unheard } = on
  const packet = handover + 3 * delay
  // A silent death: the last in line waits for Active_Down_Interval.
  const settled = down + stagger + packet + (astray ? 3 * interval : 0)
  // Priority 0 moves the address after Skew_Time (RFC 9568 §6.4.2). If it is lost, the silence does.
  const released = astray ? settled : skew + stagger + packet
  return {
    ...{ packet, settled, released, left: unheard ? settled : released },
    one: limit(packet),
    /** Case: two Actives receive each other again. */
    healed: limit(interval + packet),
    /** A client follows the announcement, which needs no Active_Down_Interval. */
    led: limit(settled, lastWord + packet),
    /** A node that leaves answers until its successor is heard, unless it is not. */
    answering: limit(packet + unannounced),
    quietly: limit(unheard ? settled : packet),
  }
}

/** Input of a bound. `lasted`: milliseconds from the beginning to the end of the accident. */
type Given = Circumstances & ReturnType<typeof stepsIn> & { readonly lasted: number }
/** Bounds of an accident. If `client` is absent, `none` is the client's bound. If `aftermath` is absent, it ends when all has settled. */
export type Derived = Omit<Bound, 'client' | 'aftermath'> & { readonly client?: Limit; readonly aftermath?: number }

const CUT = 'RFC 9568 §6.1: Active_Down_Interval. Two until the next advertisement'
const cut = ({ healed, led, packet, settled }: Given): Derived => {
  return { two: healed, none: limit(settled, packet), client: led, source: CUT }
}
const deafToVrrp = ({ healed, led, one }: Given): Derived => ({
  ...{ two: forced(healed.after), none: one, client: led },
  source: 'forced: a Backup that receives no advertisement becomes Active beside the other',
})
const leaves = ({ answering, quietly }: Given): Derived => {
  return { two: answering, none: quietly, source: 'docs/failures.md: the node answers until its successor does' }
}

const BOUNDS = {
  'engine dies': ({ released }) => ({
    ...{ two: limit(RELEASED), none: limit(released) },
    source: 'docs/performance.md: off within 50 ms, moved after Skew_Time (priority 0, RFC 9568 §6.4.2)',
  }),
  'engine stops': ({ delay, handover, interval, losers, released }) => {
    const loser = losers ? Math.min(250, Math.max(70, 3 * interval)) + handover : 0
    return {
      ...{ two: limit(Math.max(RELEASED, loser) + delay), none: limit(released) },
      source: 'docs/performance.md: two for at most 50 ms. The guardian acts after 3 × interval',
    }
  },
  'both die': ({ lifetime, settled }) => ({
    ...{ two: limit(lifetime + GRACE), none: limit(settled), aftermath: lifetime + GRACE },
    source: 'RFC 9568 §6.1: Active_Down_Interval. The kernel drops the address (docs/failures.md)',
  }),
  'both stop': ({ lifetime, released, settled }) => ({
    two: limit(lifetime + GRACE, RELEASED),
    // A renewal is due at a third of the lifetime, so two thirds of it are sure.
    none: limit(Math.max(released, settled - (lifetime * 2) / 3)),
    source: 'docs/failures.md: the kernel drops the address. Back again, the guardian releases it',
  }),
  'guardian stops': ({ answering, lasted, left, lifetime, packet, settled, skew, stagger, unheard }) => {
    // The kernel drops what was renewed up to a third of the lifetime before.
    const dropped = lifetime / 3 + patienceOf(lifetime) + BEAT + skew + stagger - lifetime
    return {
      ...{ two: answering, none: unheard ? limit(settled) : limit(packet + Math.max(0, dropped)) },
      aftermath: Math.max(0, patienceOf(lifetime) + BEAT + left - lasted),
      source: 'docs/failures.md: silent for 1 s, and the engine leaves as at SIGTERM',
    }
  },
  'guardian dies': ({ answering, lasted, left, quietly }) => ({
    ...{ two: answering, none: quietly, aftermath: Math.max(0, BEAT - lasted) + left },
    source: 'docs/failures.md: the engine leaves as at SIGTERM within a quarter of a second',
  }),
  leaves,
  'hands over': leaves,
  exchange: ({ astray, one, settled }) => ({
    ...{ two: one, none: astray ? limit(settled) : one },
    source: 'one exchange at most moves the address',
  }),
  'not touched': () => ({ two: NEVER, none: NEVER, source: 'docs/performance.md: a reload loses nothing' }),
  'link gone': ({ one, settled }) => ({
    ...{ two: one, none: limit(settled) },
    source: 'RFC 9568 §6.1: no priority 0 can leave, so Active_Down_Interval',
  }),
  paused: ({ healed, lastWord, settled }) => {
    return { two: healed, none: limit(settled), client: limit(settled + lastWord), source: CUT }
  },
  'cut off': cut,
  mute: ({ healed, lastWord, packet, resolves, settled }) => {
    const again = resolves + packet
    const most = Math.max(settled, again)
    return {
      ...{ two: healed, none: limit(most, again), client: limit(most, again + lastWord), aftermath: most },
      source: `${CUT}. A kernel that could not resolve a host asks again after 1 s (RFC 4861 §10)`,
    }
  },
  'routers parted': ({ healed, lastWord, led, one }) => ({
    ...{ two: forced(healed.after), none: one, client: lastWord > 0 ? led : one },
    source: 'forced: each router reaches the clients and no other router',
  }),
  'mute in VRRP': deafToVrrp,
  'deaf to VRRP': deafToVrrp,
  deaf: ({ healed, interval, lastWord, packet }) => ({
    ...{ two: healed, none: forced(packet), client: forced(interval + lastWord + packet) },
    source: 'forced: the node advertises and receives no client',
  }),
  loss: ({ healed, interval, misled, one }) => ({
    ...{ two: limit(EXCHANGES * interval, healed.after), none: one, client: misled, aftermath: misled.after },
    source:
      'three lost in a row make two Actives until one of 12 arrives. IPv6 announces once a second (RFC 4861 §7.2.6)',
  }),
  delay: ({ healed, interval, packet }) => ({
    ...{ two: healed, none: limit(2 * packet), client: limit(2 * interval + packet) },
    source: 'RFC 9568 §6.1: what is late by less than Active_Down_Interval moves nothing',
  }),
  'address deleted': ({ one, packet }) => {
    return { two: one, none: limit(INSTALLED + packet), source: 'docs/failures.md: put back immediately' }
  },
  'no CPU': () => ({ two: limit(RELEASED), none: limit(RELEASED), source: 'both sides of an exchange are late' }),
  outranked: ({ one, settled }) => ({
    ...{ two: one, none: forced(settled) },
    source: 'forced: VRRP obeys priority 255 (docs/security.md), then Active_Down_Interval',
  }),
} satisfies Readonly<Record<string, (given: Given) => Derived>>

/** Every accident that can happen to a node or to the LAN, with the names that all suites use. */
export type Accident = keyof typeof BOUNDS

/** `lasted`: milliseconds from the beginning to the end of the accident. */
export function boundOf(accident: Accident, on: Circumstances, lasted: number): Bound {
  return complete(BOUNDS[accident]({ ...on, ...stepsIn(on), lasted }), on)
}

/** Adds the time that a client needs until it reaches a new holder. */
export function complete({ aftermath, client, ...rest }: Derived, on: Circumstances): Bound {
  const more = on.lastWord + on.pacing + on.givenUp
  const { after, length, ...kind } = client ?? rest.none
  return {
    ...rest,
    aftermath: Math.max(aftermath ?? stepsIn(on).settled, on.givenUp),
    client: { ...kind, length: length + more, after: after + more },
  }
}
