/**
 * Whether this node does what it is configured for, as one answer for probes and people: every virtual router takes part
 * in its election. Decided here: what counts as taking part. It says nothing about who holds an address: that is one
 * node's business at a time. Refuses to know how it is asked.
 */
import type { Snapshot } from '../daemon/telemetry/snapshot.ts'
import { type Reply, text } from './server.ts'

export function readiness(snapshot: Snapshot): Reply {
  const reasons = unready(snapshot)
  return reasons.length === 0 ? text(200, 'ok') : text(503, reasons.join('\n'))
}

/** Why not, a line for each reason. */
function unready({ config, routers }: Snapshot): readonly string[] {
  const stopped = config.stoppedAt === null ? [] : [`stopped by order since ${config.stoppedAt}: idle until a reload`]
  const waits =
    config.managed?.waits == null ? [] : [`${config.managed.waits}: idle until a configuration is handed over`]
  const idle = routers
    .filter(({ departing, state }) => !departing && (state === 'Initialize' || state === 'Leaving'))
    .map(({ faults, name, reason, state }) => `${name}: ${state}: ${faults.length > 0 ? faults.join(', ') : reason}`)
  return [...stopped, ...waits, ...idle]
}
