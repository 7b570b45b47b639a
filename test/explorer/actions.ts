/**
 * Computes everything that can happen next in a world of three nodes, each event as a line of text, and the world after
 * each event. The state machine is the real one, or a wrong state machine for the explorer to find. Around the state
 * machine is a small part of the daemon: it checks whether it was absent, and reads its receive queue before it handles
 * a deadline.
 */
import type { Effect } from '../../src/vrrp/effect.ts'
import type { Event } from '../../src/vrrp/event.ts'
import { extendedStep as step } from '../../src/vrrp/extensions/index.ts'
import { wasSilentTooLong } from '../../src/vrrp/extensions/returning.ts'
import { isOwner } from '../../src/vrrp/parameters.ts'
import { INITIAL_STATE, nextDeadline } from '../../src/vrrp/state.ts'
import { activeDownInterval } from '../../src/vrrp/timers.ts'
import { advertisementOf } from '../../src/vrrp/transmit.ts'
import type { Millis } from '../../src/wire/units.ts'
import { later, type Machine, NOW, nodeStep } from './node-step.ts'
import { lengthened, withOverlaps } from './overlap.ts'
import { sourceOf } from './settings.ts'
import {
  EVERYBODY,
  isAwake,
  LONGEST_WAIT,
  type Message,
  type Node,
  placeOf,
  type Queued,
  replaced,
  type Said,
  type Setting,
  type Who,
  type World,
} from './world.ts'

export const ENGINE: Machine = step

type OfMessage = 'deliver' | 'claim' | 'lose' | 'delay' | 'cut' | 'mend'
type OfNode = 'expire' | 'wake' | 'restart' | 'stall' | 'crash' | 'die' | 'priority' | 'yield' | 'shutdown'
export type Action =
  | { readonly kind: OfMessage; readonly from: Who; readonly to: Who }
  | { readonly kind: OfNode; readonly who: Who }
  /** The clock advances by half of the time to the next deadline, so that another event can happen before the deadline. */
  | { readonly kind: 'wait' }

export function beginning(setting: Setting, faults: number): World {
  const node = (priority: number): Node => ({
    ...{ running: false, stalled: false, priority, state: INITIAL_STATE, holds: false, queue: [] },
  })
  const [a, b, c] = setting.priorities
  const nobody = [undefined, undefined, undefined]
  return { nodes: [node(a), node(b), node(c)], wire: [], cut: [], reigns: nobody, answers: nobody, faults }
}

/**
 * Returns the ms until the node's next deadline; `undefined` for a node without a deadline or while the node is
 * stalled.
 */
export const dueOf = (node: Node): Millis | undefined => (isAwake(node) ? nextDeadline(node.state) : undefined)

export function nextDue(world: World): number {
  return Math.min(...world.nodes.map((node) => dueOf(node) ?? Number.POSITIVE_INFINITY))
}

const isClaim = ({ said: { kind } }: Pick<Message, 'said'>): boolean => kind === 'claim'
/** Returns the kind of action with which the message arrives. */
export const arrivalOf = (message: Message): 'deliver' | 'claim' => (isClaim(message) ? 'claim' : 'deliver')
/**
 * Returns the position of the message in the sorted wire. Messages with the same position stay in the order of sending.
 */
const rankOf = (message: Pick<Message, 'from' | 'to' | 'said'>): number =>
  2 * placeOf(message) + Number(isClaim(message))

function isOverdue({ queue }: Node, { interval, longestQueue }: Setting): boolean {
  const [oldest] = queue
  return queue.length >= longestQueue || (oldest !== undefined && 0 - oldest.receivedAt >= LONGEST_WAIT * interval)
}

/**
 * Returns the messages that can arrive next: for each pair of nodes, the oldest message and the oldest claim. Claims
 * are separate, because another socket receives them.
 */
function arrivals({ wire }: World): Message[] {
  return wire.filter((one, i) => {
    const before = wire[i - 1]
    return !one.held && (before === undefined || rankOf(before) !== rankOf(one))
  })
}

/**
 * Returns every action that can happen next in the world. Faults are among them only while the world has faults left.
 */
export function possible(world: World, setting: Setting): Action[] {
  const actions: Action[] = []
  const may = (kind: Setting['faults'][number]) => world.faults > 0 && setting.faults.includes(kind)
  const arriving = arrivals(world)
  for (const message of arriving) {
    const { from, to } = message
    actions.push({ kind: arrivalOf(message), from, to })
    if (isClaim(message)) continue
    if (may('lose')) actions.push({ kind: 'lose', from, to })
    if (may('delay')) actions.push({ kind: 'delay', from, to })
  }
  const next = nextDue(world)
  // An action without duration comes before time passes.
  const overdue = world.nodes.some((node) => isOverdue(node, setting))
  const passes = arriving.every(isClaim) && next > 0 && next < Number.POSITIVE_INFINITY && !overdue
  if (passes && may('wait')) actions.push({ kind: 'wait' })
  for (const from of EVERYBODY) {
    for (const to of EVERYBODY) {
      if (from === to) continue
      if (world.cut.includes(placeOf({ from, to }))) actions.push({ kind: 'mend', from, to })
      else if (may('cut')) actions.push({ kind: 'cut', from, to })
    }
  }
  for (const who of EVERYBODY) {
    const node = world.nodes[who]
    const { priority, running, stalled, state } = node
    if (!running) {
      actions.push({ kind: 'restart', who })
      continue
    }
    if (stalled) actions.push({ kind: 'wake', who })
    const due = dueOf(node)
    if (due !== undefined && due <= Math.max(next, 0) && (passes || due <= 0)) actions.push({ kind: 'expire', who })
    if (may('crash')) actions.push({ kind: 'crash', who })
    // For a node without the address, `die` has the same effect as a crash.
    if (may('die') && node.holds) actions.push({ kind: 'die', who })
    if (stalled) continue
    if (may('stall')) actions.push({ kind: 'stall', who })
    if (may('priority') && otherPriority(setting, who, priority) !== priority) actions.push({ kind: 'priority', who })
    const owner = isOwner(setting.parameters(who, priority))
    if (may('yield') && state.name === 'Active' && !owner) actions.push({ kind: 'yield', who })
    if (may('shutdown') && node.holds) actions.push({ kind: 'shutdown', who })
  }
  return actions
}

const FREE: readonly Action['kind'][] = ['deliver', 'claim', 'expire', 'wake', 'mend', 'restart']
export const isFault = ({ kind }: Action): boolean => !FREE.includes(kind)

/**
 * Returns the priority to which a node changes: its lowered priority, or its configured one if the priority is lowered
 * or 1 (a yield).
 */
function otherPriority({ lowered, priorities }: Setting, who: Who, priority: number): number {
  return priority === priorities[who] ? lowered[who] : priorities[who]
}

/** Returns the world after `action`, which must be one of the possible actions. */
export function after(world: World, action: Action, setting: Setting, machine: Machine): World {
  const paid = isFault(action) ? { ...world, faults: world.faults - 1 } : world
  const next = happen(paid, action, setting, machine)
  return withOverlaps(next, action.kind === 'lose' ? action : undefined)
}

function happen(world: World, action: Action, setting: Setting, machine: Machine): World {
  if (action.kind === 'wait') return elapse(world, nextDue(world) / 2, setting)
  if (action.kind === 'mend') return { ...world, cut: world.cut.filter((place) => place !== placeOf(action)) }
  if (action.kind === 'cut') {
    return { ...world, cut: [...world.cut, placeOf(action)].sort((one, other) => one - other) }
  }
  if ('from' in action) {
    const index = world.wire.findIndex(
      (each) => each.from === action.from && each.to === action.to && isClaim(each) === (action.kind === 'claim'),
    )
    const message = world.wire[index]
    if (message === undefined) throw new Error(`Cannot ${describe(action)}: there is no such message`)
    if (action.kind === 'delay') {
      return { ...world, wire: world.wire.map((each, i) => (i === index ? { ...each, held: true } : each)) }
    }
    const rest = { ...world, wire: world.wire.filter((_, i) => i !== index) }
    return action.kind === 'lose' ? rest : receive(rest, message, setting, machine)
  }
  const { who } = action
  const node = world.nodes[who]
  const take = (event: Event) => post(world, who, event, setting, machine)
  switch (action.kind) {
    case 'expire':
      return expire(elapse(world, Math.max(0, dueOf(node) ?? 0), setting), who, setting, machine)
    case 'wake':
      return wake(world, who, setting, machine)
    case 'restart': {
      const fresh = { ...node, running: true, priority: setting.priorities[who] }
      return post({ ...world, nodes: replaced(world, who, fresh) }, who, { kind: 'startup' }, setting, machine)
    }
    case 'stall':
      return { ...world, nodes: replaced(world, who, { ...node, stalled: true }) }
    case 'crash':
      return gone(world, who)
    case 'die':
      // The guardian removes the addresses and sends priority 0 in the node's name. For a router in its grace period
      // the real guardian sends none, so the model allows more than can happen.
      return gone({ ...world, wire: sent(world, who, 0) }, who)
    case 'priority': {
      const priority = otherPriority(setting, who, node.priority)
      const told = { ...world, nodes: replaced(world, who, { ...node, priority }) }
      return post(told, who, { kind: 'priorityChanged', previous: node.priority }, setting, machine)
    }
    case 'yield': {
      const told = { ...world, nodes: replaced(world, who, { ...node, priority: 1 }) }
      return post(told, who, { kind: 'yield' }, setting, machine)
    }
    case 'shutdown':
      return take({ kind: 'shutdown' })
  }
}

function gone(world: World, who: Who): World {
  const off: Node = {
    ...world.nodes[who],
    ...{ running: false, stalled: false, state: INITIAL_STATE, holds: false, queue: [] },
  }
  return { ...world, nodes: replaced(world, who, off), wire: world.wire.filter(({ to }) => to !== who) }
}

/**
 * Lets `ms` milliseconds pass for every node. Delayed messages can arrive after that. A claim that no node has read is
 * lost.
 */
function elapse(world: World, ms: number, setting: Setting): World {
  if (ms === 0) return world
  const [a, b, c] = world.nodes
  return {
    ...world,
    nodes: [later(a, ms, setting), later(b, ms, setting), later(c, ms, setting)],
    wire: world.wire.filter((each) => !isClaim(each)).map((each) => (each.held ? { ...each, held: false } : each)),
    reigns: lengthened(world, world.reigns, ms),
    answers: lengthened(world, world.answers, ms),
  }
}

function expire(world: World, who: Who, setting: Setting, machine: Machine): World {
  const { priority, state } = world.nodes[who]
  const late = 0 - (nextDeadline(state) ?? 0)
  const { advertisementInterval, version } = setting.parameters(who, priority)
  const listens = state.name === 'Backup' || state.name === 'Leaving'
  const interval = state.name === 'Backup' ? state.activeAdverInterval : advertisementInterval
  // The node was stalled for longer than its Active_Down_Interval (ground rule 2: a waiting packet counts).
  const receptionLost = listens && late > activeDownInterval(priority, interval, version)
  return post(world, who, { kind: 'deadlineReached', receptionLost }, setting, machine)
}

/**
 * Wakes a node: checks whether it was absent, then reads its receive queue, then handles its deadlines (ground rules 2
 * and 3).
 */
function wake(world: World, who: Who, setting: Setting, machine: Machine): World {
  const node = world.nodes[who]
  let next: World = { ...world, nodes: replaced(world, who, { ...node, stalled: false, queue: [] }) }
  if (wasSilentTooLong(node.state, setting.parameters(who, node.priority), NOW)) {
    next = post(next, who, { kind: 'absenceNoticed', cause: 'stalled', linkWasUp: true }, setting, machine)
  }
  for (const queued of node.queue) next = hear(next, who, queued, setting, machine)
  const due = dueOf(next.nodes[who])
  return due !== undefined && due <= 0 ? expire(next, who, setting, machine) : next
}

function receive(world: World, { from, to, said }: Message, setting: Setting, machine: Machine): World {
  const node = world.nodes[to]
  const queued: Queued = { from, said, receivedAt: NOW }
  if (!node.stalled) return hear(world, to, queued, setting, machine)
  return { ...world, nodes: replaced(world, to, { ...node, queue: [...node.queue, queued] }) }
}

function hear(world: World, who: Who, { from, said, receivedAt }: Queued, setting: Setting, machine: Machine): World {
  const spoken = setting.parameters(from, setting.priorities[from])
  if (said.kind === 'advertisement') {
    const advertisement = advertisementOf(spoken, said.priority)
    const source = sourceOf(from)
    return post(world, who, { kind: 'advertisementReceived', source, advertisement, receivedAt }, setting, machine)
  }
  const [address] = spoken.addresses
  if (address === undefined) throw new Error('a router has an address')
  const kind = said.kind === 'claim' ? 'announcementHeard' : 'addressAnswered'
  return post(world, who, { kind, address, heardAt: receivedAt }, setting, machine)
}

/** Runs one step of the node's state machine, and then its effects in their order. */
function post(world: World, who: Who, event: Event, setting: Setting, machine: Machine): World {
  if (!world.nodes[who].running) return world
  const { node, says } = nodeStep(world.nodes[who], who, event, setting, machine)
  let { wire } = world
  for (const effect of says) wire = said({ ...world, wire }, who, effect, setting)
  const nodes = replaced(world, who, node)
  return { ...world, nodes, wire: node.running ? wire : wire.filter(({ to }) => to !== who) }
}

function said(world: World, who: Who, effect: Effect, { claims }: Setting): World['wire'] {
  if (effect.kind === 'sendAdvertisement') return sent(world, who, effect.priority)
  if (effect.kind === 'announce' && claims) {
    return receivers(world, who)
      .filter((to) => minds(world.nodes[to]))
      .reduce((wire, to) => queued(wire, who, to, { kind: 'claim' }), world.wire)
  }
  if (effect.kind !== 'probeAddresses') return world.wire
  // The kernel of a node also answers while the process of the node is stalled.
  const holders = EVERYBODY.filter(
    (other) => other !== who && world.nodes[other].holds && !world.cut.includes(placeOf({ from: other, to: who })),
  )
  return holders.reduce((wire, from) => queued(wire, from, who, { kind: 'answer' }), world.wire)
}

/**
 * Returns true if a claim has an effect on the node. A Backup without the address would have to become Active and leave
 * again before a claim has an effect.
 */
const minds = ({ state }: Node): boolean => state.name !== 'Backup' || state.stillAnswered !== undefined

const receivers = ({ cut, nodes }: World, from: Who): readonly Who[] =>
  EVERYBODY.filter((to) => to !== from && nodes[to].running && !cut.includes(placeOf({ from, to })))

function sent(world: World, from: Who, priority: number): World['wire'] {
  const what: Said = { kind: 'advertisement', priority }
  return receivers(world, from).reduce((wire, to) => queued(wire, from, to, what), world.wire)
}

/** Adds a message to the wire, behind all messages with the same position. */
function queued(wire: World['wire'], from: Who, to: Who, what: Said): World['wire'] {
  const message: Message = { from, to, said: what, held: false }
  const index = wire.findIndex((one) => rankOf(one) > rankOf(message))
  const at = index < 0 ? wire.length : index
  return [...wire.slice(0, at), message, ...wire.slice(at)]
}

export function describe(action: Action): string {
  if (action.kind === 'wait') return 'wait'
  const name = (who: Who) => ['a', 'b', 'c'][who]
  return 'from' in action
    ? `${action.kind} ${name(action.from)} ${name(action.to)}`
    : `${action.kind} ${name(action.who)}`
}
