/**
 * Prints the effective priorities of a configuration: one table for each router, and the limits of presets. This file
 * decides the layout. Priorities are computed in src/config/advice/priority-table.ts.
 */

import { MOST_INDEPENDENT, type PriorityTable } from '../config/advice/priority-table.ts'
import type { TrackReport } from '../config/advice/track-advice.ts'
import type { Config } from '../config/config.ts'
import { presetNotes } from '../config/schema/preset.ts'

export function priorityReport(tables: readonly TrackReport[]): readonly string[] {
  return tables.flatMap(({ router, table }) => {
    const { base, columns, rows, files, independent, complete } = table
    const widths = columns.map((name) => Math.max(name.length, 'down'.length))
    const line = (cells: readonly string[], end: string) =>
      `  ${[...cells.map((cell, i) => cell.padEnd(widths[i] ?? 0)), end].join('  ')}`.trimEnd()
    return [
      `${router}: effective priority for each result of its checks (base priority ${base})`,
      ...(columns.length === 0 ? [] : [line(columns, '')]),
      ...rows.map(({ up, priority, fault }) =>
        line(
          up.map((each) => (each ? 'up' : 'down')),
          fault ? 'FAULT' : String(priority),
        ),
      ),
      ...files.map(fileLine),
      ...(complete
        ? []
        : [
            `  ${independent} results are independent, and at most ${MOST_INDEPENDENT} are shown in full: ` +
              'the rows are all up, each one down alone, and all down',
          ]),
    ]
  })
}

/**
 * Returns the line about a check of a file. With weight 0 the number in the file causes a fault; otherwise it changes
 * the priority.
 */
const fileLine = ({ name, weight, reverse }: PriorityTable['files'][number]): string => {
  if (weight !== 0) return `  plus the number in the file of "${name}", times ${weight}`
  return `  FAULT while the file of "${name}" contains ${reverse ? '0, or is empty or missing' : 'anything but 0'}`
}

/** Returns the notes of each preset once, even if several routers use it. */
export function presetReport({ virtualRouters, syncGroups }: Config): readonly string[] {
  const used = [...virtualRouters, ...syncGroups].flatMap(({ preset }) => preset ?? [])
  return [...new Set(used)].flatMap((name) => presetNotes(name).map((note) => `preset ${name}: ${note}`))
}
