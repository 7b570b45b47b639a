/**
 * Writes the matrix as a table: one row for each event, one column for each kind of group, over the four combinations
 * of transport and address family. This file decides when a figure exceeds keepalived's. This file does not know how a
 * figure was measured.
 */
import { type Cell, LINE_UPS, type LineUp, type Measured } from '../../test/support/group-events.ts'

export type Played = { readonly cell: Cell; readonly measured: readonly Measured[]; readonly failure?: string }

export type Machine = {
  readonly node: string
  readonly kernel: string
  readonly cpus: number
  readonly load: number
}

/**
 * Milliseconds by which a figure may exceed keepalived's. Nodes are asked every 10 ms, and processes start late on a
 * busy machine.
 */
const TOLERANCE = 100
/**
 * Milliseconds for which two nodes may be holders together if at least one of them runs holdfast. Among holdfast nodes,
 * only the hand-over of a leaving node may cause this.
 */
const SEVERAL = 20

/**
 * Returns the milliseconds by which a killed Active's figure may differ: chance decides whether the Active dies right
 * before or right after an advertisement.
 */
const phase = ({ event }: Measured, { row }: Cell) => (event.startsWith('SIGKILL') ? row.intervalMs : 0)

const rowName = ({ row }: Cell) => `${row.family === 'ipv4' ? 'v2 IPv4' : 'v3 IPv6'} ${row.transport}`
const ms = (value: number) => value.toFixed(0)
const hasHoldfast = ({ competing }: Measured) => competing.some((name) => name.endsWith('holdfast'))

export function violations(played: readonly Played[]): string[] {
  return played.flatMap(({ cell, measured, failure }) => {
    const name = `${cell.lineUp}, ${rowName(cell)}`
    if (failure !== undefined) return [`${name}: ${failure}`]
    const theirs = played.find((one) => one.cell.lineUp === 'keepalived' && rowName(one.cell) === rowName(cell))
    return measured.flatMap((one) => {
      const where = `${name}, ${one.event}`
      const limit = theirs?.measured.find(({ event }) => event === one.event)?.nobody
      const handsOver = one.event.startsWith('SIGTERM') && one.competing.some((name) => name.startsWith(`${one.from} `))
      const several = cell.lineUp === 'holdfast' && !handsOver ? 0 : SEVERAL
      return [
        ...(cell.lineUp !== 'keepalived' && limit !== undefined && one.nobody > limit + TOLERANCE + phase(one, cell)
          ? [`${where}: no holder for ${ms(one.nobody)} ms, keepalived ${ms(limit)} ms`]
          : []),
        ...(hasHoldfast(one) && one.several > several
          ? [`${where}: ${one.competing.join(' and ')} for ${ms(one.several)} ms`]
          : []),
        ...(one.outcome === 'holds' && one.from !== one.to ? [`${where}: moved from ${one.from} to ${one.to}`] : []),
      ]
    })
  })
}

function figure(one: Measured | undefined): string {
  if (one === undefined) return '–'
  const several = one.several > 0 ? `, two ${ms(one.several)}${hasHoldfast(one) ? '' : ' (keepalived only)'}` : ''
  const moved = one.outcome !== 'holds' ? `${ms(one.took)}: ` : ''
  const strayed = one.outcome === 'holds' && one.from !== one.to ? ', moved' : ''
  return `${moved}${ms(one.nobody)}${several}${strayed}`
}

export function markdown(played: readonly Played[], { node, kernel, cpus, load }: Machine): string {
  const rows = [...new Set(played.map(({ cell }) => rowName(cell)))]
  const of = (row: string, lineUp: LineUp) =>
    played.find(({ cell }) => rowName(cell) === row && cell.lineUp === lineUp)?.measured
  const tables = rows.flatMap((row) => {
    const events = [...new Set(LINE_UPS.flatMap((lineUp) => of(row, lineUp)?.map(({ event }) => event) ?? []))]
    const lines = events.map((event) => {
      const cells = LINE_UPS.map((lineUp) => figure(of(row, lineUp)?.find((one) => one.event === event)))
      return `| ${[event, ...cells].join(' | ')} |`
    })
    return [`**${row}**`, '', `| event | ${LINE_UPS.join(' | ')} |`, '|---|---|---|---|', ...lines, '']
  })
  return [
    `Node ${node}, Linux ${kernel}, ${cpus} CPUs, load ${load.toFixed(1)}. In ms: where the address moves, until another node alone`,
    'answers; then the longest time without an answer; then, if there was one, the longest time with two holders.',
    '',
    ...tables,
  ].join('\n')
}
