/**
 * Creates the lab for one accident. The lab with all its processes is removed however this process ends. This file does
 * not know which accident happens in the lab.
 */

import { createLab, type Lab } from '../../src/lab/lab.ts'
import { namespacesStarting } from '../../src/lab/leftovers.ts'
import { PRIORITIES } from './accident.ts'

/** Throws if a network namespace of the lab still exists. A daemon in it would disturb all later runs. */
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
