/**
 * Tests that failures which the simulator once found do not return. Such a failure is a reduced scenario in
 * test/simulator/scenarios. The name of the scenario's file describes the failure; docs/simulated-histories.md
 * describes its origin.
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
