/**
 * Runs `make explore`: explores all settings, and prints a row of figures for each setting and a story for each
 * finding. See docs/explorer.md.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { explore, type Limits } from './explore.ts'
import { SETTINGS } from './settings.ts'
import { storyOf } from './story.ts'
import type { Setting } from './world.ts'

const { values } = parseArgs({
  options: {
    depth: { type: 'string', default: '' },
    faults: { type: 'string', default: '' },
    states: { type: 'string', default: '' },
    setting: { type: 'string', default: '' },
    out: { type: 'string', default: 'build/stories' },
  },
})
/** Number of steps that no story reaches. */
const TO_THE_END = 1_000
/** Limits without options: the number of faults, and the largest number of worlds. */
const LONG_FORM: readonly Limits[] = [
  { depth: TO_THE_END, faults: 1 },
  { depth: TO_THE_END, faults: 2, states: 2_000_000 },
  { depth: TO_THE_END, faults: 3, states: 500_000 },
]
const given = (text: string, otherwise: number): number => (text === '' ? otherwise : Number(text))
const wanted = LONG_FORM.filter(({ faults }) => given(values.faults, faults) === faults)
const limits = (wanted.length > 0 ? wanted : [{ depth: TO_THE_END, faults: Number(values.faults) }]).map(
  ({ depth, faults, states = Number.POSITIVE_INFINITY }): Limits => {
    return { depth: given(values.depth, depth), faults, states: given(values.states, states) }
  },
)

const inMillions = (count: number): string => count.toLocaleString('en').replaceAll(',', ' ')

/** Explores a setting and prints its row. Returns false if something is wrong in the setting. */
function row(setting: Setting, limit: Limits): boolean {
  const before = process.cpuUsage()
  const { counterexample, depth, exhausted, longest, states, transitions } = explore(setting, limit)
  const cpu = process.cpuUsage(before)
  const [undisturbed, disturbed, answers, active, settled] = [
    longest.undisturbed,
    longest.disturbed,
    longest.answers,
    longest.active,
    longest.settled,
  ].map(Math.round)
  const cells = [
    ...[setting.name, limit.faults, exhausted ? `${depth} (all)` : depth],
    ...[inMillions(states), inMillions(transitions), `${undisturbed} / ${disturbed}`, answers, active, settled],
    ((cpu.user + cpu.system) / 1e6).toFixed(0),
  ]
  console.log(`| ${cells.join(' | ')} |`)
  if (counterexample === undefined) return true
  mkdirSync(values.out, { recursive: true })
  const file = join(values.out, `${setting.name}.txt`)
  const story = storyOf(setting, counterexample)
  writeFileSync(file, story)
  console.log(`\n${file}:\n${story}`)
  return false
}

console.log(
  '| setting | faults | steps | worlds | transitions | two Active, undisturbed / else, ms | two answer, ms | nobody, ms | no rest, ms | CPU, s |',
)
console.log('|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|')
for (const limit of limits)
  for (const setting of SETTINGS.filter(({ name }) => name.includes(values.setting)))
    if (!row(setting, limit)) process.exitCode = 1
