/** Creates a lab that is removed when the test ends, however the test ends. Not for tests that run beside others of their file. */
import { onTestFinished } from 'vitest'
import { createLab, type Lab, type LabOptions } from '../../src/lab/lab.ts'

export function labOfTest(options: LabOptions): Lab {
  const lab = createLab(options)
  onTestFinished(() => lab.destroy())
  return lab
}
