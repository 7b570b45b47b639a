/**
 * Which figure of a run shows the effect of an accident on a client, and how it compares. This file decides the figure
 * of each scenario. Pure.
 */
import type { Cell, Run } from './accident.ts'
import { type CellResult, noiseOf } from './result.ts'
import { spreadOf } from './statistics.ts'

export type FigureName = 'outage' | 'moved' | 'overlap' | 'takeovers' | 'lastAnswer'

/** Texts of the figures, for titles. */
export const FIGURE_TEXT: Readonly<Record<FigureName, string>> = {
  outage: 'without an answer',
  moved: 'until another router answers',
  overlap: 'two routers answer',
  takeovers: 'takeovers without a reason',
  lastAnswer: 'until the last address answers',
}

/**
 * A client sees an outage, unless the old node goes on answering: the kernel of a dead daemon, or a service that only
 * reports a failure. A frozen daemon harms by two holders.
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

/** Returns the points of every run that has the figure. */
export function pointsOf(cell: CellResult, figure: FigureName): readonly Point[] {
  return cell.runs.flatMap((record) => {
    const value = record.run === undefined ? undefined : valueIn(figure, record.run)
    return value === undefined ? [] : [{ value, noisy: noiseOf(cell, record) !== undefined }]
  })
}

/** Returns the cell with the same accident and a group of keepaliveds. */
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

/** Returns the ratio of the medians; `undefined` if there is nothing to divide by. */
export function ratio(cell: CellResult, other: CellResult | undefined, figure: FigureName): number | undefined {
  if (other === undefined) return undefined
  const [ours, theirs] = [cell, other].map((each) => spreadOf(pointsOf(each, figure).map(({ value }) => value)).median)
  return ours === undefined || theirs === undefined || !(theirs > 0) || Number.isNaN(ours) ? undefined : ours / theirs
}
