/**
 * Counts test runs for .ci/run: writes `PASSED FAILED` to the file that HOLDFAST_TEST_SUMMARY names, and a line for
 * each failure after that. A reader of the end of a long log then learns the failures and the observed values. The
 * counts of an earlier run in the file are added. A file that cannot be loaded and an error outside any test are
 * failures. If HOLDFAST_TEST_UNJUDGED names a file, test files whose failures cannot be judged (test/judge/time.ts)
 * go there, uncounted. scripts/tests.sh runs them again.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import type { SerializedError } from 'vitest'
import type { Reporter, TestModule } from 'vitest/node'
import { type Failure, inWords, isWorthAnotherAttempt, type Loss } from '../judge/time.ts'
import type {} from './cost-of-file.ts'

export class SummaryReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    const outside = unhandled.map((error) => `outside any test: ${inOneLine(error)}`)
    const all = modules.map(countOf)
    const path = process.env.HOLDFAST_TEST_UNJUDGED
    // An error outside any test may belong to any file.
    const unjudged = path === undefined || outside.length > 0 ? [] : all.filter(isUnjudged)
    // More failures than this together are no accident of the machine.
    const again = unjudged.length > MOST ? [] : unjudged
    const counted = all.filter((one) => !again.includes(one))
    const passed = counted.reduce((sum, one) => sum + one.passed, 0)
    const failures = [
      ...outside,
      ...counted.flatMap((one) => one.failures.map((failure) => `${one.file}: ${failure.text}`)),
    ]
    if (path !== undefined && again.length > 0) {
      const lines = again.map((one) => [one.file, one.project, one.failures.map(told).join(' || ')].join('\t'))
      writeFileSync(path, `${[String(failures.length), ...lines].join('\n')}\n`)
    }
    count(passed, failures)
  }
}

/** Number of files. */
const MOST = 6

type ToldFailure = Failure & { readonly text: string }
type Count = {
  readonly file: string
  readonly project: string
  readonly passed: number
  readonly failures: readonly ToldFailure[]
}

const isUnjudged = ({ failures }: Count) => failures.length > 0 && isWorthAnotherAttempt(failures)
const told = ({ loss, text }: ToldFailure) => (loss === undefined ? text : `${text} (${inWords(loss)})`)

function count(passed: number, failures: readonly string[]): void {
  const path = process.env.HOLDFAST_TEST_SUMMARY
  if (path === undefined || path === '') return
  const [figures = '', ...earlier] = existsSync(path) ? readFileSync(path, 'utf8').split('\n').filter(Boolean) : []
  const [earlierPassed = 0] = figures.split(' ').map(Number)
  const failed = [...earlier, ...failures]
  writeFileSync(path, `${[`${earlierPassed + passed} ${failed.length}`, ...failed].join('\n')}\n`)
}

function countOf(module: TestModule): Count {
  let passed = 0
  const failures: ToldFailure[] = []
  const failure = (prefix: string, error: SerializedError | undefined, loss: Loss | undefined) =>
    failures.push({ text: `${prefix}${inOneLine(error)}`, name: error?.name ?? '', loss })
  for (const test of module.children.allTests()) {
    const { state, errors } = test.result()
    if (state === 'passed') passed += 1
    // A hook of a suite that throws leaves its tests unfinished.
    else if (state !== 'skipped') failure(`${test.fullName}: `, errors?.[0], test.meta().loss ?? module.meta().loss)
  }
  if (module.state() === 'failed' && failures.length === 0) failure('', module.errors()[0], module.meta().loss)
  return { file: module.relativeModuleId, project: module.project.name, passed, failures }
}

/**
 * Longest message in characters. Any line of a message may matter; a story of a thousand lines is in the log above.
 */
const ENOUGH = 1_200

function inOneLine(error: SerializedError | undefined): string {
  const message = (error?.message ?? 'did not finish').trim().replaceAll(/\s*\n\s*/g, ' | ')
  return message.length > ENOUGH ? `${message.slice(0, ENOUGH)} … (${message.length} characters)` : message
}

// The one default export of this repository: vitest loads a reporter from a file by its default export.
export default SummaryReporter
