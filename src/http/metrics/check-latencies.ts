/**
 * Collects the durations of the runs of each health check. The thread that runs the checks also serves the metrics, so
 * the durations need not be sent to the engine. This file decides that only durations of checks that the engine has are
 * kept.
 */
import type { HealthcheckSnapshot } from '../../daemon/health/healthcheck-snapshot.ts'
import { type Distribution, Histogram } from '../../metrics/histogram.ts'
import { type HistogramName, METRICS } from '../../metrics/names.ts'

const NAME = 'holdfast_healthcheck_duration_seconds'

export class CheckLatencies {
  readonly #histograms = new Map<string, Histogram>()

  observe(check: string, latencyMs: number): void {
    this.#of(check).observe(latencyMs / 1_000)
  }

  /** Returns the durations of all health checks that run; a combination does not run. Forgets other checks. */
  distributions(checks: readonly HealthcheckSnapshot[]): readonly Distribution<HistogramName>[] {
    const run = checks.filter(({ kind }) => kind !== 'all' && kind !== 'any').map(({ name }) => name)
    for (const known of this.#histograms.keys()) if (!run.includes(known)) this.#histograms.delete(known)
    return run.map((check) => ({ name: NAME, labels: { check }, cells: this.#of(check).read() }))
  }

  #of(check: string): Histogram {
    const known = this.#histograms.get(check)
    if (known !== undefined) return known
    const fresh = new Histogram(METRICS[NAME].buckets)
    this.#histograms.set(check, fresh)
    return fresh
  }
}
