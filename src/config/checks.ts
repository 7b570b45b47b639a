/**
 * The checks of a configuration as the rest of the daemon takes them: probes with every default filled in, and
 * combinations of checks (docs/adr/0024). Decided here: the order in which one pass computes them. How a check is written is
 * in schema/healthcheck.ts.
 */
import type { CheckSpec } from '../healthcheck/check.ts'

export type Check =
  | { readonly kind: 'probe'; readonly spec: CheckSpec }
  | {
      readonly kind: 'combination'
      readonly name: string
      readonly mode: 'all' | 'any'
      /** Names of probes, or of combinations: those stand earlier in checksOf(). */
      readonly members: readonly string[]
    }

export const nameOf = (check: Check): string => (check.kind === 'probe' ? check.spec.name : check.name)

/** Probes in the order of the file, then combinations, each behind its members: one pass computes them all. */
export function checksOf({ healthchecks }: { readonly healthchecks: readonly Check[] }): readonly Check[] {
  const probes = healthchecks.filter(({ kind }) => kind === 'probe')
  const sorted: Check[] = [...probes]
  const placed = new Set(probes.map(nameOf))
  let waiting = healthchecks.filter(({ kind }) => kind === 'combination')
  for (;;) {
    const ready = waiting.filter((check) => check.kind === 'combination' && check.members.every((m) => placed.has(m)))
    // A circle, or a member that is nowhere: healthcheck-problem.ts has refused it.
    if (ready.length === 0) return sorted
    for (const check of ready) placed.add(nameOf(check))
    sorted.push(...ready)
    waiting = waiting.filter((check) => !ready.includes(check))
  }
}
