/**
 * What can happen next in a world, and what comes of it: everything that is possible at one moment, each as a line of
 * text, and the worlds that follow. The state machine is the real one, or a wrong one on trial; around it is what the
 * daemon does of consequence here: it reads its queue before it lets a deadline end, and looks first whether it was away.
 */
import type { Effect } from '../../src/vrrp/effect.ts'
import type { Event } from '../../src/vrrp/event.ts'
import { step } from '../../src/vrrp/fsm.ts'
import { isOwner, type Parameters } from '../../src/vrrp/parameters.ts'
import { wasSilentTooLong } from '../../src/vrrp/returning.ts'
import { INITIAL_STATE, nextDeadline } from '../../src/vrrp/state.ts'
import { activeDownInterval } from '../../src/vrrp/timers.ts'
import { advertisementOf } from '../../src/vrrp/transmit.ts'
import { type Millis, millis } from '../../src/wire/units.ts'
import { inFrame } from './frame.ts'
import { lengthened, withOverlaps } from './overlap.ts'
import { sourceOf } from './settings.ts'
import {
  EVERYBODY,
  isAwake,
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

export type Machine = typeof step
export const ENGINE: Machine = step

type OfMessage = 'deliver' | 'lose' | 'delay' | 'cut' | 'mend'
type OfNode = 'expire' | 'wake' | 'restart' | 'stall' | 'crash' | 'die' | 'priority' | 'yield' | 'shutdown'
export type Action =
  | { readonly kind: OfMessage; readonly from: Who; readonly to: Who }
  | { readonly kind: OfNode; readonly who: Who }
  /** Half of the time until the next deadline: so that something can be done in between. */
  | { readonly kind: 'wait' }

const NOW = millis(0)
/** A stall ends when so many messages wait: three times Active_Down_Interval. For ever would be a world for each second. */
const LONGEST_QUEUE = 12

export function beginning(setting: Setting, faults: number): World {
  const node = (priority: number): Node => ({
    ...{ running: false, stalled: false, priority, state: INITIAL_STATE, holds: false, queue: [] },
  })
  const [a, b, c] = setting.priorities
  const nobody = [undefined, undefined, undefined]
  return { nodes: [node(a), node(b), node(c)], wire: [], cut: [], reigns: nobody, answers: nobody, faults }
}

/** When it has to do something by itself, from now on; undefined: never, or not while it is stalled. */
export const dueOf = (node: Node): Millis | undefined => (isAwake(node) ? nextDeadline(node.state) : undefined)

export function nextDue(world: World): number {
  return Math.min(...world.nodes.map((node) => dueOf(node) ?? Number.POSITIVE_INFINITY))
}

/** The first of each pair: those that can arrive now. */
function arrivals({ wire }: World): Message[] {
  return wire.filter((one, i) => {
    const before = wire[i - 1]
    return !one.held && (before === undefined || before.from !== one.from || before.to !== one.to)
  })
}

/** Everything that can happen; faults only while some are left. */
export function possible(world: World, setting: Setting): Action[] {
  const actions: Action[] = []
  const may = (kind: Setting['faults'][number]) => world.faults > 0 && setting.faults.includes(kind)
  const arriving = arrivals(world)
  for (const { from, to } of arriving) {
    actions.push({ kind: 'deliver', from, to })
    if (may('lose')) actions.push({ kind: 'lose', from, to })
    if (may('delay')) actions.push({ kind: 'delay', from, to })
  }
  const next = nextDue(world)
  // What takes no time is over before time passes.
  const overdue = world.nodes.some(({ queue }) => queue.length >= LONGEST_QUEUE)
  const passes = arriving.length === 0 && next > 0 && next < Number.POSITIVE_INFINITY && !overdue
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
    // Of a node that holds nothing it is the same as a crash.
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

const FREE: readonly Action['kind'][] = ['deliver', 'expire', 'wake', 'mend', 'restart']
export const isFault = ({ kind }: Action): boolean => !FREE.includes(kind)

/** To the lowered one, and back from there, or from the 1 of a yield. */
function otherPriority({ lowered, priorities }: Setting, who: Who, priority: number): number {
  return priority === priorities[who] ? lowered[who] : priorities[who]
}

/** `action` is one of those that are possible. */
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
    const index = world.wire.findIndex(({ from, to }) => from === action.from && to === action.to)
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
      // The guardian takes the addresses off and says priority 0 in its name; the daemon's does not say it for one that
      // lingers, so this is more than can happen.
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

/** Everybody's now is moved; what was delayed can arrive. */
function elapse(world: World, ms: number, setting: Setting): World {
  if (ms === 0) return world
  const later = (node: Node): Node => ({
    ...node,
    state: inFrame(node.state, ms, setting),
    queue: node.queue.map((each) => ({ ...each, receivedAt: millis(each.receivedAt - ms) })),
  })
  const [a, b, c] = world.nodes
  return {
    ...world,
    nodes: [later(a), later(b), later(c)],
    wire: world.wire.map((message) => (message.held ? { ...message, held: false } : message)),
    reigns: lengthened(world, world.reigns, ms),
    answers: lengthened(world, world.answers, ms),
  }
}

function expire(world: World, who: Who, setting: Setting, machine: Machine): World {
  const { priority, state } = world.nodes[who]
  const late = 0 - (nextDeadline(state) ?? 0)
  const listens = state.name === 'Backup' || state.name === 'Leaving'
  // Slept longer than Active_Down_Interval (design.md ground rule 2).
  const receptionLost =
    listens && late > activeDownInterval(priority, setting.parameters(who, priority).advertisementInterval, 3)
  return post(world, who, { kind: 'deadlineReached', receptionLost }, setting, machine)
}

/** Was it away; then what waits in the queue; then its deadlines (design.md ground rules 2 and 3). */
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
  return post(world, who, { kind: 'rivalAnswered', address, heardAt: receivedAt }, setting, machine)
}

/** One step of the state machine, and its effects in their order. */
function post(world: World, who: Who, event: Event, setting: Setting, machine: Machine): World {
  const node = world.nodes[who]
  if (!node.running) return world
  const parameters: Parameters = setting.parameters(who, node.priority)
  const [state, effects] = machine(node.state, event, parameters, NOW)
  let { wire } = world
  let { holds } = node
  for (const effect of effects) {
    if (effect.kind === 'installAddresses') holds = true
    else if (effect.kind === 'removeAddresses') holds = false
    else wire = said({ ...world, wire }, who, effect)
  }
  // The process ends with its only router.
  const running = state.name !== 'Initialize'
  const next: Node = { ...node, running, state: inFrame(state, 0, setting), holds, queue: running ? node.queue : [] }
  return { ...world, nodes: replaced(world, who, next), wire: running ? wire : wire.filter(({ to }) => to !== who) }
}

function said(world: World, who: Who, effect: Effect): World['wire'] {
  if (effect.kind === 'sendAdvertisement') return sent(world, who, effect.priority)
  if (effect.kind !== 'probeAddresses') return world.wire
  // Kernels answer, also those of processes that are stalled.
  const holders = EVERYBODY.filter(
    (other) => other !== who && world.nodes[other].holds && !world.cut.includes(placeOf({ from: other, to: who })),
  )
  return holders.reduce((wire, from) => queued(wire, from, who, { kind: 'answer' }), world.wire)
}

function sent(world: World, from: Who, priority: number): World['wire'] {
  const others = EVERYBODY.filter(
    (to) => to !== from && world.nodes[to].running && !world.cut.includes(placeOf({ from, to })),
  )
  return others.reduce((wire, to) => queued(wire, from, to, { kind: 'advertisement', priority }), world.wire)
}

/** Behind the last of its pair. */
function queued(wire: World['wire'], from: Who, to: Who, what: Said): World['wire'] {
  const index = wire.findIndex((one) => placeOf(one) > placeOf({ from, to }))
  const at = index < 0 ? wire.length : index
  return [...wire.slice(0, at), { from, to, said: what, held: false }, ...wire.slice(at)]
}

export function describe(action: Action): string {
  if (action.kind === 'wait') return 'wait'
  const name = (who: Who) => ['a', 'b', 'c'][who]
  return 'from' in action
    ? `${action.kind} ${name(action.from)} ${name(action.to)}`
    : `${action.kind} ${name(action.who)}`
}
