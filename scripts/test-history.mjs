#!/usr/bin/env node
/**
 * Shows the cost of test files, from the history that test/support/history-reporter.ts writes.
 * `node scripts/test-history.mjs` prints the slowest test files of the newest run, and each test file that needed a
 * second attempt in any run.
 * `node scripts/test-history.mjs --table` writes the table of docs/test-costs.md from the newest run.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '..')
const HISTORY = process.env.HOLDFAST_TEST_HISTORY ?? join(ROOT, 'build/test-history.jsonl')
const PAGE = join(ROOT, 'docs/test-costs.md')
const [BEGIN, END] = ['<!-- costs: begin -->', '<!-- costs: end -->']
const SLOWEST = 10

if (!existsSync(HISTORY)) {
  console.error(`Cannot read ${HISTORY}: no test has run here yet`)
  process.exit(66)
}
const lines = readFileSync(HISTORY, 'utf8')
  .split('\n')
  .filter(Boolean)
  .map((line) => JSON.parse(line))
const newest = lines.at(-1)?.run
const last = lines.filter(({ run }) => run === newest).sort((one, other) => other.wall - one.wall)
const seconds = (ms) => (ms / 1_000).toFixed(1)

if (process.argv.includes('--table')) writeTable()
else print()

function print() {
  for (const { attempt, file, own, programs, state, wait, wall } of last.slice(0, SLOWEST))
    console.log(
      `${seconds(wall).padStart(6)} s  CPU ${seconds(own + programs)} s  waits ${seconds(wait)} s  ${file}${state === 'passed' ? '' : ` ${state}`}${attempt > 1 ? `, attempt ${attempt}` : ''}`,
    )
  const again = lines.filter(({ attempt }) => attempt > 1)
  for (const { file, run, state } of again) console.log(`second attempt: ${file}, ${state} (run of ${run})`)
}

/**
 * Writes the table of docs/test-costs.md. Second attempts are left out: they ran alone, and their test files have a row
 * already.
 */
function writeTable() {
  const once = last.filter(({ attempt }) => attempt === 1)
  const row = ({ file, own, programs, project, tests, wait, wall }) =>
    `| ${file.replace(/^test\//, '')} | ${project} | ${tests} | ${seconds(wall)} | ${seconds(own)} | ${seconds(programs)} | ${seconds(wait)} |`
  const projects = [...new Set(once.map(({ project }) => project))]
  const sum = (files, name) => files.reduce((total, one) => total + one[name], 0)
  const total = (project) => {
    const files = once.filter((one) => one.project === project)
    const figures = ['wall', 'own', 'programs', 'wait'].map((name) => seconds(sum(files, name)))
    return `| ${project} | ${files.length} | ${sum(files, 'tests')} | ${figures.join(' | ')} |`
  }
  const table = [
    BEGIN,
    `Run of ${newest.slice(0, 10)}; seconds. The wall times of files that ran beside each other overlap.`,
    '',
    '| project | files | tests | wall | CPU of the tests | CPU of programs | waiting |',
    '|---|---|---|---|---|---|---|',
    ...projects.map(total),
    '',
    'Files of two seconds and more:',
    '',
    '| file | project | tests | wall | CPU of the tests | CPU of programs | waiting |',
    '|---|---|---|---|---|---|---|',
    ...once.filter(({ wall }) => wall >= 2_000).map(row),
    END,
  ].join('\n')
  const page = readFileSync(PAGE, 'utf8')
  writeFileSync(PAGE, page.slice(0, page.indexOf(BEGIN)) + table + page.slice(page.indexOf(END) + END.length))
}
