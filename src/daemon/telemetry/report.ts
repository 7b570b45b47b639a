/**
 * Reads the snapshot of the daemon and its histograms in parts. A snapshot of 255 routers takes some 10 ms, as long as
 * the shortest advertisement interval. The reader lets the engine work between two parts of the snapshot. This file
 * decides the size of a part. The content is built in engine-status.ts and router-snapshot.ts.
 */
import type { Distribution } from '../../metrics/histogram.ts'
import type { HistogramName } from '../../metrics/names.ts'
import type { RouterSnapshot, Snapshot } from './snapshot.ts'

export type EngineReport = {
  readonly snapshot: Snapshot
  readonly distributions: readonly Distribution<HistogramName>[]
}
/** Part of the daemon's report, about some of its routers. */
export type ReportPart = Pick<Snapshot, 'routers'> & Pick<EngineReport, 'distributions'>

/**
 * Number of routers in one part of the report. A part takes about half a millisecond, with its transfer to another
 * thread.
 */
const PIECE = 16

type Sources<R> = {
  readonly routers: readonly R[]
  readonly describe: (router: R) => RouterSnapshot
  readonly measured: (router: R) => readonly Distribution<HistogramName>[]
  /** Returns the fields of the report that are not about one router. */
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

/** Joins the parts of a report in their order. */
export const assembled = (parts: readonly ReportPart[], rest: EngineReport): EngineReport => ({
  snapshot: { ...rest.snapshot, routers: [...parts.flatMap(({ routers }) => routers), ...rest.snapshot.routers] },
  distributions: [...rest.distributions, ...parts.flatMap(({ distributions }) => distributions)],
})
