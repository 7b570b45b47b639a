/**
 * The health checks of a configuration: probes with every default filled in, and combinations of checks
 * (docs/adr/0024). This file decides the order in which one pass computes the results of all checks. The keys of a
 * check in the configuration are in schema/healthcheck.ts.
 */
import type { CheckSpec } from '../healthcheck/check.ts'

export type Check =
  | { readonly kind: 'probe'; readonly spec: CheckSpec }
  | {
      readonly kind: 'combination'
      readonly name: string
      readonly mode: 'all' | 'any'
      /** Names of members: probes, or combinations that come earlier in checksOf(). */
      readonly members: readonly string[]
    }

/** Returns the name of a probe or a combination. */
export const nameOf = (check: Check): string => (check.kind === 'probe' ? check.spec.name : check.name)

/**
 * Returns the probes in the order of the configuration, then the combinations, each after its members. In this order
 * one pass computes all results.
 */
export function checksOf({ healthchecks }: { readonly healthchecks: readonly Check[] }): readonly Check[] {
  const probes = healthchecks.filter(({ kind }) => kind === 'probe')
  const sorted: Check[] = [...probes]
  const placed = new Set(probes.map(nameOf))
  let waiting = healthchecks.filter(({ kind }) => kind === 'combination')
  for (;;) {
    const ready = waiting.filter((check) => check.kind === 'combination' && check.members.every((m) => placed.has(m)))
    // The remaining combinations contain themselves or unknown members. Such mistakes of combinations are reported in
    // healthcheck-problem.ts.
    if (ready.length === 0) return sorted
    for (const check of ready) placed.add(nameOf(check))
    sorted.push(...ready)
    waiting = waiting.filter((check) => !ready.includes(check))
  }
}
