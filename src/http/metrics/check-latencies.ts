/**
 * How long the runs of each health check took, beside the checks in their thread: what is measured with every run need
 * not cross to the engine and back. Decided here: of which checks it is kept, which are those that the engine has.
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

  /** Of those that run: a combination does not. What is not among them is forgotten. */
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
