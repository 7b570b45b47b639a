/**
 * The crash matrix: what clients see while the engine, the guardian or both of the Active die, stop or block, at 10 ms,
 * 100 ms and 1 s. One node at a time; all columns are virtual routers of one engine. The bounds are derived in
 * crash-bounds.ts. CRASH_RUNS=20 CRASH_TABLE=FILE repeats it and writes the table of docs/reliability.md.
 */
import { writeFileSync } from 'node:fs'
import { beforeAll, expect, test } from 'vitest'
import { describeNetns } from '../support/require.ts'
import { AWAY, DYING } from './crash-faults.ts'
import type { Cell } from './crash-judge.ts'
import { COLUMNS } from './crash-node.ts'
import { runRows } from './crash-run.ts'

describeNetns('the crash matrix', () => {
  let cells: readonly Cell[] = []
  beforeAll(async () => {
    cells = await runRows([...(process.env.CRASH_ROWS === 'away' ? [] : DYING), ...AWAY], {
      columns: COLUMNS,
      options: ['--realtime'],
    })
    if (process.env.CRASH_TABLE !== undefined) writeFileSync(process.env.CRASH_TABLE, JSON.stringify(cells))
  }, 200_000)

  test.each([...DYING, ...AWAY].map(({ fault }) => fault.name))('%s', (name) => {
    const row = cells.filter(({ row: of }) => of === name)
    expect(row, 'cells').toHaveLength(COLUMNS.length)
    const wrong = row.flatMap(({ column, wrong: found }) => found.map((each) => `${column}: ${each}`))
    expect(wrong, name).toEqual([])
  })
})
