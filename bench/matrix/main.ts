/**
 * Runs `npm run bench:matrix`: groups of holdfast nodes, of keepalived nodes and of both go through the events of
 * docs/mixed-groups.md. All nodes read a keepalived file, and each cell has a LAN of its own. This file decides how
 * many cells run at the same time. Every figure is compared with keepalived's figure for the same event in the same
 * run. The exit status is 1 if a figure exceeds keepalived's.
 */

import { mkdirSync, writeFileSync } from 'node:fs'
import { cpus, loadavg, release } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { messageOf } from '../../src/base/message-of.ts'
import { packageRoot } from '../../src/lab/installation.ts'
import { type Cell, LINE_UPS, playEvents } from '../../test/support/group-events.ts'
import { markdown, type Played, violations } from './report.ts'

const USAGE = `usage: npm run bench:matrix -- [options]
  --beside N     cells at once (default 3)
  --only LIST    of holdfast,mixed,keepalived (default all)
  --out DIRECTORY  for matrix.md and matrix.json (default bench/results)
`
const { values } = parseArgs({
  options: {
    beside: { type: 'string', default: '3' },
    only: { type: 'string', default: LINE_UPS.join(',') },
    out: { type: 'string', default: join(packageRoot(), 'bench', 'results') },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) {
  process.stdout.write(USAGE)
  process.exit(0)
}
if (process.getuid?.() !== 0) {
  process.stderr.write('matrix: Cannot make network namespaces: not root\n')
  process.exit(77)
}
const chosen = values.only.split(',')
const lineUps = LINE_UPS.filter((lineUp) => chosen.includes(lineUp))
const cells: Cell[] = (['ipv4', 'ipv6'] as const).flatMap((family) =>
  (['unicast', 'multicast'] as const).flatMap((transport) =>
    lineUps.map((lineUp): Cell => {
      return { lineUp, row: { family, transport, version: family === 'ipv4' ? 2 : 3, intervalMs: 1_000 } }
    }),
  ),
)

const played: Played[] = []
const waiting = [...cells]
async function playOn(): Promise<void> {
  for (let cell = waiting.shift(); cell !== undefined; cell = waiting.shift()) {
    const { lineUp, row } = cell
    const name = `${lineUp} ${row.family} ${row.transport}`
    let close = () => {}
    try {
      const measured = await playEvents(cell, (group) => {
        close = () => group.destroy()
      })
      played.push({ cell, measured })
      process.stderr.write(`${name}: done\n`)
    } catch (error) {
      played.push({ cell, measured: [], failure: messageOf(error) })
      process.stderr.write(`${name}: ${error instanceof Error ? error.stack : error}\n`)
    } finally {
      close()
    }
  }
}
await Promise.all(Array.from({ length: Math.max(1, Number(values.beside)) }, playOn))

played.sort((one, other) => cells.indexOf(one.cell) - cells.indexOf(other.cell))
const machine = { node: process.versions.node, kernel: release(), cpus: cpus().length, load: loadavg()[0] ?? 0 }
mkdirSync(values.out, { recursive: true })
writeFileSync(join(values.out, 'matrix.json'), `${JSON.stringify({ machine, played }, null, 1)}\n`)
writeFileSync(join(values.out, 'matrix.md'), markdown(played, machine))
process.stdout.write(markdown(played, machine))
const wrong = violations(played)
for (const line of wrong) process.stderr.write(`matrix: ${line}\n`)
process.exit(wrong.length === 0 ? 0 : 1)
