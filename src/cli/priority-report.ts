/**
 * The effective priorities of a configuration as a person reads them: one small table a router, and what nobody can see
 * by HTTP where a preset is used. Decided here: the layout. Refuses to know how a priority comes about.
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
      `${router}: effective priority, base ${base}`,
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
            `  ${independent} results are independent of each other and ${MOST_INDEPENDENT} are shown in full: ` +
              'above are all up, each one down alone, and all down',
          ]),
    ]
  })
}

/** Weight 0 makes a fault of what a file holds, and adds none of it. */
const fileLine = ({ name, weight, reverse }: PriorityTable['files'][number]): string => {
  if (weight !== 0) return `  and what the file of "${name}" holds, times ${weight}`
  return `  FAULT while the file of "${name}" holds ${reverse ? '0, or is empty or missing' : 'anything but 0'}`
}

/** Once for each preset, whoever uses it. */
export function presetReport({ virtualRouters, syncGroups }: Config): readonly string[] {
  const used = [...virtualRouters, ...syncGroups].flatMap(({ preset }) => preset ?? [])
  return [...new Set(used)].flatMap((name) => presetNotes(name).map((note) => `preset ${name}: ${note}`))
}
