/**
 * The crash matrix of a node without peers. If its engine does not run for too long, the node loses its addresses, and gets them back
 * immediately when the engine runs again. After a shorter pause the node keeps its addresses. The bounds are in test/judge/lone.ts.
 */
import { beforeAll, expect, test } from 'vitest'
import { describeNetns } from '../support/require.ts'
import { blocked, killedBoth, killedEngine, stopped } from './crash-faults.ts'
import type { Cell } from './crash-judge.ts'
import { COLUMNS } from './crash-node.ts'
import { judgeCells, runRows } from './crash-run.ts'

const ROWS = [
  blocked(50),
  blocked(500),
  stopped(['engine'], 5_000),
  stopped(['engine', 'guardian'], 5_000),
  killedEngine('SIGKILL', 137),
  killedBoth(),
]

describeNetns('the crash matrix of a lone node', () => {
  let cells: readonly Cell[] = []
  beforeAll(async () => {
    cells = await runRows(ROWS, { columns: COLUMNS, nodes: 1, options: ['--realtime'] })
  }, 150_000)

  test.each(ROWS.map(({ fault }) => fault.name))('the outage of a lone node stays within the bounds: %s', (name) => {
    const row = cells.filter(({ row: of }) => of === name)
    expect(row, 'cells of the row, one for each interval').toHaveLength(COLUMNS.length)
    judgeCells(name, row)
  })
})
