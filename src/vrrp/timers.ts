/**
 * How long silence lasts before a Backup acts: Skew_Time and Active_Down_Interval (RFC 9568 §6.1, RFC 3768 §6.1 for
 * version 2) and the stagger of equal routers (docs/architecture.md, Protocol decisions). Results are dyadic fractions of a millisecond, so
 * a double holds every one exactly and nothing here rounds (VR-TM-02): rounding to centiseconds would let neighbouring
 * priorities expire together. This file knows durations only, no clock and no deadline.
 */
import { type Address, compareAddresses } from '../wire/address.ts'
import { type Centis, centisToMillis, type Millis, millis } from '../wire/units.ts'
import type { Parameters, Peer } from './parameters.ts'

/** Version 2 does not scale the skew by the interval (RFC 3768 §6.1), so its `interval` has no effect here. */
export function skewTime(priority: number, interval: Centis, version: 2 | 3): Millis {
  const scale = version === 3 ? centisToMillis(interval) : 1000
  return millis(((256 - priority) * scale) / 256)
}

/** `interval` is Active_Adver_Interval in version 3 and our own Advertisement_Interval in version 2. */
export function activeDownInterval(priority: number, interval: Centis, version: 2 | 3): Millis {
  return millis(3 * centisToMillis(interval) + skewTime(priority, interval, version))
}

/** Longer than a LAN's delivery differs between nodes, and the last in rank still expires within half an interval. */
export function staggerStep(interval: Centis, peers: number): Millis {
  return peers === 0 ? millis(0) : millis(Math.min(3, centisToMillis(interval) / (2 * peers)))
}

/**
 * What this router adds to every expiry so that routers of equal priority act one after the other, in the order in
 * which RFC 9568 §6.4.3 would let them win. Off without preemption: there the first to speak stays Active.
 */
export function staggerDelay(parameters: Parameters, interval: Centis, lastActive: Address | undefined): Millis {
  const { knobs, peers, preempt, priority, primaryAddress } = parameters
  if (!knobs.stagger || !preempt || priority === 255) return millis(0)
  const ahead = contenders(peers, priority).filter(
    (peer) => peer.address !== lastActive && compareAddresses(peer.address, primaryAddress) > 0,
  )
  // All listed peers, not only those ahead: every node must come to the same step.
  return millis(ahead.length * staggerStep(interval, peers.length))
}

/** Once one priority is listed the list is taken to be complete; otherwise any peer may be our equal. */
function contenders(peers: readonly Peer[], priority: number): readonly Peer[] {
  if (peers.every((peer) => peer.priority === undefined)) return peers
  return peers.filter((peer) => peer.priority === priority)
}
