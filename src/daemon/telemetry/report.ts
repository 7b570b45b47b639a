/**
 * The snapshot of the daemon and what it has measured, in pieces: a snapshot of 255 routers takes some 10 ms, which is
 * an advertisement at 10 ms intervals. The reader lets the engine work between two pieces. Decided here: how large a
 * piece is. Its content is engine-status.ts's and router-snapshot.ts's.
 */
import type { Distribution } from '../../metrics/histogram.ts'
import type { HistogramName } from '../../metrics/names.ts'
import type { RouterSnapshot, Snapshot } from './snapshot.ts'

export type EngineReport = {
  readonly snapshot: Snapshot
  readonly distributions: readonly Distribution<HistogramName>[]
}
/** Part of the report about some of the routers. */
export type ReportPart = Pick<Snapshot, 'routers'> & Pick<EngineReport, 'distributions'>

/** Routers of a piece: some half a millisecond, with what it takes to send it to another thread. */
const PIECE = 16

type Sources<R> = {
  readonly routers: readonly R[]
  readonly describe: (router: R) => RouterSnapshot
  readonly measured: (router: R) => readonly Distribution<HistogramName>[]
  /** Returns all that is not about one router. */
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

/** Returns the pieces as one, in their order. */
export const assembled = (parts: readonly ReportPart[], rest: EngineReport): EngineReport => ({
  snapshot: { ...rest.snapshot, routers: [...parts.flatMap(({ routers }) => routers), ...rest.snapshot.routers] },
  distributions: [...rest.distributions, ...parts.flatMap(({ distributions }) => distributions)],
})
