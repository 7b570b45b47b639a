/** Compares missed advertisements with the journal of their sender. PURE. */
import type { EventOf } from '../events/event.ts'
import { beganAway, type Entry, isKind, type Node, nodeAt, type Timeline } from './timeline.ts'

/** Tolerance for different clocks and for the delay until an event is recorded, in milliseconds. */
export const SLACK_MS = 500

/**
 * Tells whether a known event explains missed advertisements: the sender did not run, had no link or changed its state,
 * or this node had no link. An event that explains missed advertisements is an incident of its own.
 */
export function isExplainedBySender(timeline: Timeline, entry: Entry, event: EventOf<'advertisementsMissed'>): boolean {
  const since = entry.at - event.gapMs - SLACK_MS
  const during = (node: Node | undefined, isIt: (each: Entry) => boolean) =>
    node?.entries.some((each) => each.at >= since && (beganAway(each) ?? each.at) <= entry.at + SLACK_MS && isIt(each))
  const changed = (each: Entry) => isKind(each, 'linkChanged')
  const sender = nodeAt(timeline, event.peer)
  const stopped = (each: Entry) =>
    changed(each) || beganAway(each) !== undefined || isKind(each, 'started') || isKind(each, 'transition')
  return during(sender, stopped) === true || during(entry.node, changed) === true
}
