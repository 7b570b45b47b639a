/**
 * Reads the snapshot of the daemon and its histograms in parts. A snapshot of 255 routers takes some 10 ms, which is an
 * advertisement at an interval of 10 ms. The reader lets the engine work between two parts. This file decides the size
 * of a part. `engine-status.ts` and router-snapshot.ts build its content.
 */
import type { Distribution } from '../../metrics/histogram.ts'
import type { HistogramName } from '../../metrics/names.ts'
import type { RouterSnapshot, Snapshot } from './snapshot.ts'

export type EngineReport = {
  readonly snapshot: Snapshot
  readonly distributions: readonly Distribution<HistogramName>[]
}
/** Part of the report, about some of the routers. */
export type ReportPart = Pick<Snapshot, 'routers'> & Pick<EngineReport, 'distributions'>

/** Number of routers in a part. It takes about half a millisecond, with the transfer to another thread. */
const PIECE = 16

type Sources<R> = {
  readonly routers: readonly R[]
  readonly describe: (router: R) => RouterSnapshot
  readonly measured: (router: R) => readonly Distribution<HistogramName>[]
  /** Returns everything that is not about one router. */
  readonly rest: () => EngineReport
}

export function* reportInPieces<R>({
  describe,
  measured,
  rest,
  routers,
}: Sources<R>): Generator<ReportPart, EngineReport> {
  for (let from = 0; from < routers.length; from += PIECE) {
    const some = routers.slice(from, from + PIECE)
    yield { routers: some.map(describe), distributions: some.flatMap(measured) }
  }
  return rest()
}

/** Joins the parts of a report in the order of the parts. */
export const assembled = (parts: readonly ReportPart[], rest: EngineReport): EngineReport => ({
  snapshot: { ...rest.snapshot, routers: [...parts.flatMap(({ routers }) => routers), ...rest.snapshot.routers] },
  distributions: [...rest.distributions, ...parts.flatMap(({ distributions }) => distributions)],
})
