/**
 * The scenarios of the virtual LAN once more, with the real daemon in real namespaces: what the simulation promises
 * must hold where packets and time are the kernel's. Decides the interval and nothing else.
 */
import { test } from 'vitest'
import { SHARED_SCENARIOS } from '../scenario/shared-scenarios.ts'
import { openNetnsLan } from '../support/netns-lan.ts'
import { describeNetns } from '../support/require.ts'

const INTERVAL = 100

describeNetns(`network namespaces, one advertisement every ${INTERVAL} ms`, () => {
  test.each(SHARED_SCENARIOS.map((scenario) => [scenario.name, scenario] as const))('%s', async (_name, scenario) => {
    const lan = await openNetnsLan({ ...scenario.plan, interval: INTERVAL })
    try {
      await scenario.play(lan)
    } catch (error) {
      throw new Error(`${error instanceof Error ? error.message : error}\n${await lan.story()}`, { cause: error })
    } finally {
      await lan.close()
    }
  })
})
