/**
 * `make defects`: plants one defect after the other (defects.ts) in a daemon of its own, runs the test that must fail with it, and
 * says whether it did. Exit status 1 after a defect that was not found, 64 for wrong usage, 77 without root. The checkout and its
 * dist/ stay as they are: the defects live in a copy below build/.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { packageRoot } from '../../src/lab/installation.ts'
import { DEFECTS, type Defect, planted } from './defects.ts'

const ROOT = packageRoot()
const COPY = join(ROOT, 'build', 'defects')
const RESULT = join(COPY, 'build', 'result.json')
/** What is no longer used because of a defect is none. */
const TSC = ['npx', '--no-install', 'tsc', '-p', 'tsconfig.build.json', '--noUnusedLocals', 'false']
/** What a build makes, or what belongs to this checkout alone. */
const LEFT_OUT = new Set(['.git', 'build', 'dist', 'node_modules'])
/** A test that fails for another reason, on a machine that others keep busy, is tried again so often in all. */
const ATTEMPTS = 3

type Outcome = { readonly ran: number; readonly failures: readonly string[] }
type Report = {
  readonly numTotalTests: number
  readonly numPendingTests: number
  readonly testResults: readonly {
    readonly message: string
    readonly assertionResults: readonly { readonly failureMessages?: readonly string[] | null }[]
  }[]
}

function fail(message: string, status: number): never {
  process.stderr.write(`defects: ${message}\n`)
  process.exit(status)
}

function copy(): void {
  rmSync(COPY, { recursive: true, force: true })
  mkdirSync(join(COPY, 'build'), { recursive: true })
  for (const name of readdirSync(ROOT))
    if (!LEFT_OUT.has(name)) cpSync(join(ROOT, name), join(COPY, name), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(COPY, 'node_modules'))
}

function build(): void {
  for (const argv of [TSC, ['node', 'scripts/bundle.mjs']]) {
    const [program = '', ...rest] = argv
    const { status, stdout, stderr } = spawnSync(program, rest, { cwd: COPY, encoding: 'utf8' })
    if (status !== 0) fail(`Cannot build: ${argv.join(' ')}: ${stdout}${stderr}`, 1)
  }
}

function run({ only, test }: Defect): Outcome {
  rmSync(RESULT, { force: true })
  const pattern = only.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
  const argv = ['--no-install', 'vitest', 'run', '--reporter=json', `--outputFile=${RESULT}`, '-t', pattern, test]
  const { stderr } = spawnSync('npx', argv, {
    cwd: COPY,
    encoding: 'utf8',
    env: { ...process.env, REQUIRE_NETNS: '1' },
  })
  try {
    const { numPendingTests, numTotalTests, testResults }: Report = JSON.parse(readFileSync(RESULT, 'utf8'))
    const failures = testResults.flatMap(({ assertionResults, message }) => [
      ...(message === '' ? [] : [message]),
      ...assertionResults.flatMap(({ failureMessages }) => failureMessages ?? []),
    ])
    return { ran: numTotalTests - numPendingTests, failures }
  } catch {
    return fail(`Cannot read what vitest says of ${test}: ${stderr}`, 1)
  }
}

/** Returns a sentence for a defect that was not found; `undefined` if it was. */
function search(defect: Defect): string | undefined {
  let told = ''
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const { failures, ran } = run(defect)
    if (failures.some((failure) => defect.says.test(failure))) return undefined
    if (ran === 0 && failures.length === 0) return `no test of ${defect.test} has "${defect.only}" in its name`
    if (failures.length === 0) return `${defect.test} passed with it`
    told = `${defect.test} failed for another reason: ${failures[0]?.split('\n')[0]}`
  }
  return told
}

/** Returns a sentence if the test fails without the defect. */
function control(defect: Defect): string | undefined {
  const { failures, ran } = run(defect)
  return ran > 0 && failures.length === 0
    ? undefined
    : `${defect.test} fails without it: ${failures[0]?.split('\n')[0]}`
}

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    control: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) {
  process.stdout.write(`usage: make defects [ARGS='--only WORDS'] [ARGS=--control]
  --only WORDS  the defects with these words in their names
  --control     the same tests without any defect: they must pass
${DEFECTS.map(({ name, test }) => `  ${name}: ${test}\n`).join('')}`)
  process.exit(0)
}
if (process.getuid?.() !== 0) fail('Cannot make network namespaces: not root', 77)
const chosen = DEFECTS.filter(({ name }) => name.includes(values.only))
if (chosen.length === 0) fail(`Cannot use --only "${values.only}": no defect has these words in its name`, 64)

copy()
if (values.control) build()
let missing = 0
for (const defect of chosen) {
  const began = performance.now()
  const before = planted(defect, (file) => readFileSync(join(COPY, file), 'utf8'))
  if (!values.control) {
    for (const { file, after } of before) writeFileSync(join(COPY, file), after)
    build()
  }
  const problem = values.control ? control(defect) : search(defect)
  for (const { file, text } of before) writeFileSync(join(COPY, file), text)
  if (problem !== undefined) missing++
  const seconds = ((performance.now() - began) / 1_000).toFixed(0)
  const result = problem === undefined ? (values.control ? 'passes without it' : 'found') : `NOT FOUND: ${problem}`
  process.stdout.write(`${defect.name}: ${result} (${seconds} s)\n`)
}
rmSync(COPY, { recursive: true, force: true })
process.stdout.write(`${chosen.length - missing} of ${chosen.length}\n`)
process.exit(missing === 0 ? 0 : 1)
