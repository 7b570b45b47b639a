/**
 * What the simulator has found, each in a file of test/simulator/scenarios as it was made small: it must not come back. The
 * file's name says what it was, docs/simulated-histories.md what it came from.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Scenario } from '../../src/simulator/scenario.ts'
import { violationsOf } from './prove.ts'

const MENDED = join(import.meta.dirname, 'scenarios')
const read = (file: string): Scenario => JSON.parse(readFileSync(join(MENDED, file), 'utf8'))

test.each(readdirSync(MENDED))('%s', (file) => {
  expect(violationsOf(read(file)).map(({ text }) => text)).toEqual([])
})
