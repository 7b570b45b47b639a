/**
 * Failures that the simulator once found, each as a shrunk scenario in test/simulator/scenarios: they must not come
 * back. The file's name describes the failure, docs/simulated-histories.md its origin.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Scenario } from '../../src/simulator/scenario.ts'
import { violationsOf } from './prove.ts'

const MENDED = join(import.meta.dirname, 'scenarios')
const read = (file: string): Scenario => JSON.parse(readFileSync(join(MENDED, file), 'utf8'))

test.each(readdirSync(MENDED))('%s: the mended scenario passes', (file) => {
  expect(violationsOf(read(file)).map(({ text }) => text)).toEqual([])
})
