/**
 * Counts the tests of a run for .ci/run. The reporter writes `PASSED FAILED` to the file that HOLDFAST_TEST_SUMMARY
 * names, then one line for each failure. With these lines the end of a long log shows the failures and the observed
 * values. The counts of an earlier run in that file are added. A test file that cannot be loaded, and an error outside
 * of any test, are failures. If HOLDFAST_TEST_UNJUDGED names a file, the test files whose failures cannot be judged
 * (test/judge/time.ts) are listed there and not counted. scripts/tests.sh runs them again.
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
    // An error outside of any test may belong to any test file.
    const unjudged = path === undefined || outside.length > 0 ? [] : all.filter(isUnjudged)
    // If more test files than MOST cannot be judged, the cause is not a busy machine, and their failures count.
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

/** Largest number of test files that are run again because they could not be judged. */
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
    // If a hook of a suite throws, the tests of that suite stay unfinished.
    else if (state !== 'skipped') failure(`${test.fullName}: `, errors?.[0], test.meta().loss ?? module.meta().loss)
  }
  if (module.state() === 'failed' && failures.length === 0) failure('', module.errors()[0], module.meta().loss)
  return { file: module.relativeModuleId, project: module.project.name, passed, failures }
}

/**
 * Longest printed message of a failure, in characters. Any line of a message may matter. The whole message is further
 * up in the log.
 */
const ENOUGH = 1_200

function inOneLine(error: SerializedError | undefined): string {
  const message = (error?.message ?? 'did not finish').trim().replaceAll(/\s*\n\s*/g, ' | ')
  return message.length > ENOUGH ? `${message.slice(0, ENOUGH)} … (${message.length} characters)` : message
}

// This line is the one default export of the repository: Vitest loads a reporter from a file by its default export.
export default SummaryReporter
