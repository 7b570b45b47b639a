/**
 * Counts test runs for .ci/run: writes `PASSED FAILED` to the file that HOLDFAST_TEST_SUMMARY names, nothing without it, and
 * a line for each failure after that: whoever sees only the end of a long log has to learn what failed, and what was
 * seen instead. Decides that what the file has already is an earlier run's and is counted on, and that a file that cannot
 * be loaded and an error outside any test are failures. Refuses to know how this is shown.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import type { SerializedError } from 'vitest'
import type { Reporter, TestModule } from 'vitest/node'

export class SummaryReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    let passed = 0
    const failures = unhandled.map((error) => `outside any test: ${inOneLine(error)}`)
    for (const module of modules) {
      const before = failures.length
      for (const test of module.children.allTests()) {
        const { state, errors } = test.result()
        if (state === 'passed') passed += 1
        // A hook of a suite that throws leaves its tests unfinished.
        else if (state !== 'skipped') {
          failures.push(`${module.relativeModuleId}: ${test.fullName}: ${inOneLine(errors?.[0])}`)
        }
      }
      if (module.state() === 'failed' && failures.length === before) {
        failures.push(`${module.relativeModuleId}: ${inOneLine(module.errors()[0])}`)
      }
    }
    const path = process.env.HOLDFAST_TEST_SUMMARY
    if (path === undefined || path === '') return
    const [count = '', ...earlier] = existsSync(path) ? readFileSync(path, 'utf8').split('\n').filter(Boolean) : []
    const [earlierPassed = 0] = count.split(' ').map(Number)
    const failed = [...earlier, ...failures]
    writeFileSync(path, `${[`${earlierPassed + passed} ${failed.length}`, ...failed].join('\n')}\n`)
  }
}

/** A message of many lines may tell what matters in any of them; a story of a thousand is in the log above. */
const ENOUGH = 1_200

function inOneLine(error: SerializedError | undefined): string {
  const message = (error?.message ?? 'did not finish').trim().replaceAll(/\s*\n\s*/g, ' | ')
  return message.length > ENOUGH ? `${message.slice(0, ENOUGH)} … (${message.length} characters)` : message
}

// The one default export of this house: vitest loads a reporter from a file by its default export.
export default SummaryReporter
