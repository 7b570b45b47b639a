/** Builds stored reports of nodes, for tests of the conclusions that the status page draws from them. */

import type { JournalEvent } from '../../../src/events/event.ts'
import type { Node } from '../../../src/http/page/memory.js'
import type { PeerRouter, PeerStatus } from '../../../src/http/peers/peer-status.ts'

/** Present time of these tests in ms since the epoch. All other times are relative to it. */
export const NOW = Date.parse('2026-11-22T12:00:00.000Z')
export const ago = (ms: number): string => new Date(NOW - ms).toISOString()
export const VIP = '10.0.0.200'

export function router(more: Partial<PeerRouter> = {}): PeerRouter {
  return {
    ...{ name: 'api', group: null, vrid: 51, family: 'ipv4', interface: 'eth0', state: 'Backup', since: ago(60_000) },
    ...{ reason: 'startup', faults: [], priority: { base: 100, effective: 100 }, tracking: { sum: 100, parts: [] } },
    ...{
      yieldingUntil: null,
      heldBack: null,
      holder: { self: false, address: null, priority: null, heardMsAgo: null },
      source: null,
    },
    addresses: [{ address: VIP, present: false }],
    ...more,
  }
}

const status = (hostname: string, routers: readonly PeerRouter[], takenMsAgo: number): PeerStatus => ({
  ...{ version: 1, pid: 1, hostname, startedAt: ago(3_600_000), takenAt: ago(takenMsAgo), guardian: 'guarded' },
  ...{ config: { hash: null }, routers, healthchecks: [] },
})

export function node(
  name: string,
  routers: readonly PeerRouter[],
  more: Partial<Node> & { takenMsAgo?: number } = {},
): Node {
  const { takenMsAgo = 0, ...rest } = more
  return {
    ...{ key: name, name, self: false, url: null, status: status(name, routers, takenMsAgo) },
    ...{ answeredAt: NOW - takenMsAgo, problem: null, offsetMs: 0, roundTripMs: 1, events: [], seen: new Map() },
    ...rest,
  }
}

/** Returns the node with a health check `web` of its virtual router `api`. */
export function withCheck(
  node: Node,
  result: 'up' | 'down',
  reason = result === 'up' ? 'ok' : 'connectionRefused',
): Node {
  const last = { ok: result === 'up', reason }
  const web = { name: 'web', result, last, heardMsAgo: 300, routers: [{ router: 'api' }] }
  return node.status === null ? node : { ...node, status: { ...node.status, healthchecks: [web] } }
}

/** Returns a state transition of the virtual router `api`, a given time before the present. */
export function transition(
  seq: number,
  msAgo: number,
  to: PeerRouter['state'],
  more: Partial<Transition> = {},
): Transition {
  return {
    ...{ kind: 'transition', seq, at: ago(msAgo), monotonicMs: 0, router: 'api', vrid: 51, from: 'Backup', to },
    ...{ reason: 'activeSilent', priority: 100, interval: 1_000, addresses: [VIP], decidedMs: 0 },
    ...more,
  }
}
type Transition = Extract<JournalEvent, { kind: 'transition' }>
