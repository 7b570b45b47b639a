/**
 * The scenarios of the virtual LAN with the real daemon in real namespaces. The outcome of the simulation must also hold with the kernel's
 * packets and time, for both families and both kinds of sockets. Decides the interval and nothing else.
 */
import { test } from 'vitest'
import { SHARED_SCENARIOS } from '../scenario/shared-scenarios.ts'
import { type NetnsVariant, openNetnsLan } from '../support/netns-lan.ts'
import { describeNetns, describeRawSocket } from '../support/require.ts'

const INTERVAL = 100

const VARIANTS: readonly NetnsVariant[] = [
  { io: 'addon', family: 'ipv4' },
  { io: 'addon', family: 'ipv6' },
  { io: 'raw-socket', family: 'ipv4' },
  { io: 'raw-socket', family: 'ipv6' },
]

for (const variant of VARIANTS) {
  const describeVariant = variant.io === 'addon' ? describeNetns : describeRawSocket
  describeVariant(`network namespaces, ${variant.family}, io: ${variant.io}, every ${INTERVAL} ms`, () => {
    const applicable = SHARED_SCENARIOS.filter(({ plan }) => plan.bothFamilies !== true || variant.family === 'ipv4')
    test.each(applicable.map((scenario) => [scenario.name, scenario] as const))('%s', async (_name, scenario) => {
      const lan = await openNetnsLan(variant)({ ...scenario.plan, interval: INTERVAL })
      try {
        await scenario.play(lan)
      } catch (error) {
        throw new Error(`${error instanceof Error ? error.message : error}\n${await lan.story()}`, { cause: error })
      } finally {
        await lan.close()
      }
    })
  })
}
