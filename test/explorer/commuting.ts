/**
 * Finds deliveries of messages that the explorer tries in one order only, because every order leads to the same world
 * (docs/adr/0055). When no fault is left, a Backup that receives a message sends nothing, so no other node can notice
 * the time of the delivery. This file decides which deliveries these are. Every delivery of this kind is checked: if
 * the node sends anything, the exploration ends with an error.
 */
import { isOwner } from '../../src/vrrp/parameters.ts'
import { type Action, after, describe, nextDue } from './actions.ts'
import type { Machine } from './node-step.ts'
import { EVERYBODY, type Setting, type World } from './world.ts'

/**
 * Returns the next action if every other possible action can wait for it; `undefined` if every possible action has to
 * be tried.
 */
export function soleDelivery(world: World, setting: Setting): Action | undefined {
  const { faults, nodes, wire } = world
  if (faults > 0 || wire.length === 0) return undefined
  const receives = wire.every(({ held, said, to }) => {
    const { running, stalled, state } = nodes[to]
    return !held && said.kind !== 'claim' && running && !stalled && state.name === 'Backup'
  })
  // Another node may send first, and the order in which the receiver gets the messages matters.
  const speaks = EVERYBODY.some((who) => {
    const { running, stalled } = nodes[who]
    return stalled || (!running && isOwner(setting.parameters(who, setting.priorities[who])))
  })
  if (!receives || speaks || nextDue(world) <= 0) return undefined
  const message = wire.find(({ from, to }) => wire.every((each) => each.to !== to || each.from === from))
  return message && { kind: 'deliver', from: message.from, to: message.to }
}

/** Plays all deliveries that can be tried in one order. Returns each delivery with the world after it. */
export function* settled(
  world: World,
  setting: Setting,
  machine: Machine,
): Generator<readonly [Action, World], undefined, undefined> {
  let now = world
  for (let sole = soleDelivery(now, setting); sole !== undefined; sole = soleDelivery(now, setting)) {
    const next = after(now, sole, setting, machine)
    const isSilent = next.wire.length === now.wire.length - 1 && nextDue(next) > 0
    if (!isSilent)
      throw new Error(`Cannot leave out what comes before "${describe(sole)}": somebody says something then`)
    now = next
    yield [sole, now]
  }
  return undefined
}
