/** Tests that each defect of `make defects` can still be planted, and that the test that must find it is there. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { DEFECTS, planted } from '../../defects/defects.ts'

const read = (file: string) => readFileSync(join(import.meta.dirname, '..', '..', '..', file), 'utf8')

test.each(DEFECTS.map((defect) => [defect.name, defect] as const))('"%s" can be planted', (_, defect) => {
  expect(planted(defect, read).map(({ after, text }) => after === text)).not.toContain(true)
  expect(read(defect.test), `a test of ${defect.test}`).toContain(defect.only)
})
