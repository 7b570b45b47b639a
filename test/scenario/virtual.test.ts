/** The shared scenarios on the virtual LAN, at the fastest, the usual and the slowest interval. */
import { describe, test } from 'vitest'
import { openSimulatedLan } from '../support/simulated-lan.ts'
import { SHARED_SCENARIOS } from './shared-scenarios.ts'

describe.each([10, 100, 1000, 40_950])('virtual LAN, one advertisement every %i ms', (interval) => {
  test.each(SHARED_SCENARIOS.map((scenario) => [scenario.name, scenario] as const))('%s', async (_name, scenario) => {
    const lan = await openSimulatedLan({ ...scenario.plan, interval })
    try {
      await scenario.play(lan)
    } catch (error) {
      throw new Error(`${error instanceof Error ? error.message : error}\n${await lan.story()}`)
    } finally {
      await lan.close()
    }
  })
})
