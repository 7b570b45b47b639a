/**
 * What the daemon says of itself and has measured, in pieces: a snapshot of 255 routers takes some 10 ms, which is an
 * advertisement at 10 ms intervals. Whoever asks lets the engine do its work between two pieces. Decided here: how large a
 * piece is. What is in it is snapshot.ts's and distributions.ts's.
 */
import type { Distribution } from '../../metrics/histogram.ts'
import type { HistogramName } from '../../metrics/names.ts'
import type { RouterSnapshot, Snapshot } from './snapshot.ts'

export type EngineReport = {
  readonly snapshot: Snapshot
  readonly distributions: readonly Distribution<HistogramName>[]
}
/** About some of the routers. */
export type ReportPart = Pick<Snapshot, 'routers'> & Pick<EngineReport, 'distributions'>

/** Some half a millisecond, with what it takes to send it to another thread. */
const PIECE = 16

type Sources<R> = {
  readonly routers: readonly R[]
  readonly describe: (router: R) => RouterSnapshot
  readonly measured: (router: R) => readonly Distribution<HistogramName>[]
  /** All that is not about one router. */
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

/** The pieces as one, in their order. */
export const assembled = (parts: readonly ReportPart[], rest: EngineReport): EngineReport => ({
  snapshot: { ...rest.snapshot, routers: [...parts.flatMap(({ routers }) => routers), ...rest.snapshot.routers] },
  distributions: [...rest.distributions, ...parts.flatMap(({ distributions }) => distributions)],
})
