/**
 * Conditions as Kubernetes has them (meta/v1 Condition). Decided here: since when one has its status, and what they say where
 * the nodes hold no VIP.
 */
import { defined } from '../../../base/defined.ts'
import type { Elsewhere } from '../engine/platform.ts'

export const CONDITION_TYPES = ['Available', 'Degraded', 'Progressing', 'Disabled'] as const
export type ConditionType = (typeof CONDITION_TYPES)[number]

/** What is said; when it began to be so comes with `datedConditions`. */
export type Finding = {
  readonly type: ConditionType
  readonly status: 'True' | 'False' | 'Unknown'
  /** CamelCase; for programs. */
  readonly reason: string
  /** For people, without anything that changes by itself: each change is written to the API. */
  readonly message: string
}

export type Condition = Finding & {
  readonly lastTransitionTime: string
  readonly observedGeneration?: number
}

/** `known`: what is published, or was said last; of one with the same status the time stays. */
export function datedConditions(
  findings: readonly Finding[],
  known: readonly Condition[],
  epochMs: number,
  generation?: number,
): readonly Condition[] {
  // The API keeps seconds.
  const now = new Date(Math.floor(epochMs / 1_000) * 1_000).toISOString().replace('.000Z', 'Z')
  return findings.map((finding) => {
    const before = known.find(({ type }) => type === finding.type)
    const lastTransitionTime = before?.status === finding.status ? before.lastTransitionTime : now
    return { ...finding, lastTransitionTime, ...defined({ observedGeneration: generation }) }
  })
}

/** Where the nodes hold no VIP nothing is wrong, except while `still` has sentences about a VIP that a node holds. */
export function elsewhereFindings(
  { message: why, reason: because }: Elsewhere,
  still: readonly string[],
): readonly Finding[] {
  const isHeld = still.length > 0
  const reason = isHeld ? 'StillHeld' : because
  const message = isHeld ? `${still.join('; ')}, although ${why}` : `nodes hold no virtual addresses: ${why}`
  return [
    { type: 'Available', status: 'True', reason, message },
    { type: 'Degraded', status: isHeld ? 'True' : 'False', reason, message },
    { type: 'Progressing', status: 'False', reason, message },
    { type: 'Disabled', status: isHeld ? 'False' : 'True', reason, message },
  ]
}
