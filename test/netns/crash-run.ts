/**
 * Runs the rows of the crash matrix on one LAN, one after the other, each for all columns together. A row begins when
 * the LAN is at rest, at a random time between two advertisements. Decides when a row ends. This file does not know the
 * bounds.
 */

import { LEASED } from '../../src/lab/daemons/holdfast-process.ts'
import type { LoggedLine } from '../../src/lab/logged-process.ts'
import { eventually, monotonicMs, sleep } from '../../src/lab/wait.ts'
import { excuses, judge as judgeTime, type Loss, watchMachine } from '../judge/time.ts'
import type { Inflicted, Row } from './crash-faults.ts'
import { boundsOf, type Cell, holderOf, judge } from './crash-judge.ts'
import { CrashLan } from './crash-lan.ts'
import type { Column } from './crash-node.ts'

/** Time in ms without an event, after which a row ends. */
const REST = 400

type Done = Inflicted & {
  readonly row: Row
  readonly alone: boolean
  readonly leased: boolean
  readonly until: number
  readonly loss: Loss
  readonly kernels: readonly (readonly string[])[]
  readonly complaints: readonly string[]
  readonly lines: readonly LoggedLine[]
}

export type RunOptions = {
  readonly columns: readonly Column[]
  /** Number of nodes: three, or one for a node without peers. */
  readonly nodes?: 1 | 3
  readonly options?: readonly string[]
}

/** Returns a cell for each row and column. If a row could not run, the complaints of its cells have the reason. */
export async function runRows(rows: readonly Row[], { columns, nodes = 3, options = [] }: RunOptions): Promise<Cell[]> {
  const lan = new CrashLan({ nodes, columns, options })
  try {
    await lan.listen()
    for (const node of lan.nodes) node.start(node === lan.node(1) ? rows[0]?.nodeOptions : '')
    const done: Done[] = []
    for (const [i, row] of rows.entries()) {
      done.push(await runRow(lan, row))
      if (lan.node(1).ended) lan.node(1).start(rows[i + 1]?.nodeOptions)
    }
    const { news } = lan
    const records = lan.look()
    const spoken = await lan.stop()
    return done.flatMap(({ row: { fault }, kernels, complaints, ...rest }) =>
      columns.flatMap((column, i) => {
        const record = records[i]
        if (record === undefined) return []
        const cell = judge({ ...rest, fault, column, record, spoken, news, kernels: kernels[i] ?? [] })
        return [{ ...cell, late: [...complaints, ...cell.late] }]
      }),
    )
  } finally {
    lan.lab.destroy()
  }
}

/** Judges the cells of one row. The runs on a quiet machine come first. */
export function judgeCells(name: string, cells: readonly Cell[]): void {
  // All columns of a row ran at the same time, so they lost the same CPU time.
  const runs = [...new Set(cells.map(({ loss }) => loss))]
  for (const loss of runs.sort((one, other) => Number(excuses(one)) - Number(excuses(other)))) {
    const own = cells.filter((cell) => cell.loss === loss)
    const told = (of: 'late' | 'unseen' | 'wrong') =>
      own.flatMap((cell) => cell[of].map((text) => `${cell.column}: ${text}`))
    const story = own.flatMap((cell) => (cell.story === '' ? [] : [`${cell.column}: ${cell.story}`])).join('\n')
    judgeTime(name, { late: told('late'), unseen: told('unseen'), wrong: told('wrong'), story, loss })
  }
}

async function runRow(lan: CrashLan, row: Row): Promise<Done> {
  await lan.settled()
  await sleep(Math.random() * Math.max(...lan.columns.map(({ interval }) => interval)))
  const victim = lan.node(1)
  const setting = { alone: lan.nodes.length === 1, leased: LEASED }
  const lost = watchMachine()
  const { at, end } = await row.inflict(victim)
  const complaints: string[] = []
  const wanted = lan.columns.map((column) => holderOf(boundsOf(row.fault, { at, end }, column, setting)))
  const atRest = () =>
    lan.look().every(({ holders }, i) => {
      const last = holders.at(-1)
      return last !== undefined && last.holders.join() === wanted[i] && monotonicMs() - last.from >= REST
    })
  const sight = () =>
    lan.look().map(({ address, holders }) => `${address}: ${holders.at(-1)?.holders.join() || 'nobody'}`)
  try {
    // Late events need this time to happen.
    await sleep(end + REST - monotonicMs())
    await eventually(`${wanted.join()} alone`, atRest, { sight, every: 20 })
    if (row.status !== undefined) {
      const said = () => victim.process.lines.slice(-3)
      await eventually('holdfast run to end', () => victim.ended, { sight: said, within: 6_000 })
      const { code } = await victim.process.exited
      if (code !== row.status) complaints.push(`expected holdfast run to end with ${row.status}, saw ${code}`)
    } else if (victim.ended) {
      complaints.push(
        `expected holdfast run to go on, saw it end: ${victim.process.lines.slice(-2).map((l) => l.text)}`,
      )
    }
  } catch (error) {
    complaints.push(error instanceof Error ? error.message : String(error))
  }
  const until = monotonicMs()
  const loss = lost()
  const { lines } = victim.process
  const kernels = lan.columns.map(({ vip }) => lan.holders(vip))
  return { row, at, end, until, ...setting, loss, kernels, complaints, lines }
}
