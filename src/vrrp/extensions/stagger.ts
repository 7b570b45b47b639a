/**
 * Stagger: routers of equal priority take over one after the other, in the order in which they would win by RFC 9568
 * §6.4.3. Without the stagger all these routers take over together. `stagger.ts` decides what a router adds to each
 * Active_Down_Timer, and does not know what starts the timer. Option: `stagger`.
 */
import { type Address, compareAddresses } from '../../wire/address.ts'
import { type Centis, centisToMillis, type Millis, millis, plus } from '../../wire/units.ts'
import type { Step } from '../fsm.ts'
import type { Parameters, Peer } from '../parameters.ts'
import { activeDownInterval, skewTime } from '../timers.ts'
import type { Extension } from './extension.ts'

/**
 * Returns the stagger between two successive routers of equal priority. The stagger is longer than the differences of
 * delivery times on a LAN. The last router still takes over within half an interval.
 */
export function staggerStep(interval: Centis, peers: number): Millis {
  return peers === 0 ? millis(0) : millis(Math.min(3, centisToMillis(interval) / (2 * peers)))
}

/**
 * Returns the milliseconds that this router adds to its timer. Returns zero without preemption, because then the first
 * router to advertise stays Active.
 */
export function staggerDelay(parameters: Parameters, interval: Centis, lastActive: Address | undefined): Millis {
  const { extensions, peers, preempt, priority, primaryAddress } = parameters
  if (extensions.stagger !== true || !preempt || priority === 255) return millis(0)
  const ahead = contenders(parameters).filter(
    (peer) => peer.address !== lastActive && compareAddresses(peer.address, primaryAddress) > 0,
  )
  // All listed peers count, not only those that take over before us, because every node must compute the same delays.
  return millis(ahead.length * staggerStep(interval, peers.length))
}

/**
 * Returns the peers that may have our priority. If at least one peer is listed with a priority, the list counts as
 * complete. Without a listed priority, any peer may have our priority. The list has base priorities. A peer with our base
 * priority has our effective priority while the same checks succeed on both nodes, which is the usual case.
 */
function contenders({ basePriority, peers, priority }: Parameters): readonly Peer[] {
  if (peers.every((peer) => peer.priority === undefined)) return peers
  return peers.filter(
    (peer) => peer.priority === priority || (peer.priority !== undefined && peer.priority === basePriority),
  )
}

/** Returns the milliseconds of silence after which the Active counts as gone: Active_Down_Interval and the stagger. */
export function activeDownDelay(parameters: Parameters, interval: Centis, active: Address | undefined): number {
  const { priority, version } = parameters
  return activeDownInterval(priority, interval, version) + staggerDelay(parameters, interval, active)
}

/** Returns Skew_Time and the stagger in milliseconds, for the wait after a release by `source`. */
export function releasedDelay(parameters: Parameters, interval: Centis, source: Address): number {
  return skewTime(parameters.priority, interval, parameters.version) + staggerDelay(parameters, interval, source)
}

/** Adds the stagger to the timer of a Backup that was just entered. */
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
        // A refused advertisement does not restart Active_Down_Timer.
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
