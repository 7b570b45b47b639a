/**
 * Creates a lab that is removed when the test ends, however the test ends. A test that runs beside others of its file gives
 * its own `finished`.
 */
import { onTestFinished, type TestContext } from 'vitest'
import { createLab, type Lab, type LabOptions } from '../../src/lab/lab.ts'

export function labOfTest(options: LabOptions, finished: TestContext['onTestFinished'] = onTestFinished): Lab {
  const lab = createLab(options)
  finished(() => lab.destroy())
  return lab
}
