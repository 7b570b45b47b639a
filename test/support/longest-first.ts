/**
 * Orders the test files of a project by their duration in the run that docs/test-costs.md shows, the longest first. So
 * no long file runs alone at the end. A file without a row took less than two seconds or is new, and comes last.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

const PAGE = join(import.meta.dirname, '..', '..', 'docs', 'test-costs.md')
/**
 * Matches a row of the table in docs/test-costs.md: `| FILE
 * PROJECT
 * TESTS
 * WALL
 * …`.
 */
const ROW = /^\| (\S+\.test\.ts) \| \S+ \| \d+ \| ([\d.]+) \|/gm

/** Returns the wall time in seconds of each test file in the table of costs, by the file's path below test/. */
export function wallTimes(page: string): ReadonlyMap<string, number> {
  return new Map([...page.matchAll(ROW)].map(([, file = '', wall]) => [file, Number(wall)]))
}

export class LongestFirst extends BaseSequencer {
  readonly #walls = wallTimes(readFileSync(PAGE, 'utf8'))

  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const wall = ({ moduleId }: TestSpecification) => this.#walls.get(moduleId.split('/test/').at(-1) ?? '') ?? 0
    const sorted = await super.sort(files)
    return sorted.sort((one, other) => (one.project === other.project ? wall(other) - wall(one) : 0))
  }
}
