/**
 * Deliveries that are tried in one order only, because the others lead to the same world (docs/adr/0055): when nothing may go wrong any more
 * and a Backup is told something, it says nothing, so nobody else can notice when. Decided here: which those are. That it
 * really said nothing is looked at each time; a state machine that does say something ends the exploration.
 */
import { isOwner } from '../../src/vrrp/parameters.ts'
import { type Action, after, describe, nextDue } from './actions.ts'
import type { Machine } from './node-step.ts'
import { EVERYBODY, type Setting, type World } from './world.ts'

/** What happens next, and whatever is possible besides can wait for it; undefined: everything that is possible has to be tried. */
export function soleDelivery(world: World, setting: Setting): Action | undefined {
  const { faults, nodes, wire } = world
  if (faults > 0 || wire.length === 0) return undefined
  const receives = wire.every(({ held, said, to }) => {
    const { running, stalled, state } = nodes[to]
    return !held && said.kind !== 'claim' && running && !stalled && state.name === 'Backup'
  })
  // Somebody else may speak before, and the order of what is said to one matters to it.
  const speaks = EVERYBODY.some((who) => {
    const { running, stalled } = nodes[who]
    return stalled || (!running && isOwner(setting.parameters(who, setting.priorities[who])))
  })
  if (!receives || speaks || nextDue(world) <= 0) return undefined
  const message = wire.find(({ from, to }) => wire.every((each) => each.to !== to || each.from === from))
  return message && { kind: 'deliver', from: message.from, to: message.to }
}

/** All of them, with the world after each. */
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
