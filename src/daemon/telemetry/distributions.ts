/** The engine's histograms as values, each under the name of its metric: copies, ready to cross a thread boundary. */
import type { Distribution, Histogram } from '../../metrics/histogram.ts'
import type { HistogramName } from '../../metrics/names.ts'
import type { Router } from '../router/router.ts'
import type { TakeoverTimes } from './takeover-watch.ts'

type Measured = readonly Distribution<HistogramName>[]

export const engineDistributions = (lateness: Histogram, { phases }: TakeoverTimes): Measured => [
  { name: 'holdfast_engine_timer_lateness_seconds', labels: {}, cells: lateness.read() },
  ...Object.entries(phases).map(([phase, histogram]) => {
    return { name: 'holdfast_vrrp_takeover_duration_seconds' as const, labels: { phase }, cells: histogram.read() }
  }),
]

export const routerDistributions = ({ gaps, name: router }: Router): Measured => [
  { name: 'holdfast_vrrp_advertisement_gap_seconds', labels: { router }, cells: gaps.seconds.read() },
  { name: 'holdfast_vrrp_advertisement_gap_ratio', labels: { router }, cells: gaps.share.read() },
]
