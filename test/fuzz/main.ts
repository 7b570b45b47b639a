/** `make fuzz`: a line for each target, and a file for each input that fails. See docs/fuzzing.md. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { hashOf } from '../../src/simulator/chance.ts'
import { fuzz } from './fuzz.ts'
import { TARGETS } from './targets.ts'
import { startWatchdog } from './watchdog.ts'

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    inputs: { type: 'string', default: '1000000' },
    /** Limits for each target. */
    seconds: { type: 'string', default: '86400' },
    target: { type: 'string', default: '' },
    outcomes: { type: 'boolean', default: false },
    out: { type: 'string', default: 'build/fuzz' },
  },
})
const chosen = TARGETS.filter(({ name }) => values.target === '' || values.target.split(',').includes(name))
if (chosen.length === 0) {
  console.error(`Cannot fuzz "${values.target}": there are ${TARGETS.map(({ name }) => name).join(', ')}`)
  process.exit(64)
}
mkdirSync(values.out, { recursive: true })
const watchdog = startWatchdog(join(values.out, 'does-not-end'))
for (const target of chosen) {
  const before = process.cpuUsage()
  const tally = fuzz(target, {
    seed: Number(values.seed),
    inputs: Number(values.inputs),
    until: performance.now() + Number(values.seconds) * 1_000,
    onInput: watchdog.see,
    onFailure({ message, small }) {
      const file = join(values.out, `${target.name}-${hashOf(message).toString(16)}`)
      writeFileSync(file, small)
      console.log(`${target.name}: ${message.slice(0, 600)}\n  ${small.length} octets in ${file}`)
    },
  })
  const { user, system } = process.cpuUsage(before)
  const cpu = Math.round((user + system) / 1e6)
  const { failures, inputs, outcomes } = tally
  console.log(`| ${target.name} | ${inputs} | ${cpu} | ${outcomes.size} | ${failures.length} |`)
  if (values.outcomes)
    for (const [outcome, times] of [...outcomes].sort(([, a], [, b]) => b - a)) console.log(`  ${times} ${outcome}`)
  if (failures.length > 0) process.exitCode = 1
}
await watchdog.end()
