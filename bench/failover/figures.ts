/**
 * Selects the figure of a run that shows the effect of an accident on a client, and compares it between daemons. This
 * file decides the figure of each scenario. Pure.
 */
import type { Cell, Run } from './accident.ts'
import { type CellResult, noiseOf } from './result.ts'
import { spreadOf } from './statistics.ts'

export type FigureName = 'outage' | 'moved' | 'overlap' | 'takeovers' | 'lastAnswer'

/** Names of the figures, for titles. */
export const FIGURE_TEXT: Readonly<Record<FigureName, string>> = {
  outage: 'without an answer',
  moved: 'until another router answers',
  overlap: 'two routers answer',
  takeovers: 'takeovers without a reason',
  lastAnswer: 'until the last address answers',
}

/**
 * Returns the figure that describes a scenario best. A client sees an outage, unless the old node goes on answering:
 * after the death of the daemon alone, or if a service only reports a failure. A frozen daemon harms by a second
 * holder.
 */
export function figureOf({ scenario, theory }: Pick<CellResult, 'scenario' | 'theory'>): FigureName {
  if (theory.of === 'takeovers' || theory.of === 'lastAnswer') return theory.of
  if (scenario === 'group' || /^(check|openshift)-/.test(scenario)) return 'moved'
  return scenario === 'frozen' ? 'overlap' : 'outage'
}

export function valueIn(figure: FigureName, run: Run): number | undefined {
  switch (figure) {
    case 'outage':
      return run.outageMs
    case 'moved':
      return run.movedMs
    case 'overlap':
      return run.overlapMs
    case 'takeovers':
    case 'lastAnswer':
      return run.figures?.[figure]
  }
}

export type Point = { readonly value: number; readonly noisy: boolean }

/** Returns one point for each run of the cell that has the figure. */
export function pointsOf(cell: CellResult, figure: FigureName): readonly Point[] {
  return cell.runs.flatMap((record) => {
    const value = record.run === undefined ? undefined : valueIn(figure, record.run)
    return value === undefined ? [] : [{ value, noisy: noiseOf(cell, record) !== undefined }]
  })
}

/** Returns the cell with the same accident in a group of keepalived nodes; `undefined` if it was not measured. */
export const besideKeepalived = (cell: Cell, cells: readonly CellResult[]): CellResult | undefined =>
  cell.lineUp === 'keepalived'
    ? undefined
    : cells.find(
        ({ scenario, intervalMs, family, lineUp }) =>
          lineUp === 'keepalived' &&
          scenario === cell.scenario &&
          intervalMs === cell.intervalMs &&
          family === cell.family,
      )

/** Returns the ratio of the two cells' medians; `undefined` if a median is missing or the divisor is 0. */
export function ratio(cell: CellResult, other: CellResult | undefined, figure: FigureName): number | undefined {
  if (other === undefined) return undefined
  const [ours, theirs] = [cell, other].map((each) => spreadOf(pointsOf(each, figure).map(({ value }) => value)).median)
  return ours === undefined || theirs === undefined || !(theirs > 0) || Number.isNaN(ours) ? undefined : ours / theirs
}
