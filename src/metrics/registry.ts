/**
 * Metric rows to the Prometheus text format, by prom-client. Fed with samples (name, labels, value) at every scrape,
 * so nothing here goes stale or is counted twice. What the samples say is decided where the snapshot is read.
 */
import { Counter, Gauge, Registry } from 'prom-client'
import { METRICS, type MetricName } from './names.ts'

export type Sample = {
  readonly name: MetricName
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** A fresh registry each time: a router that is gone must not leave its last value behind. */
export async function exposition(samples: readonly Sample[]): Promise<{ contentType: string; body: string }> {
  const registry = new Registry()
  for (const [name, { kind, help, labels }] of Object.entries(METRICS)) {
    const own = samples.filter((sample) => sample.name === name)
    if (kind === 'counter') {
      const counter = new Counter({ name, help, labelNames: [...labels], registers: [registry] })
      for (const sample of own) counter.inc(sample.labels, sample.value)
    } else {
      const gauge = new Gauge({ name, help, labelNames: [...labels], registers: [registry] })
      for (const sample of own) gauge.set(sample.labels, sample.value)
    }
  }
  return { contentType: registry.contentType, body: await registry.metrics() }
}
