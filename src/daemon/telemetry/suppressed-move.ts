/**
 * Explains why a Backup does not yet take over from an Active of lower priority, as text for the log. The journal event
 * also has the time since the addresses last moved (minHold). Whether the Backup takes over is decided in
 * vrrp/extensions/preemption/fast-preempt.ts. PURE.
 */
import type { EventOf } from '../../events/event.ts'
import type { MoveSuppression } from '../../vrrp/effect.ts'
import { outranks, type Parameters } from '../../vrrp/parameters.ts'
import type { State } from '../../vrrp/state.ts'
import type { Address } from '../../wire/address.ts'
import type { Millis } from '../../wire/units.ts'

type HeldBy = NonNullable<EventOf<'peerHeard'>['heldBy']>

/** Returns the facts of the delay if minHold delays the takeover from a demoted Active; otherwise `undefined`. */
export function heldBy(state: State, parameters: Parameters, now: Millis): HeldBy | undefined {
  if (state.name !== 'Backup' || state.holderChangedAt === undefined || state.regularDownAt !== undefined)
    return undefined
  const { active, holderChangedAt } = state
  const { extensions, minHold, priority } = parameters
  const movedAgoMs = now - holderChangedAt
  const isBelow = active !== undefined && outranks(priority, active.priority, parameters)
  if (!isBelow || extensions.fastPreempt !== true || movedAgoMs >= minHold) return undefined
  return { why: 'minHold', forMs: minHold, movedAgoMs: Math.round(movedAgoMs) }
}

/** Returns the text of the log line about suppressed transitions, without the name of the router. */
export function suppressionText(
  reason: MoveSuppression,
  source: Address,
  { parameters, state }: { readonly parameters: Parameters; readonly state: State },
  now: Millis,
): string {
  const theirs = state.name === 'Backup' ? state.active?.priority : undefined
  const dropped = `${source} has priority ${theirs ?? 'below ours'} (we have ${parameters.priority})`
  if (reason === 'margin') return `${dropped}: the advantage over it is not greater than the margin`
  if (reason === 'checksUnanswered') return `${dropped}, but the health checks did not confirm our priority in time`
  const ago = state.name === 'Backup' && state.holderChangedAt !== undefined ? now - state.holderChangedAt : 0
  const wait = state.name === 'Backup' ? state.activeDownAt - now : 0
  return `${source} dropped to ${theirs} (we have ${parameters.priority}), but the VIP moved ${seconds(ago)} ago: waiting up to ${seconds(wait)} (minHold)`
}

const seconds = (ms: number): string => `${Math.round(ms / 100) / 10} s`
