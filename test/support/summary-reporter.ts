/**
 * Counts test runs for .ci/run: writes `PASSED FAILED` to the file that HOLDFAST_TEST_SUMMARY names, nothing without it, and
 * a line for each failure after that: whoever sees only the end of a long log has to learn what failed, and what was
 * seen instead. Decides that what the file has already is an earlier run's and is counted on, and that a file that cannot
 * be loaded and an error outside any test are failures. Where HOLDFAST_TEST_COMPANY names a file, a few files that ran beside
 * others and failed go there instead, uncounted: whoever asked for that runs them by themselves. Refuses to know how this is shown.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import type { SerializedError } from 'vitest'
import type { Reporter, TestModule } from 'vitest/node'

export class SummaryReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    const outside = unhandled.map((error) => `outside any test: ${inOneLine(error)}`)
    const all = modules.map(countOf)
    const company = process.env.HOLDFAST_TEST_COMPANY
    const beside = all.filter(({ project }) => project === 'waiting')
    const missed = beside.length > 1 ? beside.filter(({ failures }) => failures.length > 0) : []
    // More at once are no accident. An error outside any test may be theirs.
    const again = company === undefined || missed.length > FEW || outside.length > 0 ? [] : missed
    const counted = all.filter((one) => !again.includes(one))
    const passed = counted.reduce((sum, one) => sum + one.passed, 0)
    const failures = [...outside, ...counted.flatMap((one) => one.failures.map((failure) => `${one.file}: ${failure}`))]
    if (company !== undefined && again.length > 0) {
      const lines = again.map((one) => `${one.file}\t${one.failures.join(' || ')}`)
      writeFileSync(company, `${[String(failures.length), ...lines].join('\n')}\n`)
    }
    const path = process.env.HOLDFAST_TEST_SUMMARY
    if (path === undefined || path === '') return
    const [count = '', ...earlier] = existsSync(path) ? readFileSync(path, 'utf8').split('\n').filter(Boolean) : []
    const [earlierPassed = 0] = count.split(' ').map(Number)
    const failed = [...earlier, ...failures]
    writeFileSync(path, `${[`${earlierPassed + passed} ${failed.length}`, ...failed].join('\n')}\n`)
  }
}

/** Files. */
const FEW = 3

type Count = {
  readonly file: string
  readonly project: string
  readonly passed: number
  readonly failures: readonly string[]
}

function countOf(module: TestModule): Count {
  let passed = 0
  const failures: string[] = []
  for (const test of module.children.allTests()) {
    const { state, errors } = test.result()
    if (state === 'passed') passed += 1
    // A hook of a suite that throws leaves its tests unfinished.
    else if (state !== 'skipped') failures.push(`${test.fullName}: ${inOneLine(errors?.[0])}`)
  }
  if (module.state() === 'failed' && failures.length === 0) failures.push(inOneLine(module.errors()[0]))
  return { file: module.relativeModuleId, project: module.project.name, passed, failures }
}

/** A message of many lines may tell what matters in any of them; a story of a thousand is in the log above. */
const ENOUGH = 1_200

function inOneLine(error: SerializedError | undefined): string {
  const message = (error?.message ?? 'did not finish').trim().replaceAll(/\s*\n\s*/g, ' | ')
  return message.length > ENOUGH ? `${message.slice(0, ENOUGH)} … (${message.length} characters)` : message
}

// The one default export of this house: vitest loads a reporter from a file by its default export.
export default SummaryReporter
