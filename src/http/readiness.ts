/**
 * Readiness of this node, for probes and people: whether every virtual router takes part in its election. This file
 * decides what counts as taking part. Readiness does not depend on who holds an address, because only one node does.
 */
import type { Snapshot } from '../daemon/telemetry/snapshot.ts'
import { type Reply, text } from './server.ts'

export function readiness(snapshot: Snapshot): Reply {
  const reasons = unready(snapshot)
  return reasons.length === 0 ? text(200, 'ok') : text(503, reasons.join('\n'))
}

/** Returns the reasons why the node is not ready, one line each. */
function unready({ config, routers }: Snapshot): readonly string[] {
  const stopped =
    config.stoppedAt === null ? [] : [`stopped over keepalived's socket since ${config.stoppedAt}: idle until a reload`]
  const waits =
    config.managed?.waits == null ? [] : [`${config.managed.waits}: idle until a configuration is handed over`]
  const idle = routers
    .filter(({ departing, state }) => !departing && (state === 'Initialize' || state === 'Leaving'))
    .map(({ faults, name, reason, state }) => `${name}: ${state}: ${faults.length > 0 ? faults.join(', ') : reason}`)
  return [...stopped, ...waits, ...idle]
}
