/**
 * Combines the results of several health checks: `all` must be up, or `any`. A combined result has three values,
 * because a check without a result is neither up nor down. If the other checks already decide, the missing result is
 * not needed (docs/adr/0024). `combination.ts` does not know what a check probes, nor the weight of a result.
 */
import type { CheckResult, CountsAs } from './health.ts'

export type Known = { readonly result: CheckResult; readonly countsAs: CountsAs }

/**
 * Combines the results of several checks. One check that is down decides `all`, one check that is up decides `any`. If
 * no member decides, the combined result is undecided or unknown.
 */
export function combined(mode: 'all' | 'any', members: readonly Known[]): Known {
  const decisive = mode === 'all' ? 'down' : 'up'
  if (members.some(({ countsAs }) => countsAs === decisive)) return { result: decisive, countsAs: decisive }
  if (members.some(({ result, countsAs }) => countsAs === 'nothing' && result === 'undecided')) {
    return { result: 'undecided', countsAs: 'nothing' }
  }
  if (members.some(({ countsAs }) => countsAs === 'nothing')) return { result: 'unknown', countsAs: 'nothing' }
  const otherwise = mode === 'all' ? 'up' : 'down'
  return { result: otherwise, countsAs: otherwise }
}
