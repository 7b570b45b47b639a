/**
 * Makes conditions as in Kubernetes (meta/v1 Condition). This file decides since when a condition has its status, and
 * the texts if the nodes hold no VIP.
 */
import { defined } from '../../../base/defined.ts'
import type { Elsewhere } from '../engine/platform.ts'

export const CONDITION_TYPES = ['Available', 'Degraded', 'Progressing', 'Disabled'] as const
/** Types of conditions. Only ClusterOperator has Upgradeable. */
export type ConditionType = (typeof CONDITION_TYPES)[number] | 'Upgradeable'

/** A condition of the Kubernetes object without its time, which `datedConditions` adds. */
export type Finding = {
  readonly type: ConditionType
  readonly status: 'True' | 'False' | 'Unknown'
  /** Reason of the condition in CamelCase, for programs. */
  readonly reason: string
  /**
   * Text of the condition for people. The text contains nothing that changes without a reason, because each change is
   * written to the API.
   */
  readonly message: string
}

export type Condition = Finding & {
  readonly lastTransitionTime: string
  readonly observedGeneration?: number
}

/**
 * Adds the time of the last change to each finding. `known`: the published conditions; a condition with the same status
 * keeps its time.
 */
export function datedConditions(
  findings: readonly Finding[],
  known: readonly Condition[],
  epochMs: number,
  generation?: number,
): readonly Condition[] {
  // The API stores times in whole seconds.
  const now = new Date(Math.floor(epochMs / 1_000) * 1_000).toISOString().replace('.000Z', 'Z')
  return findings.map((finding) => {
    const before = known.find(({ type }) => type === finding.type)
    const lastTransitionTime = before?.status === finding.status ? before.lastTransitionTime : now
    return { ...finding, lastTransitionTime, ...defined({ observedGeneration: generation }) }
  })
}

/**
 * Returns the conditions for nodes that should hold no VIP. These conditions report a problem only if `still` has texts
 * about a VIP that a node holds.
 */
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
