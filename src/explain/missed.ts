/** Advertisements that a node missed, seen from the node that should have sent them. PURE. */
import type { EventOf } from '../events/event.ts'
import { beganAway, isKind, type Node, nodeAt, type Timeline, type Told } from './timeline.ts'

/** Clocks differ by so much, and an event is written some time after its cause. */
export const SLACK_MS = 500

/**
 * Returns whether the sender did not run, had no link or changed its state in that time, or this node had no link: that is an
 * incident of its own.
 */
export function isExplainedBySender(timeline: Timeline, told: Told, event: EventOf<'advertisementsMissed'>): boolean {
  const since = told.at - event.gapMs - SLACK_MS
  const during = (node: Node | undefined, isIt: (each: Told) => boolean) =>
    node?.told.some((each) => each.at >= since && (beganAway(each) ?? each.at) <= told.at + SLACK_MS && isIt(each))
  const changed = (each: Told) => isKind(each, 'linkChanged')
  const sender = nodeAt(timeline, event.peer)
  const stopped = (each: Told) =>
    changed(each) || beganAway(each) !== undefined || isKind(each, 'started') || isKind(each, 'transition')
  return during(sender, stopped) === true || during(told.node, changed) === true
}
