/**
 * Counts a test run for .ci/run: writes `PASSED FAILED` to the file that HOLDFAST_TEST_SUMMARY names, nothing without
 * it. Decides that a file that cannot be loaded and an error outside any test are failures. Refuses to know how the
 * counts are shown.
 */
import { writeFileSync } from 'node:fs'
import type { SerializedError } from 'vitest'
import type { Reporter, TestModule } from 'vitest/node'

export class SummaryReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    let passed = 0
    let failed = unhandled.length
    for (const module of modules) {
      const before = failed
      for (const test of module.children.allTests()) {
        const { state } = test.result()
        if (state === 'passed') passed += 1
        // A hook of a suite that throws leaves its tests unfinished.
        else if (state !== 'skipped') failed += 1
      }
      if (module.state() === 'failed' && failed === before) failed += 1
    }
    const path = process.env.HOLDFAST_TEST_SUMMARY
    if (path !== undefined && path !== '') writeFileSync(path, `${passed} ${failed}\n`)
  }
}

// The one default export of this house: vitest loads a reporter from a file by its default export.
export default SummaryReporter
