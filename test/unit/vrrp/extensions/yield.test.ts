/** An operator makes an Active yield, with Leaving and without it. */
import { describe, expect, test } from 'vitest'
import { extendedStep as step } from '../../../../src/vrrp/extensions/index.ts'
import { active, backup, leaving, ms, PROFILES, parameters, VIPS, yielded } from '../fsm-fixture.ts'

describe('yield', () => {
  test('with profile holdfast a yield sends priority 0 and enters Leaving', () => {
    expect(step(active(), yielded, parameters('holdfast', { priority: 1 }), ms(300))).toEqual([
      leaving({ reason: 'yield', until: ms(2300), repeatAt: ms(302) }),
      [
        { kind: 'sendAdvertisement', priority: 0, reason: 'yield' },
        { kind: 'transition', from: 'Active', to: 'Leaving', reason: 'yield' },
      ],
    ])
  })

  test('without the option leaving a yield sends priority 0, removes the addresses and enters Backup', () => {
    // Priority 1: Skew_Time 996.09375 ms.
    expect(step(active(), yielded, parameters('rfc9568', { priority: 1 }), ms(300))).toEqual([
      backup({ enteredAt: ms(300), activeDownAt: ms(4296.09375), holderChangedAt: ms(300) }),
      [
        { kind: 'sendAdvertisement', priority: 0, reason: 'yield' },
        { kind: 'removeAddresses', addresses: VIPS },
        { kind: 'transition', from: 'Active', to: 'Backup', reason: 'yield' },
      ],
    ])
  })

  test.each(PROFILES)('an owner does not yield, %s', (profile) => {
    expect(step(active(), yielded, parameters(profile, { priority: 255 }), ms(300))).toEqual([active(), []])
  })
})
