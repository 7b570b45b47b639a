/**
 * Runs `make prove`: plays many histories, prints a line for each failed history, and writes its reduced scenario to a
 * file. See docs/simulated-histories.md.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { compare, EXTENSIONS, newComparison, tableOf } from './extensions.ts'
import { compareNeighbours, neighboursTable, newNeighbours } from './neighbours.ts'
import { newTally, prove } from './prove.ts'

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    histories: { type: 'string', default: '10000' },
    seconds: { type: 'string', default: '86400' },
    small: { type: 'boolean', default: false },
    /** Which histories have keepalived among their nodes: some, none or all of them. */
    peers: { type: 'string', default: 'some' },
    out: { type: 'string', default: 'build/scenarios' },
    /** True to measure the effect of each protocol extension: the same histories run with it and without it. */
    extensions: { type: 'boolean', default: false },
    /** True to compare the same histories with keepalived on all nodes, on some nodes and on no node. */
    neighbours: { type: 'boolean', default: false },
  },
})
const [first, count] = [Number(values.seed), Number(values.histories)]
const tally = newTally()
// Optional time limit. The report has the number of histories that ran within it. A history does not depend on the
// limit.
const peers = values.peers === 'none' || values.peers === 'all' ? values.peers : 'some'
const until = performance.now() + Number(values.seconds) * 1_000
if (values.extensions) {
  const comparisons = EXTENSIONS.map(newComparison)
  for (let seed = first; seed < first + count && performance.now() < until; seed++)
    compare(seed, comparisons, { small: values.small })
  console.log(tableOf(comparisons))
  for (const { defects, extension, worse } of comparisons)
    for (const { off, on, seed } of worse)
      console.log(
        `${extension}, seed ${seed}: two for ${on.toFixed(1)} ms with it, ${off.toFixed(1)} without (${defects})`,
      )
  process.exit(0)
}
if (values.neighbours) {
  const found = newNeighbours()
  for (let seed = first; seed < first + count && performance.now() < until; seed++)
    compareNeighbours(seed, found, { small: values.small })
  console.log(neighboursTable(found))
  for (const { alone, mixed, question, seed } of found.worse)
    console.log(`seed ${seed}: ${question} ${mixed.toFixed(1)} ms mixed, ${alone.toFixed(1)} with keepalived alone`)
  process.exit(0)
}
for (let seed = first; seed < first + count && performance.now() < until; seed++) {
  const failure = prove(seed, tally, { small: values.small, peers })
  if (failure !== undefined) {
    mkdirSync(values.out, { recursive: true })
    const file = join(values.out, `seed-${seed}.json`)
    writeFileSync(file, `${JSON.stringify(failure.small, undefined, 1)}\n`)
    console.log(`seed ${seed}: ${failure.violations[0]?.text ?? 'fails no more when it is small'} (${file})`)
  }
  if (tally.histories % 500 === 0) console.log(`${tally.histories} histories, ${tally.failures.length} failed`)
}
const { failures, faults, histories, kinds, longest, ms, nodes, peers: beside, routers, steps } = tally
const cpu = process.cpuUsage()
console.log(
  [
    `${histories} histories, seeds ${first} to ${first + histories - 1}${values.small ? ' (small)' : ''}: ${failures.length} with a violation`,
    `${beside} of them with keepalived among the nodes; ${faults} faults, ${nodes} nodes, ${routers} addresses, ${(ms / 3_600_000).toFixed(1)} h of virtual time, ${steps} events`,
    `longest: two ${longest.two.toFixed(0)} ms, nobody ${longest.none.toFixed(0)} ms, a client ${longest.client.toFixed(0)} ms`,
    `${((cpu.user + cpu.system) / 1e6).toFixed(0)} s of CPU`,
    ...[...kinds].map(([kind, times]) => `  ${kind}: ${times}`),
  ].join('\n'),
)
process.exitCode = failures.length > 0 ? 1 : 0
