/**
 * Converts metric rows and samples to the Prometheus text format, with prom-client. A scrape passes the current values
 * (name, labels, value), so no value is stale or counted twice. This file knows nothing about the meaning of a sample.
 */
import { AggregatorRegistry } from 'prom-client'
import type { Cells, Distribution } from './histogram.ts'
import type { MetricRow } from './names.ts'

export type Sample<Name extends string = string> = {
  readonly name: Name
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}
export type Measured = Sample | Distribution

type Value = {
  readonly metricName?: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/**
 * Returns the metrics in text format, including rows without a sample. Samples with the same name and labels are added.
 * `formerNames` maps former names of metrics to names; a gauge or counter is listed under both.
 */
export async function exposition(
  rows: Readonly<Record<string, MetricRow>>,
  measured: readonly Measured[],
  formerNames: Readonly<Record<string, string>> = {},
): Promise<{ contentType: string; body: string }> {
  const values = new Map<string, Value[]>(Object.keys(rows).map((name) => [name, []]))
  for (const one of measured) {
    const row = rows[one.name]
    const own = values.get(one.name)
    if (row === undefined || own === undefined) continue
    if ('value' in one) own.push({ labels: one.labels, value: one.value })
    else if (row.kind === 'histogram') own.push(...series(one.name, one.labels, row.buckets, one.cells))
  }
  const metric = (name: string, { kind, help }: MetricRow, of: string) => ({
    name,
    help,
    type: kind,
    aggregator: 'sum',
    values: values.get(of) ?? [],
  })
  const metrics = [
    ...Object.entries(rows).map(([name, row]) => metric(name, row, name)),
    ...Object.entries(formerNames).flatMap(([former, name]) => {
      const row = rows[name]
      if (row === undefined) return []
      return [metric(former, { ...row, help: `Former name of ${name}, until 0.3.0` }, name)]
    }),
  ]
  // The aggregation of prom-client is meant for several processes; it gets the values of one process here.
  const registry = AggregatorRegistry.aggregate([metrics])
  return { contentType: registry.contentType, body: await registry.metrics() }
}

function series(name: string, labels: Sample['labels'], buckets: readonly number[], cells: Cells): Value[] {
  let count = 0
  const bucketed = [...buckets.map(String), '+Inf'].map((le, i) => {
    count += cells[i] ?? 0
    return { metricName: `${name}_bucket`, labels: { ...labels, le }, value: count }
  })
  return [
    ...bucketed,
    { metricName: `${name}_sum`, labels, value: cells[buckets.length + 1] ?? 0 },
    { metricName: `${name}_count`, labels, value: count },
  ]
}
