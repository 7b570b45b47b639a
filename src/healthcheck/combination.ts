/**
 * Combines the results of several health checks: `all` must be up, or `any`. A combined result has three values,
 * because a check without a result is neither up nor down. If the other checks already decide, the missing result is
 * not needed (docs/adr/0024). `combination.ts` does not know what a check probes, nor the weight of a result.
 */
import type { Standing, Verdict } from './health.ts'

export type Known = { readonly verdict: Verdict; readonly standing: Standing }

/**
 * Combines the results of several checks. One check that is down decides `all`, one check that is up decides `any`.
 * Otherwise the combined result is undecided or unknown.
 */
export function combined(mode: 'all' | 'any', members: readonly Known[]): Known {
  const decisive = mode === 'all' ? 'down' : 'up'
  if (members.some(({ standing }) => standing === decisive)) return { verdict: decisive, standing: decisive }
  if (members.some(({ verdict, standing }) => standing === 'nothing' && verdict === 'undecided')) {
    return { verdict: 'undecided', standing: 'nothing' }
  }
  if (members.some(({ standing }) => standing === 'nothing')) return { verdict: 'unknown', standing: 'nothing' }
  const otherwise = mode === 'all' ? 'up' : 'down'
  return { verdict: otherwise, standing: otherwise }
}
