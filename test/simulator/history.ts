/**
 * Makes a scenario from a seed. This file decides the size and configuration of LANs, the faults, and their duration
 * and overlap. After each fault there is a pause in which one holder can be observed. The code uses whole numbers only,
 * so that the result is the same on every machine.
 */

import { between, type Chance, lasting, pick, streamOf } from '../../src/simulator/chance.ts'
import { FAULT_KINDS, type Fault, type FaultKind, type NodeSpec, type Scenario } from '../../src/simulator/scenario.ts'
import { type Circumstances, GRACE, stepsIn } from '../judge/bounds.ts'
import { boundOf, circumstancesOf, type Facts, factsOf, isNeighbour } from './bounds.ts'

type Shape = { readonly nodes: number; readonly routers: number; readonly interval: number }

/**
 * Options of a history. `small`: three to five nodes with one or two routers each, for short runs. `peers`: which
 * histories have keepalived among their nodes; absent: one in five.
 */
export type HistoryOptions = { readonly small?: boolean; readonly peers?: 'some' | 'none' | 'all' }

/** Share of the histories in which some nodes run keepalived, by default. */
const WITH_PEERS = 0.2

/** Returns the size of a LAN: mostly that of real clusters, sometimes the largest allowed size. */
function shapeOf(chance: Chance, { small = false }: HistoryOptions): Shape {
  if (small) {
    const nodes = pick(chance, [3, 3, 3, 4, 5])
    return {
      nodes,
      routers: nodes === 3 ? between(chance, 1, 2) : 1,
      interval: pick(chance, [100, 100, 100, 20, 1_000]),
    }
  }
  const size = chance()
  const nodes =
    size < 0.75
      ? 3
      : size < 0.95
        ? between(chance, 4, 7)
        : size < 0.99
          ? between(chance, 8, 20)
          : between(chance, 21, 50)
  const many = chance()
  const routers =
    many < 0.65
      ? between(chance, 1, 2)
      : many < 0.93
        ? between(chance, 3, 8)
        : many < 0.99
          ? between(chance, 9, 60)
          : 255
  const most = Math.max(1, Math.min(routers, Math.floor(765 / nodes)))
  const load = nodes * most
  const interval =
    load <= 9 ? pick(chance, [100, 100, 100, 10, 20, 1_000]) : load <= 40 ? pick(chance, [100, 1_000]) : 1_000
  return { nodes, routers: most, interval }
}

const duration = (ms: number): string => (ms % 1_000 === 0 ? `${ms / 1_000}s` : `${ms}ms`)

export function historyOf(seed: number, options: HistoryOptions = {}): Scenario {
  const chance = streamOf(seed, 'history')
  const shape = shapeOf(chance, options)
  const nodes = withPeers(nodesOf(shape, chance), streamOf(seed, 'peers'), options)
  const faults = faultsOf(shape, nodes, chance)
  const { down, lifetime } = factsOf(nodes, shape.interval, 1, 2 * shape.routers)
  const last = Math.max(...faults.map(({ at, ms }) => at + ms))
  return {
    seed,
    lateness: pick(chance, [0, 1, 2]),
    nodes,
    faults,
    ms: Math.ceil(last + 6 * down + lifetime + GRACE + 10_000),
  }
}

function nodesOf({ interval, nodes: count, routers: routerCount }: Shape, chance: Chance): readonly NodeSpec[] {
  const hosts = Array.from({ length: count }, (_, i) => i + 1)
  const ladder = pick(chance, ['distinct', 'distinct', 'equal', 'mixed', 'checked'])
  const unicast = chance() < 0.4
  const hinted = chance() < 0.5
  const preempt = chance() < 0.8
  const minHold = pick(chance, ['0s', '1s', '10s'])
  const profile = pick(chance, ['holdfast', 'holdfast', 'holdfast', 'keepalived'])
  const families = pick(chance, ['ipv4', 'ipv4', 'ipv6', 'both'])
  const grouped = routerCount > 1 && chance() < 0.4
  const mixed = hosts.map(() => between(chance, 1, 25) * 10)
  const familyOf = (i: number) => (families === 'both' ? (i % 2 === 0 ? 'ipv4' : 'ipv6') : families)
  const ownOf = (host: number, family: string) => (family === 'ipv4' ? `192.0.2.${host}` : `fe80::${host.toString(16)}`)
  return hosts.map((host, position): NodeSpec => {
    const priorityFor = (router: number): number => {
      // The node with the highest priority differs from router to router, unless the routers form a sync group.
      const place = grouped ? position : (position + router) % count
      if (ladder === 'equal') return 100
      if (ladder === 'checked') return 40
      return ladder === 'mixed' ? (mixed[place] ?? 100) : Math.max(1, 250 - place * Math.floor(240 / count))
    }
    const virtualRouters = Array.from({ length: routerCount }, (_, i) => {
      const family = familyOf(i)
      const peers = hosts.filter((other) => other !== host).map((other) => ownOf(other, family))
      const vips =
        family === 'ipv4'
          ? [`198.51.100.${i + 1}/32`]
          : [`fe80::64:${(i + 1).toString(16)}`, `2001:db8::64:${(i + 1).toString(16)}`]
      return {
        ...{
          name: `r${i + 1}`,
          vrid: i + 1,
          interface: 'eth0',
          addresses: vips,
          priority: priorityFor(i),
          preempt,
          minHold,
          profile,
        },
        advertisementInterval: duration(interval),
        ...(unicast ? { transport: { unicast: { source: ownOf(host, family), peers } } } : hinted ? { peers } : {}),
        ...(ladder === 'checked' ? { track: [{ healthcheck: 'service', weight: 50 }] } : {}),
      }
    })
    const members = virtualRouters.map(({ name }) => name)
    const checks = [{ name: 'service', tcp: '127.0.0.1:6443', interval: '1s', fastInterval: '20ms', rise: 2, fall: 1 }]
    return {
      ...{ name: `n${host}`, addresses: [`192.0.2.${host}/24`, `fe80::${host.toString(16)}/64`] },
      drift: between(chance, -200, 200),
      startsAt: between(chance, 0, 1_500),
      config: {
        version: 1,
        ...(ladder === 'checked' ? { healthchecks: checks } : {}),
        virtualRouters,
        ...(grouped ? { syncGroups: [{ name: 'all', members: members.slice(0, 16) }] } : {}),
      },
    }
  })
}

/**
 * Makes one or two of the nodes keepalived nodes, never all of them. The choice has a random sequence of its own, so
 * that all other histories stay the same.
 */
function withPeers(
  nodes: readonly NodeSpec[],
  chance: Chance,
  { peers = 'some' }: HistoryOptions,
): readonly NodeSpec[] {
  const drawn = chance()
  if (peers === 'none' || (peers === 'some' && drawn >= WITH_PEERS)) return nodes
  const most = Math.min(2, nodes.length - 1)
  const first = between(chance, 0, nodes.length - 1)
  const second = (first + between(chance, 1, nodes.length - 1)) % nodes.length
  const chosen = new Set([first, ...(most > 1 && chance() < 0.5 ? [second] : [])])
  return nodes.map((node, i) => (chosen.has(i) ? asKeepalived(node) : node))
}

/**
 * Returns the node with a configuration that keepalived could have. keepalived has neither minHold nor a list of peers
 * for a multicast router.
 */
export function asKeepalived(node: NodeSpec): NodeSpec {
  const { virtualRouters } = node.config
  const routers = (Array.isArray(virtualRouters) ? virtualRouters : []).map((router) => {
    const { minHold: _, peers: __, ...rest } = router
    return { ...rest, profile: 'keepalived' }
  })
  return { ...node, daemon: 'keepalived', config: { ...node.config, virtualRouters: routers } }
}

/** Shortest and longest duration of each kind of fault, in ms. */
const LASTS: Partial<Record<FaultKind, readonly [number, number]>> = {
  'clock step': [0, 0],
  'VIP deleted': [0, 0],
  'crash engine': [50, 2_000],
  'crash both': [50, 4_000],
  'freeze engine': [20, 5_000],
  'freeze guardian': [20, 5_000],
  'freeze both': [20, 5_000],
  pause: [20, 5_000],
  suspend: [20, 5_000],
  loss: [500, 3_000],
  delay: [500, 3_000],
  duplicates: [500, 3_000],
  'service down': [20, 4_000],
}
/** Kinds of faults after which a node leaves. The node gets two seconds for that. */
const LEFT: ReadonlySet<FaultKind> = new Set(['crash guardian', 'freeze guardian', 'stop'])
const calmAfter = (fault: Fault, on: Circumstances & Facts): number =>
  LEFT.has(fault.kind) && !isNeighbour(fault, on)
    ? Math.max(0, 2_000 - fault.ms) + stepsIn(on).settled
    : boundOf(fault, on).aftermath
const OF_THE_LAN: ReadonlySet<FaultKind> = new Set(['loss', 'delay', 'duplicates'])

function faultsOf(
  { interval, nodes: count, routers }: Shape,
  nodes: readonly NodeSpec[],
  chance: Chance,
): readonly Fault[] {
  const facts = factsOf(nodes, interval, 1, 2 * routers)
  const checked = nodes.some(({ config }) => 'healthchecks' in config)
  const kinds = FAULT_KINDS.filter((kind) => kind !== 'service down' || checked)
  const weighted = (except?: string): string => {
    const free = nodes.filter(({ name }) => name !== except)
    // The first node is often the one with the highest priority.
    return (chance() < 0.5 ? free[0] : free[between(chance, 0, free.length - 1)])?.name ?? 'n1'
  }
  const faultAt = (at: number, except?: string): Fault => {
    const kind = kinds[between(chance, 0, kinds.length - 1)] ?? 'crash engine'
    const [from, to] = LASTS[kind] ?? [100, 2_500]
    // With a long advertisement interval, a short fault has no effect.
    const ms = to === 0 ? 0 : lasting(chance, from, Math.max(to, 5 * interval))
    const node = OF_THE_LAN.has(kind) ? {} : { node: weighted(except) }
    return { at, ms, kind, ...node, ...amountOf(kind, interval, chance) }
  }
  const faults: Fault[] = []
  let now = Math.ceil(2_000 + 3 * facts.down + 3 * facts.stagger)
  const total = between(chance, 3, 9)
  while (faults.length < total) {
    const first = faultAt(now)
    const both = count > 2 && chance() < 0.35
    const all = both ? [first, faultAt(now + between(chance, 0, 700), first.node)] : [first]
    faults.push(...all)
    // The pause does not last until a client gives up a node: the next fault may come before that.
    const circumstances = circumstancesOf(facts, all)
    const on = { ...circumstances, unheard: circumstances.astray, givenUp: 0 }
    const ends = all.map((fault) => fault.at + fault.ms + calmAfter(fault, on))
    now = Math.ceil(Math.max(...ends) + 2 * facts.down + between(chance, 300, 1_300))
  }
  return faults
}

function amountOf(kind: FaultKind, interval: number, chance: Chance): { readonly amount?: number } {
  switch (kind) {
    case 'loss':
      return { amount: between(chance, 5, 30) / 100 }
    case 'duplicates':
      return { amount: between(chance, 10, 100) / 100 }
    case 'delay':
      return { amount: between(chance, 1, Math.max(2, Math.floor(interval / 2))) }
    case 'clock step':
      return { amount: pick(chance, [1, -1, 1_000, -1_000]) * between(chance, 1, 3_600) }
    case 'demoted':
      return { amount: between(chance, 1, 254) }
    default:
      return {}
  }
}
