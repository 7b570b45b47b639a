/**
 * Conditions as Kubernetes has them (meta/v1 Condition). Decided here: since when one has its status, and which platforms
 * have addresses of this kind at all.
 */

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
    return { ...finding, lastTransitionTime, ...(generation === undefined ? {} : { observedGeneration: generation }) }
  })
}

const PLATFORMS: ReadonlySet<string> = new Set(['baremetal', 'openstack', 'vsphere', 'ovirt'])

/** Source: `Infrastructure.status.platform`; undefined or empty where nobody says, as on a plain cluster: then it is one. */
export const hasOwnAddresses = (platform: string | undefined): boolean =>
  platform === undefined || platform === '' || PLATFORMS.has(platform.toLowerCase())

/** On every other platform: nothing is done, and nothing is wrong. */
export function disabledFindings(platform: string): readonly Finding[] {
  const reason = 'UnsupportedPlatform'
  const message = `platform ${platform} has no virtual addresses of its own: nothing is done`
  return [
    { type: 'Available', status: 'True', reason, message },
    { type: 'Degraded', status: 'False', reason, message },
    { type: 'Progressing', status: 'False', reason, message },
    { type: 'Disabled', status: 'True', reason, message },
  ]
}
