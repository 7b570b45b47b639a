/**
 * The place of an accident: a lab that is removed in every exit path, with all its processes. This file does not know
 * what happens there.
 */

import { createLab, type Lab } from '../../src/lab/lab.ts'
import { namespacesStarting } from '../../src/lab/leftovers.ts'
import { PRIORITIES } from './accident.ts'

/** A daemon that outlives its run would disturb all later runs. */
function expectGone({ bridge }: Lab): void {
  const left = namespacesStarting(bridge.replace(/br$/, ''))
  if (left.length > 0) throw new Error(`Left behind: ${left.join(', ')}`)
}

export async function inLab<T>(happen: (lab: Lab) => Promise<T>): Promise<T> {
  const lab = createLab({ routers: PRIORITIES.length })
  try {
    return await happen(lab)
  } finally {
    lab.destroy()
    expectGone(lab)
  }
}
