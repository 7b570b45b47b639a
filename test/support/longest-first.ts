/**
 * Orders the test files of a project by their duration in the run that docs/test-costs.md shows, the longest first. In
 * this order no long file runs alone at the end. A file without a row took less than two seconds or is new, and comes
 * last.
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

/**
 * Returns the files in the order in which they start: of each project the longest first. If two projects run together, their
 * files start at the same pace: half of the seconds of the one start with half of the seconds of the other.
 */
export function inOrder<File>(
  files: readonly File[],
  projectOf: (file: File) => string,
  wallOf: (file: File) => number,
): File[] {
  const started = new Map<string, number>()
  const before = new Map<File, number>()
  const longestFirst = files.toSorted((one, other) => wallOf(other) - wallOf(one))
  for (const file of longestFirst) {
    const sum = started.get(projectOf(file)) ?? 0
    before.set(file, sum)
    started.set(projectOf(file), sum + wallOf(file))
  }
  const part = (file: File) => (before.get(file) ?? 0) / (started.get(projectOf(file)) || 1)
  return longestFirst.toSorted((one, other) => part(one) - part(other))
}

export class LongestFirst extends BaseSequencer {
  readonly #walls = wallTimes(readFileSync(PAGE, 'utf8'))

  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const wallOf = ({ moduleId }: TestSpecification) => this.#walls.get(moduleId.split('/test/').at(-1) ?? '') ?? 0
    return inOrder(await super.sort(files), ({ project }) => project.name, wallOf)
  }
}
