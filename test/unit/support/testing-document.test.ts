/** The parts of pages that programs read and write: the example of docs/testing.md is a test that runs, docs/test-costs.md orders the files. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { expectPart } from '../../support/generated-document.ts'
import { inOrder, wallTimes } from '../../support/longest-first.ts'

const ROOT = join(import.meta.dirname, '..', '..', '..')

test('the example of the lab is test/netns/lab.test.ts', () => {
  const [, ...lines] = readFileSync(join(ROOT, 'test', 'netns', 'lab.test.ts'), 'utf8').split('\n')
  expectPart('testing.md', 'example', `\`\`\`ts\n${lines.join('\n')}\`\`\`\n`)
})

test('a row of the table of costs gives the wall time of its file', () => {
  const page = '| project | files |\n|---|---|\n| waiting | 137 |\n| netns/a.test.ts | waiting | 3 | 272.0 | 0.9 |\n'
  expect([...wallTimes(page)]).toEqual([['netns/a.test.ts', 272]])
})

test('two projects that run together start their files, the longest first, at the same pace', () => {
  const files = { w1: 60, w2: 30, w3: 10, c1: 6, c2: 3, c3: 1, w4: 0 }
  const wallOf = (file: string) => Object.entries(files).find(([name]) => name === file)?.[1] ?? 0
  const reversed = Object.keys(files).toReversed()
  expect(inOrder(reversed, ([project = '']) => project, wallOf)).toEqual(['w1', 'c1', 'w2', 'c2', 'w3', 'c3', 'w4'])
})

test('the table of costs has the files of several projects', () => {
  const files = [...wallTimes(readFileSync(join(ROOT, 'docs', 'test-costs.md'), 'utf8')).keys()]
  expect(files.length).toBeGreaterThan(50)
  expect(files).toContain('netns/release.test.ts')
})
