/**
 * Computes how long a simulated fault may keep two nodes, or none, answering, for any number of nodes, priorities and
 * intervals. For a fault on a keepalived node, the limits are those that keepalived itself causes. Pure. This file does
 * not know which node answered.
 */
import { STARTS } from '../../src/simulator/node/machine.ts'
import type { Fault, FaultKind, NodeSpec, Scenario } from '../../src/simulator/scenario.ts'
import {
  type Accident,
  type Bound,
  boundOf as boundOfAccident,
  type Circumstances,
  complete,
  type Derived,
  forced,
  type Limits,
  lifetimeOf,
  limit,
  quietOf as quietIn,
  stepsIn,
} from '../judge/bounds.ts'

/**
 * Longest hand-over in milliseconds: as in a lab (25), with timers that fire up to 2 ms late at both nodes and on the
 * way.
 */
export const HANDOVER = 30
/**
 * Milliseconds after a packet of the losing Active until the winner announces again
 * (src/vrrp/extensions/competing-active.ts).
 */
const LAST_WORD = 50
/**
 * Milliseconds until a client gives up a node that does not answer (witness.ts). The client then asks for another node
 * within a second.
 */
const GIVEN_UP = 9_000
/** Milliseconds until a restarted VRRP process of keepalived looks at its addresses (keepalived-node.ts). */
const RESPAWN = 100
/** Milliseconds between two questions of a unicast router for another holder of the address (docs/adr/0007). */
const ASKED_EVERY = 45

/** Milliseconds between two repeated announcements: 200 a second (docs/architecture.md, Protocol decisions). */
const PACE = 5
/**
 * First announcements: number that is sent together, and ms between the others (2 000 a second). Third value: ms that a
 * leaving node waits for them at most (vrrp/extensions/leaving.ts).
 */
const [AT_ONCE, FIRST_PACE, LONGEST_WAIT] = [256, 0.5, 100]

const ACCIDENTS: Readonly<Record<FaultKind, Accident>> = {
  'crash engine': 'engine dies',
  'crash guardian': 'guardian dies',
  'crash both': 'both die',
  'power off': 'link gone',
  stop: 'leaves',
  'freeze engine': 'engine stops',
  'freeze guardian': 'guardian stops',
  'freeze both': 'both stop',
  pause: 'paused',
  suspend: 'paused',
  'link down': 'link gone',
  'cut off': 'cut off',
  'routers parted': 'routers parted',
  deaf: 'deaf',
  mute: 'mute',
  'deaf to VRRP': 'deaf to VRRP',
  'mute in VRRP': 'mute in VRRP',
  loss: 'loss',
  delay: 'delay',
  duplicates: 'exchange',
  'clock step': 'exchange',
  'service down': 'exchange',
  'VIP deleted': 'address deleted',
  demoted: 'exchange',
  yield: 'hands over',
}
const ASTRAY: ReadonlySet<FaultKind> = new Set(['loss', 'delay'])
const DIVIDING: ReadonlySet<FaultKind> = new Set([
  ...(['routers parted', 'deaf', 'mute', 'deaf to VRRP', 'mute in VRRP', 'cut off', 'pause', 'suspend'] as const),
  ...ASTRAY,
])
/** Kinds of faults after which the node sends no priority 0, or no other node receives it. */
const SILENT: ReadonlySet<FaultKind> = new Set([
  ...(['power off', 'link down', 'crash both', 'freeze both', 'pause', 'suspend', 'cut off'] as const),
  ...(['mute', 'mute in VRRP', ...ASTRAY] as const),
])

/**
 * Facts of a scenario on which its limits depend. `keepalived`: names of the nodes that run keepalived. `unicast`: true
 * if at least one router uses unicast.
 */
export type Facts = Pick<
  Circumstances,
  'interval' | 'skew' | 'down' | 'stagger' | 'lifetime' | 'pacing' | 'unannounced'
> & { readonly keepalived: ReadonlySet<string>; readonly unicast: boolean }

/**
 * Returns the facts of a scenario. `interval`: in ms. `lowest`: the lowest priority that a node can have. `addresses`:
 * number of virtual addresses of a node.
 */
export function factsOf(specs: readonly NodeSpec[], interval: number, lowest: number, addresses: number): Facts {
  const others = specs.length - 1
  const skew = ((256 - lowest) * interval) / 256
  const down = 3 * interval + skew
  return {
    ...{ interval, skew, down, lifetime: lifetimeOf(down), pacing: PACE * addresses },
    stagger: others * Math.min(3, interval / (2 * Math.max(1, others))),
    unannounced: Math.min(LONGEST_WAIT, Math.max(0, addresses - AT_ONCE) * FIRST_PACE),
    keepalived: new Set(specs.filter(({ daemon }) => daemon === 'keepalived').map(({ name }) => name)),
    unicast: specs.some(({ config }) => routersIn(config).some(({ transport }) => transport !== undefined)),
  }
}

/**
 * Returns the circumstances of these faults. The client's neighbour entry may be wrong until the client gives up the
 * node in it. The entry is wrong if a node goes while another node is Active that does not know of it and has no reason
 * to announce. A wrong entry also occurs with two keepalived nodes. If equal keepalived nodes take over together, they
 * announce immediately and again only after 5 s, and the loser sends nothing. A single keepalived node yields without a
 * packet, even to a unicast router that has not asked for the holder before.
 */
export function circumstancesOf(facts: Facts, faults: readonly Fault[]): Circumstances & Facts {
  const astray = faults.some(({ kind }) => ASTRAY.has(kind))
  const delay = faults.reduce((most, { kind, amount = 0 }) => (kind === 'delay' ? Math.max(most, amount) : most), 0)
  const divided = faults.some((one) => faults.some((other) => other !== one && divides(one, other, facts)))
  const unasked = facts.keepalived.size > 0 && facts.unicast && facts.interval < ASKED_EVERY
  const silent = unasked || facts.keepalived.size > 1
  return {
    ...{ ...facts, astray, delay, handover: HANDOVER, lastWord: LAST_WORD, misled: forced(GIVEN_UP) },
    ...{ resolves: 0, losers: true, unheard: astray || divided, givenUp: divided || silent ? GIVEN_UP : 0 },
  }
}

/**
 * Returns true if one fault makes a node go while the other keeps two nodes Active. When the two receive each other
 * again and one of them advertises, the other announces (docs/adr/0007), so this case has a limit too.
 */
function divides(one: Fault, other: Fault, { down, stagger }: Facts): boolean {
  if (!DIVIDING.has(one.kind)) return false
  const [end, effect] = [one.at + one.ms, 2 * down + stagger]
  const apart = other.at > end + effect || one.at > other.at + other.ms + effect
  return !apart && (SILENT.has(other.kind) || ASTRAY.has(one.kind) || other.at < end)
}

/** Returns true if the fault happens to a node that runs keepalived. */
export const isNeighbour = ({ node }: Pick<Fault, 'node'>, { keepalived }: Facts): boolean =>
  node !== undefined && keepalived.has(node)

export function boundOf(fault: Pick<Fault, 'kind' | 'ms' | 'node'>, on: Circumstances & Facts): Bound {
  const own = isNeighbour(fault, on) ? NEIGHBOUR[fault.kind] : undefined
  if (own === undefined) return boundOfAccident(ACCIDENTS[fault.kind], on, fault.ms)
  return complete({ ...own({ ...on, ...stepsIn(on) }), source: 'docs/simulate.md: what keepalived forces' }, on)
}

type Limited = Omit<Derived, 'source'>

export const quietOf = (facts: Facts): Limits => quietIn(circumstancesOf(facts, []))

/**
 * Limits that keepalived causes for a fault on its own node (docs/simulate.md). If the VRRP process is stopped or
 * killed, the address stays until the process continues or is restarted. keepalived cannot leave without a gap. The
 * parent process restarts a killed VRRP process, which then removes the address. An address that another program has
 * removed returns with an election. All other behaviour is as on any other node.
 */
const NEIGHBOUR: Partial<Record<FaultKind, (on: Circumstances & ReturnType<typeof stepsIn>) => Limited>> = {
  'crash engine': ({ packet, settled }) => {
    return { two: limit(RESPAWN + packet), none: limit(settled), aftermath: RESPAWN + settled }
  },
  'crash both': ({ packet, settled }) => {
    return { two: forced(STARTS + packet), none: limit(settled), aftermath: STARTS + settled }
  },
  'freeze engine': ({ interval, led, one, packet }) => ({ two: forced(interval + packet), none: one, client: led }),
  'freeze both': ({ interval, led, one, packet }) => ({ two: forced(interval + packet), none: one, client: led }),
  'crash guardian': ({ one, released }) => ({ two: one, none: limit(released) }),
  stop: ({ one, released }) => ({ two: one, none: limit(released) }),
  'freeze guardian': ({ one }) => ({ two: one, none: one }),
  'VIP deleted': ({ one, settled }) => ({ two: one, none: limit(settled) }),
}

/** Returns the lowest priority that a node of the scenario can have at any time. */
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

/** Returns the longest advertisement interval of all routers of the scenario. */
export const intervalOf = ({ nodes }: Scenario): number =>
  Math.max(
    10,
    ...nodes.flatMap(({ config }) => routersIn(config).map(({ advertisementInterval }) => msOf(advertisementInterval))),
  )

function msOf(interval: unknown): number {
  const text = String(interval ?? '1s')
  return text.endsWith('ms') ? Number(text.slice(0, -2)) : Number(text.slice(0, -1)) * 1_000
}
