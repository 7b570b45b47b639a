/**
 * Stagger: routers of equal priority act one after the other, in the order in which RFC 9568 §6.4.3 would let them win.
 * Without it all of them expire together. Decided here: what a router adds to each Active_Down_Timer that it starts.
 * Refuses to know what starts it. Option: `stagger`.
 */
import { type Address, compareAddresses } from '../../wire/address.ts'
import { type Centis, centisToMillis, type Millis, millis, plus } from '../../wire/units.ts'
import type { Step } from '../fsm.ts'
import type { Parameters, Peer } from '../parameters.ts'
import { activeDownInterval, skewTime } from '../timers.ts'
import type { Extension } from './extension.ts'

/** Longer than a LAN's delivery differs between nodes, and the last in rank still expires within half an interval. */
export function staggerStep(interval: Centis, peers: number): Millis {
  return peers === 0 ? millis(0) : millis(Math.min(3, centisToMillis(interval) / (2 * peers)))
}

/** Returns what this router adds to an expiry. Zero without preemption: there the first to speak stays Active. */
export function staggerDelay(parameters: Parameters, interval: Centis, lastActive: Address | undefined): Millis {
  const { extensions, peers, preempt, priority, primaryAddress } = parameters
  if (extensions.stagger !== true || !preempt || priority === 255) return millis(0)
  const ahead = contenders(peers, priority).filter(
    (peer) => peer.address !== lastActive && compareAddresses(peer.address, primaryAddress) > 0,
  )
  // All listed peers, not only those ahead: every node must come to the same step.
  return millis(ahead.length * staggerStep(interval, peers.length))
}

/** If one priority is listed the list is taken to be complete; otherwise any peer may be an equal. */
function contenders(peers: readonly Peer[], priority: number): readonly Peer[] {
  if (peers.every((peer) => peer.priority === undefined)) return peers
  return peers.filter((peer) => peer.priority === priority)
}

/** Returns how long silence means that the Active is gone, from when it was last heard: Active_Down_Interval and the stagger. */
export function activeDownDelay(parameters: Parameters, interval: Centis, active: Address | undefined): number {
  const { priority, version } = parameters
  return activeDownInterval(priority, interval, version) + staggerDelay(parameters, interval, active)
}

/** Returns Skew_Time and the stagger, after a release by `source`. */
export function releasedDelay(parameters: Parameters, interval: Centis, source: Address): number {
  return skewTime(parameters.priority, interval, parameters.version) + staggerDelay(parameters, interval, source)
}

/** Staggers the timer of a Backup that has just been entered. */
export function staggerEntry(entered: Step, parameters: Parameters, now: Millis): Step {
  const [next, effects] = entered
  if (next.name !== 'Backup') return entered
  const { active, activeAdverInterval } = next
  const delay = activeDownDelay(parameters, activeAdverInterval, active?.source)
  return [{ ...next, activeDownAt: plus(active?.heardAt ?? now, delay) }, effects]
}

export const stagger: Extension = {
  name: 'stagger',
  isOn: ({ extensions, peers }) => extensions.stagger === true && peers.length > 0,
  wraps: {
    Initialize: {
      startup: (inner, state, event, parameters, now) => {
        return staggerEntry(inner(state, event, parameters, now), parameters, now)
      },
    },
    Backup: {
      advertisementReceived: (inner, state, event, parameters, now) => {
        const stepped = inner(state, event, parameters, now)
        const [next, effects] = stepped
        // Refused: the timer was not started again.
        if (next.name !== 'Backup' || effects[0]?.kind === 'refused') return stepped
        const { active, activeAdverInterval } = next
        const isRelease = event.advertisement.priority === 0
        const delay = isRelease
          ? releasedDelay(parameters, activeAdverInterval, event.source)
          : activeDownDelay(parameters, activeAdverInterval, active?.source)
        return [{ ...next, activeDownAt: plus(event.receivedAt, delay) }, effects]
      },
    },
    Active: {
      advertisementReceived: (inner, state, event, parameters, now) => {
        return staggerEntry(inner(state, event, parameters, now), parameters, now)
      },
    },
  },
}
