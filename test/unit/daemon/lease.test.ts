/** Whether the guardian's clock may repeat advertisements, and what an operator reads if it may not. */
import { describe, expect, test } from 'vitest'
import type { Config } from '../../../src/config/config.ts'
import { leaseOf, leaseText } from '../../../src/daemon/guard/lease.ts'
import type { ClockPort } from '../../../src/daemon/ports.ts'

const config = (more: Partial<Pick<Config, 'io' | 'lease'>> = {}, priorities: readonly number[] = [100]) =>
  ({
    ...{ io: 'addon', lease: 'on', ...more },
    virtualRouters: priorities.map((priority, i) => ({ name: `r${i}`, priority })),
  }) as unknown as Config
const clock = {} as ClockPort
const WHOLE = { armed: true, guarded: true, clock }

describe('lease: on', () => {
  test.each([
    ['a guardian with a clock', {}, WHOLE, true, null, undefined],
    ['lease: off', { lease: 'off' }, WHOLE, false, null, undefined],
    ['raw-socket', { io: 'raw-socket' }, { ...WHOLE, clock: undefined }, false, 'raw-socket', /io: raw-socket/],
    ['no guardian', {}, { armed: false, guarded: false }, false, 'noGuardian', /there is no guardian/],
    ['no shared memory', {}, { armed: true, guarded: false }, false, 'noSharedMemory', /share no memory/],
    ['no clock thread', {}, { armed: true, guarded: true }, false, 'noClock', /no clock thread/],
  ] as const)('with %s', (_, more, guardian, inForce, reason, said) => {
    const lease = leaseOf(config(more), guardian)
    expect(lease).toMatchObject({ inForce, reason })
    if (said === undefined) expect(leaseText(lease)).toBeUndefined()
    else expect(leaseText(lease)).toMatch(said)
  })

  test('names the address owners, for which the engine advertises', () => {
    const lease = leaseOf(config({}, [100, 255]), WHOLE)
    expect(lease).toMatchObject({ inForce: true, owners: ['r1'] })
    expect(leaseText(lease)).toBe(
      'The engine sends each advertisement of r1: lease: on does not apply to an address owner',
    )
  })
})
