/**
 * Plays every *.txt of this folder and compares the whole trace. `UPDATE_SCENARIOS=1 npx vitest run test/scenario`
 * writes the events into the files: then a reviewer reads the diff.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { perform } from './scenario.ts'

const files = readdirSync(import.meta.dirname).filter((name) => name.endsWith('.txt'))

describe('scenarios', () => {
  test.each(files)('%s: the trace is that of the file', (name) => {
    const path = join(import.meta.dirname, name)
    const written = readFileSync(path, 'utf8')
    const played = perform(written)
    if (process.env.UPDATE_SCENARIOS === '1') writeFileSync(path, played)
    else expect(played, `${name}: what happened is not what is written`).toBe(written)
  })

  test('the folder has scenarios', () => {
    expect(files.length).toBeGreaterThanOrEqual(9)
  })
})
