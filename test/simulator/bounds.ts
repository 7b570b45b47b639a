/**
 * What each fault may cost at most, derived as test/chaos/bounds.ts does from docs/performance.md, Budgets and RFC 9568 §6.1, for any number of
 * nodes, priorities and intervals. PURE. Every figure has its reason; none was measured. Refuses to know who answered.
 */

import { STARTS } from '../../src/simulator/machine.ts'
import type { Fault, FaultKind, NodeSpec, Scenario } from '../../src/simulator/scenario.ts'
import type { Question } from '../../src/simulator/spans.ts'

/** `length`: in one piece; `after`: of it behind the end of the fault; `forced`: as long as it lasts besides. */
export type Limit = { readonly length: number; readonly after: number; readonly forced?: boolean }
export type Bound = Readonly<Record<Question, Limit>> & {
  /** How long after its end it may have an effect. */
  readonly aftermath: number
}

/** What there is to derive them from. */
export type Circumstances = {
  readonly interval: number
  /** Of the last in line. */
  readonly skew: number
  readonly down: number
  /** Rank × step of the last in rank. */
  readonly stagger: number
  /** ms: valid_lft of the longest. */
  readonly lifetime: number
  /** A single packet may be lost, or overtake another. */
  readonly astray: boolean
  /** Two may be Active without hearing each other, and one of them goes without the other hearing of it. */
  readonly divided: boolean
  /** Repeats of announcements go one after the other: so long until the last address had its own. */
  readonly pacing: number
  /** First announcements beyond those that go at once: whoever leaves answers until it hears that of the last address. */
  readonly unannounced: number
  /**
   * Two of keepalived: of such equals that take over together each announces at once and again after 5 s only, and one that
   * loses to another says nothing, so the winner has no reason to announce. Or one, which yields in silence to a unicast router
   * that did not ask before this advertisement.
   */
  readonly silent: boolean
  /** Nodes that run keepalived. */
  readonly keepalived: ReadonlySet<string>
  /** Some router is. */
  readonly unicast: boolean
  readonly delay: number
}

/** As the chaos suite (25), with timers that fire up to 2 ms late at both ends and on the way. */
export const HANDOVER = 30
/** The winner of a duel has the last word so long after every packet of the loser (src/vrrp/extensions/competing-active.ts). */
const LAST_WORD = 50
/** Whoever answers nobody is given up by a client after so long (witness.ts), and asked for within a second. */
const GIVEN_UP = 9_000
const EXCHANGES = 12
/** keepalived's parent starts a VRRP process that has died, which looks at its addresses some 0.1 s later (keepalived-node.ts). */
const RESPAWN = 100
/** An address may stay so much longer than its lifetime: the kernel's coarse timer (docs/adr/0015). */
const GRACE = 200
/** Of guardian and engine: one more is waited for before a silence counts (src/daemon/guard/guardian-watch.ts). */
const BEAT = 250
/** Unicast routers do not ask more often who else has the address (docs/adr/0007). */
const ASKED_EVERY = 45

/** Repeated announcements are paced at 200 a second (docs/architecture.md, Protocol decisions). */
const PACE = 5
/** First ones go at once up to a number, the others at 2 000 a second; a leaver waits for none longer than so (vrrp/extensions/leaving.ts). */
const [AT_ONCE, FIRST_PACE, LONGEST_WAIT] = [256, 0.5, 100]
const DIVIDING: ReadonlySet<FaultKind> = new Set([
  ...([
    'routers parted',
    'deaf',
    'mute',
    'deaf to VRRP',
    'mute in VRRP',
    'cut off',
    'pause',
    'suspend',
    'loss',
  ] as const),
  'delay',
])
const ASTRAY: ReadonlySet<FaultKind> = new Set(['loss', 'delay'])
/** Who goes by it says nothing, or nobody hears it. */
const SILENT: ReadonlySet<FaultKind> = new Set([
  ...(['power off', 'link down', 'crash both', 'freeze both', 'pause', 'suspend', 'cut off'] as const),
  ...(['mute', 'mute in VRRP', ...ASTRAY] as const),
])

/** Of a history with these faults in force. */
export function circumstancesOf(facts: ScenarioFacts, faults: readonly Fault[]): Circumstances {
  const astray = faults.some(({ kind }) => ASTRAY.has(kind))
  const delay = faults.reduce((most, { kind, amount = 0 }) => (kind === 'delay' ? Math.max(most, amount) : most), 0)
  const divided = faults.some((one) => faults.some((other) => other !== one && divides(one, other, facts)))
  const unasked = facts.keepalived.size > 0 && facts.unicast && facts.interval < ASKED_EVERY
  return { ...facts, astray, delay, divided, silent: unasked || facts.keepalived.size > 1 }
}

/**
 * Whoever goes in the time in which two are Active. When they hear each other again and it says so, the other one announces
 * (docs/adr/0053): that has a bound like anything else.
 */
function divides(one: Fault, other: Fault, { down, stagger }: ScenarioFacts): boolean {
  if (!DIVIDING.has(one.kind)) return false
  const [end, effect] = [one.at + one.ms, 2 * down + stagger]
  const apart = other.at > end + effect || one.at > other.at + other.ms + effect
  return !apart && (SILENT.has(other.kind) || ASTRAY.has(one.kind) || other.at < end)
}

export type ScenarioFacts = Pick<
  Circumstances,
  'interval' | 'skew' | 'down' | 'stagger' | 'lifetime' | 'pacing' | 'unannounced' | 'keepalived' | 'unicast'
>

/** `interval` in ms, `lowest`: the lowest priority that anybody can have, `addresses`: of one node. */
export function factsOf(
  specs: readonly NodeSpec[],
  interval: number,
  lowest: number,
  addresses: number,
): ScenarioFacts {
  const nodes = specs.length
  const keepalived = new Set(specs.filter(({ daemon }) => daemon === 'keepalived').map(({ name }) => name))
  const skew = ((256 - lowest) * interval) / 256
  const down = 3 * interval + skew
  const step = Math.min(3, interval / (2 * Math.max(1, nodes - 1)))
  const lifetime = Math.max(2, Math.ceil(down / 1_000)) * 1_000 + GRACE
  const unannounced = Math.min(LONGEST_WAIT, Math.max(0, addresses - AT_ONCE) * FIRST_PACE)
  const stagger = (nodes - 1) * step
  const unicast = specs.some(({ config }) => routersIn(config).some(({ transport }) => transport !== undefined))
  return { interval, skew, down, stagger, lifetime, pacing: PACE * addresses, unannounced, keepalived, unicast }
}

/**
 * A client needs more than an owner: of equals that take over together the winner's announcement is the last word only after
 * LAST_WORD. And whose node goes, while another one is Active that knows nothing of it and so has no reason to announce, is
 * led astray until the next announcement, or until it gives up.
 */
export function boundOf(fault: Pick<Fault, 'kind' | 'ms' | 'node'>, on: Circumstances): Bound {
  const isNeighbour = fault.node !== undefined && on.keepalived.has(fault.node)
  const bound = isNeighbour ? neighbourBound(fault, on) : ownerBound(fault, on)
  const more = LAST_WORD + on.pacing + (on.divided || on.silent ? GIVEN_UP : 0)
  const { length, after, ...rest } = bound.client
  const aftermath = on.divided || on.silent ? Math.max(bound.aftermath, GIVEN_UP) : bound.aftermath
  return { ...bound, aftermath, client: { ...rest, length: length + more, after: after + more } }
}

/**
 * What keepalived forces where a fault hits its own node (docs/simulate.md). Nobody takes the address off a node whose process is
 * stopped or killed: that stays until it goes on, or is started again. It has none of the ways of leaving without a gap. A
 * killed VRRP process is started again by its parent, which takes the address off then; an address that somebody else took off
 * comes back with an election.
 */
function neighbourBound({ kind, ms }: Pick<Fault, 'kind' | 'ms'>, on: Circumstances): Bound {
  const packet = HANDOVER + 3 * on.delay
  const limit = (length: number, after = length): Limit => ({ length, after })
  const forced = (after: number): Limit => ({ length: after, after, forced: true })
  const one = limit(packet)
  const settled = on.down + on.stagger + packet + (on.astray ? 3 * on.interval : 0)
  const released = on.astray ? settled : on.skew + on.stagger + packet
  const led: Limit = { length: settled, after: LAST_WORD + packet }
  const as = (two: Limit, none: Limit, client = none, aftermath = settled): Bound => ({ two, none, client, aftermath })
  switch (kind) {
    case 'crash engine':
      return as(limit(RESPAWN + packet), limit(settled), undefined, RESPAWN + settled)
    case 'crash both':
      return as(forced(STARTS + packet), limit(settled), undefined, STARTS + settled)
    case 'freeze engine':
    case 'freeze both':
      return as(forced(on.interval + packet), one, led)
    case 'crash guardian':
    case 'stop':
      return as(one, limit(released))
    case 'freeze guardian':
      return as(one, one)
    case 'VIP deleted':
      return as(one, limit(settled))
    default:
      return ownerBound({ kind, ms }, on)
  }
}

function ownerBound({ kind, ms }: Pick<Fault, 'kind' | 'ms'>, on: Circumstances): Bound {
  const { interval, lifetime } = on
  const packet = HANDOVER + 3 * on.delay
  const limit = (length: number, after = length): Limit => ({ length, after })
  const forced = (after: number): Limit => ({ length: after, after, forced: true })
  const one = limit(packet)
  const settled = on.down + on.stagger + packet + (on.astray ? 3 * interval : 0)
  // Priority 0 moves it after Skew_Time; when that is lost, or overtaken, its silence does.
  const released = on.astray ? settled : on.skew + on.stagger + packet
  const loserFrozen = Math.min(250, Math.max(70, 3 * interval))
  const healed = limit(interval + packet)
  const led: Limit = { length: settled, after: LAST_WORD + packet }
  const as = (two: Limit, none: Limit, client = none, aftermath = settled): Bound => ({ two, none, client, aftermath })
  switch (kind) {
    case 'crash engine':
      return as(limit(50), limit(released))
    case 'freeze engine':
      // Or a loser that still answered (docs/adr/0045): its will has a deadline of its own.
      return as(limit(Math.max(50, loserFrozen + HANDOVER) + on.delay), limit(released))
    case 'freeze both':
      // Renewed every third of it: with an interval of 1 s the lifetime may end before the successor acts.
      return as({ length: lifetime, after: 50 }, limit(Math.max(released, settled - ((lifetime - GRACE) * 2) / 3)))
    case 'freeze guardian': {
      // It leaves when that has been silent for half a lifetime (docs/architecture.md). The kernel drops what was renewed last, which may
      // have been a third of it before: with 1 s that is sooner than the Skew_Time of the next one is over.
      const valid = lifetime - GRACE
      const dropped = valid / 3 + Math.max(1_000, valid / 2) + BEAT + on.skew + on.stagger - valid
      const none = on.astray || on.divided ? settled : packet + Math.max(0, dropped)
      return as(limit(packet + on.unannounced), limit(none), undefined, Math.max(0, 2_000 - ms) + settled)
    }
    case 'crash guardian':
    case 'stop':
      // It leaves cleanly: no address goes before the successor is heard, unless nobody hears of it.
      return as(
        limit(packet + on.unannounced),
        on.astray || on.divided ? limit(settled) : one,
        undefined,
        Math.max(0, 2_000 - ms) + settled,
      )
    case 'crash both':
      return as(limit(lifetime), limit(settled), undefined, lifetime)
    case 'power off':
    case 'link down':
      return as(one, limit(settled))
    case 'pause':
    case 'suspend':
      return as(healed, limit(settled), limit(settled + LAST_WORD))
    case 'cut off':
      return as(healed, limit(settled, packet), led)
    case 'mute':
      return as(healed, limit(settled, packet), led)
    case 'routers parted':
      return as(forced(healed.after), one, led)
    case 'deaf':
      return as(healed, forced(packet), forced(interval + LAST_WORD + packet))
    case 'deaf to VRRP':
    case 'mute in VRRP':
      return as(forced(healed.after), one, led)
    case 'loss':
      return as({ length: EXCHANGES * interval, after: healed.after }, one, forced(GIVEN_UP), GIVEN_UP)
    case 'delay':
      return as(limit(interval + packet), limit(2 * packet), limit(2 * interval + packet), settled)
    case 'VIP deleted':
      return as(one, limit(10 + packet))
    case 'yield':
      return as(limit(packet + on.unannounced), on.astray ? limit(settled) : one)
    case 'demoted':
    case 'service down':
    case 'clock step':
    case 'duplicates':
      return as(one, on.astray ? limit(settled) : one)
  }
}

/** No fault: one node may hand over to a better one. */
export const quietOf = ({ pacing }: Circumstances): Readonly<Record<Question, Limit>> => ({
  two: { length: HANDOVER, after: HANDOVER },
  none: { length: HANDOVER, after: HANDOVER },
  client: { length: HANDOVER + LAST_WORD + pacing, after: HANDOVER + LAST_WORD + pacing },
})

/** The lowest priority that a node of it can ever have. */
export function lowestPriority({ faults, nodes }: Scenario): number {
  const demoted = faults.flatMap(({ amount, kind }) =>
    kind === 'yield' ? [1] : kind === 'demoted' ? [amount ?? 1] : [],
  )
  const bases = nodes.flatMap(({ config }) => prioritiesIn(config))
  return Math.min(254, ...demoted, ...bases)
}

type RouterDocument = Readonly<Record<string, unknown>>

const routersIn = ({ virtualRouters }: Readonly<Record<string, unknown>>): readonly RouterDocument[] =>
  Array.isArray(virtualRouters) ? virtualRouters : []

const prioritiesIn = (config: Readonly<Record<string, unknown>>): readonly number[] =>
  routersIn(config).flatMap(({ priority }) => (typeof priority === 'number' ? [priority] : []))
