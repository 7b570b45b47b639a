/**
 * The crash matrix: what clients see while engine or guardian of the Active, or both, die, stop or block, at intervals of 10
 * ms, 100 ms and 1 s. A fault hits one node at a time. All columns are virtual routers of one engine, which has real-time priority as
 * docs/failures.md demands below 100 ms. The bounds are derived in test/judge/lone.ts.
 *
 * Environment variables: CRASH_RUNS=20 runs each row 20 times. CRASH_COLUMNS=10,100 runs those intervals only. CRASH_LONGEST=500 leaves out
 * faults of more than 500 ms. CRASH_TABLE=FILE writes the table of docs/crash-matrix.md, and every cell to FILE.json.
 */
import { writeFileSync } from 'node:fs'
import { beforeAll, expect, test } from 'vitest'
import { describeNetns } from '../support/require.ts'
import { AWAY, DYING } from './crash-faults.ts'
import type { Cell } from './crash-judge.ts'
import { COLUMNS } from './crash-node.ts'
import { judgeCells, runRows } from './crash-run.ts'
import { crashTable } from './crash-table.ts'

const { CRASH_COLUMNS, CRASH_LONGEST = 'Infinity', CRASH_RUNS = '1', CRASH_TABLE } = process.env
const RUNS = Number(CRASH_RUNS)
const INTERVALS = CRASH_COLUMNS?.split(',').map(Number)
const columns = COLUMNS.filter(({ interval }) => INTERVALS?.includes(interval) ?? true)
const ROWS = [...DYING, ...AWAY].filter(({ fault }) => fault.ms <= Number(CRASH_LONGEST))

describeNetns('the crash matrix', () => {
  let cells: Cell[] = []
  beforeAll(async () => {
    for (let run = 0; run < RUNS; run++) {
      cells = [...cells, ...(await runRows(ROWS, { columns, options: ['--realtime'] }))]
      if (CRASH_TABLE === undefined) continue
      writeFileSync(CRASH_TABLE, crashTable(cells))
      writeFileSync(`${CRASH_TABLE}.json`, JSON.stringify(cells, null, 1))
    }
  }, RUNS * 300_000)

  test.each(ROWS.map(({ fault }) => fault.name))('outage and overlap stay within the bounds: %s', (name) => {
    const row = cells.filter(({ row: of }) => of === name)
    expect(row, 'cells of the row, one for each run and interval').toHaveLength(RUNS * columns.length)
    judgeCells(name, row)
  })
})
