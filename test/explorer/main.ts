/** `make explore`: all settings to a depth, a row of figures for each, a story for what is wrong. See docs/reliability.md. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { explore } from './explore.ts'
import { SETTINGS } from './settings.ts'
import { storyOf } from './story.ts'

const { values } = parseArgs({
  options: {
    depth: { type: 'string', default: '14' },
    faults: { type: 'string', default: '2' },
    states: { type: 'string', default: '4000000' },
    setting: { type: 'string', default: '' },
    out: { type: 'string', default: 'build/stories' },
  },
})
const limits = { depth: Number(values.depth), faults: Number(values.faults), states: Number(values.states) }
const chosen = SETTINGS.filter(({ name }) => name.includes(values.setting))
console.log(
  '| setting | steps | faults | worlds | transitions | two Active, undisturbed / else, ms | two answer, ms | nobody, ms | no rest, ms | CPU, s |',
)
console.log('|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|')
for (const setting of chosen) {
  const before = process.cpuUsage()
  const { counterexample, depth, exhausted, longest, states, transitions } = explore(setting, limits)
  const cpu = process.cpuUsage(before)
  const seconds = (cpu.user + cpu.system) / 1e6
  const { active, answers, disturbed, settled, undisturbed } = longest
  const steps = exhausted ? `${depth} (all)` : depth
  const overlaps = `${undisturbed} / ${disturbed} | ${answers} | ${active} | ${settled}`
  console.log(
    `| ${setting.name} | ${steps} | ${limits.faults} | ${states} | ${transitions} | ${overlaps} | ${seconds.toFixed(0)} |`,
  )
  if (counterexample === undefined) continue
  process.exitCode = 1
  mkdirSync(values.out, { recursive: true })
  const file = join(values.out, `${setting.name}.txt`)
  const story = storyOf(setting, counterexample)
  writeFileSync(file, story)
  console.log(`\n${file}:\n${story}`)
}
