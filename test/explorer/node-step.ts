/**
 * Computes one step of a single node: its state and messages after an event, and its state some time later. The same
 * node meets the same event in many worlds, so the result is stored with the node. No two settings share a stored
 * result. The state machine is the real one, or a wrong state machine for the explorer to find.
 */
import type { Effect } from '../../src/vrrp/effect.ts'
import type { Event } from '../../src/vrrp/event.ts'
import type { Stepper } from '../../src/vrrp/extensions/extension.ts'
import { type Millis, millis } from '../../src/wire/units.ts'
import { inFrame } from './frame.ts'
import type { Node, Setting, Who } from './world.ts'

export type Machine = Stepper
/** Result of a step. `says`: the effects that other nodes can notice, in their order. */
type NodeStep = { readonly node: Node; readonly says: readonly Effect[] }

export const NOW: Millis = millis(0)

const remembered = new WeakMap<Machine, WeakMap<Node, Map<string, NodeStep>>>()

export function nodeStep(node: Node, who: Who, event: Event, setting: Setting, machine: Machine): NodeStep {
  const ofMachine = remembered.get(machine) ?? new WeakMap<Node, Map<string, NodeStep>>()
  remembered.set(machine, ofMachine)
  const known = ofMachine.get(node) ?? new Map<string, NodeStep>()
  ofMachine.set(node, known)
  const key = `${who}${textOf(event)}`
  const result = known.get(key) ?? stepped(node, who, event, setting, machine)
  known.set(key, result)
  return result
}

/**
 * Returns the part of an event that differs between events, as text. The interval of a sender is left out, because it
 * is always the same.
 */
function textOf(event: Event): string {
  switch (event.kind) {
    case 'advertisementReceived':
      return `${event.source} ${event.advertisement.priority} ${event.receivedAt}`
    case 'deadlineReached':
      return `${event.kind} ${event.receptionLost}`
    case 'announcementHeard':
    case 'addressAnswered':
      return `${event.kind} ${event.heardAt}`
    default:
      return JSON.stringify(event)
  }
}

function stepped(node: Node, who: Who, event: Event, setting: Setting, machine: Machine): NodeStep {
  const [state, effects] = machine(node.state, event, setting.parameters(who, node.priority), NOW)
  let { holds } = node
  const says: Effect[] = []
  for (const effect of effects) {
    if (effect.kind === 'installAddresses') holds = true
    else if (effect.kind === 'removeAddresses') holds = false
    else says.push(effect)
  }
  // The process of a node ends with its only router.
  const running = state.name !== 'Initialize'
  const next = { ...node, running, state: inFrame(state, 0, setting), holds, queue: running ? node.queue : [] }
  return { node: next, says }
}

const laterOnes = new WeakMap<Node, Map<number, Node>>()

export function later(node: Node, ms: number, setting: Setting): Node {
  const known = laterOnes.get(node) ?? new Map<number, Node>()
  laterOnes.set(node, known)
  const result: Node = known.get(ms) ?? {
    ...node,
    state: inFrame(node.state, ms, setting),
    queue: node.queue.map((each) => ({ ...each, receivedAt: millis(each.receivedAt - ms) })),
  }
  known.set(ms, result)
  return result
}
