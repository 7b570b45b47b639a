/**
 * What several checks come to together: all of them, or any. Three-valued, because a check of which nothing is known
 * neither holds nor fails: what decides the rest decides without it (docs/adr/0024). This file does not know what a
 * check asks, nor what its verdict is worth.
 */
import type { Standing, Verdict } from './health.ts'

export type Known = { readonly verdict: Verdict; readonly standing: Standing }

/** One that is down settles `all`, one that is up settles `any`; the verdict says why nothing is settled. */
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
