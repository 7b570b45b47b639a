/** The last advertisement of a router that has lost (VR-FSM-28). */
import { describe, expect, test } from 'vitest'
import type { Effect } from '../../../../src/vrrp/effect.ts'
import { extendedStep as step } from '../../../../src/vrrp/extensions/index.ts'
import { ABOVE, active, heard, ms, parameters, VIPS } from '../fsm-fixture.ts'

const off: Effect = { kind: 'removeAddresses', addresses: VIPS }
const last: Effect = { kind: 'sendAdvertisement', priority: 128, reason: 'lost' }
const backupNow: Effect = {
  kind: 'transition',
  from: 'Active',
  to: 'Backup',
  reason: 'higherPriorityHeard',
  peer: ABOVE,
}
const losing = (knobs: object) => step(active(), heard(ABOVE, 200, 300), parameters('rfc9568', { knobs }), ms(300))

describe('last advertisement', () => {
  test('an Active that loses sends its last advertisement after the addresses are removed and before it is Backup', () => {
    const [next, effects] = losing({ lastAdvertisement: true })
    expect(effects).toEqual([off, last, backupNow])
    expect([next, [off, backupNow]]).toEqual(losing({ lastAdvertisement: false }))
  })

  test('with a grace period each address is removed after the announcement of the winner', () => {
    const [next, effects] = losing({ lastAdvertisement: true, keepUntilClaimed: true })
    expect(effects).toEqual([last, backupNow])
    expect(next).toMatchObject({ stillAnswered: VIPS.map((vip) => ({ address: vip, offAt: 320 })) })
  })

  test('an Active that wins sends no last advertisement', () => {
    const told = parameters('rfc9568', { knobs: { lastAdvertisement: true } })
    const [, effects] = step(active(), heard(ABOVE, 100, 300), told, ms(300))
    expect(effects.map(({ kind }) => kind)).toEqual(['refused', 'sendAdvertisement'])
  })
})
