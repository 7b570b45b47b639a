/**
 * Describes how a cost grows with the number of routers or nodes. The description is the line of least squares through
 * the measurements, and the distance of the worst measurement from it. This file decides that a measurement of a group
 * that did not keep its state is left out. Pure.
 */
import { type Cell, type CellResult, cpuOf, memoryIn, type NodeCost, rssMiB } from './result.ts'

export type Point = { readonly x: number; readonly y: number }
export type Line = {
  readonly base: number
  readonly slope: number
  /** Largest distance of a measurement from the line. */
  readonly off: number
  readonly points: number
}

/**
 * Returns the line of least squares through the points; `undefined` if the points have fewer than two different x
 * values.
 */
export function lineThrough(points: readonly Point[]): Line | undefined {
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
  const [x, y] = [mean(points.map((one) => one.x)), mean(points.map((one) => one.y))]
  const spread = points.reduce((sum, one) => sum + (one.x - x) ** 2, 0)
  if (!(spread > 0)) return undefined
  const slope = points.reduce((sum, one) => sum + (one.x - x) * (one.y - y), 0) / spread
  const base = y - slope * x
  const off = Math.max(...points.map((one) => Math.abs(one.y - base - slope * one.x)))
  return { base, slope, off, points: points.length }
}

export type Growth = Omit<Cell, 'routers' | 'nodes'> & {
  readonly along: 'routers' | 'nodes'
  /** Value of the quantity that does not change along the line: the number of nodes, or the number of routers. */
  readonly fixed: number
  readonly role: NodeCost['role']
  readonly cpu: Line
  readonly rss: Line
}

function growthOf(cells: readonly CellResult[], along: Growth['along'], role: NodeCost['role']): readonly Growth[] {
  const [first] = cells
  const points = (of: (cell: CellResult) => number | undefined) =>
    cells.flatMap((cell) => {
      const y = of(cell)
      return y === undefined ? [] : [{ x: cell[along], y }]
    })
  const cpu = lineThrough(points((cell) => cpuOf(cell, role)))
  const rss = lineThrough(points((cell) => rssMiB(memoryIn(cell, role))))
  if (first === undefined || cpu === undefined || rss === undefined) return []
  const { daemon, intervalMs, transport, nodes, routers } = first
  return [{ daemon, intervalMs, transport, along, fixed: along === 'routers' ? nodes : routers, role, cpu, rss }]
}

/** Returns every growth line for which there are enough measured cells, in a fixed order. */
export function growth(all: readonly CellResult[]): readonly Growth[] {
  const cells = all.filter(({ trouble }) => trouble === undefined)
  return (['routers', 'nodes'] as const).flatMap((along) => {
    const groups = new Map<string, CellResult[]>()
    for (const cell of cells) {
      const { daemon, intervalMs, transport } = cell
      const key = [daemon, intervalMs, transport, along === 'routers' ? cell.nodes : cell.routers].join(' ')
      groups.set(key, [...(groups.get(key) ?? []), cell])
    }
    return [...groups.values()].flatMap((group) =>
      (['Active', 'Backup'] as const).flatMap((role) => growthOf(group, along, role)),
    )
  })
}
