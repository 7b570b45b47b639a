/**
 * Appends one JSON line for each test file of a run to a history file: build/test-history.jsonl, or the file that
 * HOLDFAST_TEST_HISTORY names. scripts/test-history.mjs reads the history. This file decides which figures of a test
 * file are stored. This file does not decide how they are shown.
 */
import { appendFileSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Reporter, TestModule } from 'vitest/node'
import type {} from './cost-of-file.ts'

const DEFAULT_PATH = 'build/test-history.jsonl'

export class HistoryReporter implements Reporter {
  /** Name of the test run, equal for all lines of one process: its start in ISO 8601, UTC. */
  readonly #run = process.env.HOLDFAST_TEST_RUN ?? new Date().toISOString()

  onTestRunEnd(modules: readonly TestModule[]): void {
    const path = process.env.HOLDFAST_TEST_HISTORY ?? DEFAULT_PATH
    mkdirSync(dirname(path), { recursive: true })
    appendFileSync(path, modules.map((module) => `${JSON.stringify(this.#lineOf(module))}\n`).join(''))
  }

  /**
   * Returns the line of one test file. Times are in milliseconds. `wait` is the time in which neither the test process
   * nor its ended programs used the CPU.
   */
  #lineOf(module: TestModule) {
    const { own = 0, programs = 0, wall = 0 } = module.meta().cost ?? {}
    return {
      run: this.#run,
      file: module.relativeModuleId,
      project: module.project.name,
      state: module.state(),
      attempt: Number(process.env.HOLDFAST_TEST_ATTEMPT ?? 1),
      tests: [...module.children.allTests()].length,
      wall,
      own,
      programs,
      wait: Math.max(0, wall - own - programs),
    }
  }
}

// Vitest loads a reporter from a file by its default export.
export default HistoryReporter
