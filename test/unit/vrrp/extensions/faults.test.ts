/** Faults keep a router in Initialize (VR-TRK-06), in every profile. */
import { describe, expect, test } from 'vitest'
import type { Effect } from '../../../../src/vrrp/effect.ts'
import { extendedStep as step } from '../../../../src/vrrp/extensions/index.ts'
import {
  ABOVE,
  active,
  backup,
  initialize,
  installFailed,
  linkDown,
  linkUp,
  ms,
  PROFILES,
  parameters,
  startup,
  VIPS,
} from '../fsm-fixture.ts'

const FOLLOWING = backup({ active: { source: ABOVE, priority: 200, heardAt: ms(1000) }, activeDownAt: ms(4500) })

describe.each(PROFILES)('faults, %s', (profile) => {
  const told = parameters(profile)
  const owner = parameters(profile, { priority: 255 })

  test('a router with a fault does not start until its last fault is cleared', () => {
    const faulty = initialize({ faults: ['linkDown', 'sourceAddressMissing'] })
    const waiting = initialize({ stopped: false, faults: ['linkDown', 'sourceAddressMissing'] })
    expect(step(faulty, startup, told, ms(10))).toEqual([waiting, []])
    const one = initialize({ stopped: false, faults: ['sourceAddressMissing'] })
    expect(step(waiting, linkUp, told, ms(20))).toEqual([one, []])
    const cleared = { kind: 'faultCleared', fault: 'sourceAddressMissing' } as const
    expect(step(one, cleared, told, ms(30))).toEqual([
      backup({ enteredAt: ms(30), activeDownAt: ms(3530) }),
      [{ kind: 'transition', from: 'Initialize', to: 'Backup', reason: 'faultCleared' }],
    ])
    const [next, effects] = step(one, cleared, owner, ms(30))
    expect(next).toEqual(active({ since: ms(30), adverAt: ms(1030) }))
    expect(effects.map(({ kind }) => kind)).toEqual(['sendAdvertisement', 'installAddresses', 'announce', 'transition'])
  })

  test('a fault that is raised twice is listed once, and clearing it does not start a stopped router', () => {
    const faulty = initialize({ faults: ['linkDown'] })
    expect(step(initialize(), linkDown, told, ms(10))).toEqual([faulty, []])
    expect(step(faulty, linkDown, told, ms(10))).toEqual([faulty, []])
    expect(step(faulty, linkUp, told, ms(10))).toEqual([initialize(), []])
    const tracked = { kind: 'faultRaised', fault: 'trackedInterfaceDown:eth1', canSend: true } as const
    expect(step(faulty, tracked, told, ms(10))).toEqual([
      initialize({ faults: ['linkDown', 'trackedInterfaceDown:eth1'] }),
      [],
    ])
  })

  test.each([
    ['linkDown', linkDown, 'linkDown'],
    ['addressInstallFailed', installFailed, 'addressInstallFailed'],
  ] as const)('%s of a Backup leads to Initialize with that reason, and nothing is sent', (_name, event, fault) => {
    expect(step(FOLLOWING, event, told, ms(1500))).toEqual([
      initialize({ stopped: false, faults: [fault] }),
      [{ kind: 'transition', from: 'Backup', to: 'Initialize', reason: fault }],
    ])
  })

  test('a fault of an Active removes the addresses first, then sends priority 0 if it can, then leads to Initialize', () => {
    const gone: Effect = { kind: 'transition', from: 'Active', to: 'Initialize', reason: 'linkDown' }
    expect(step(active(), linkDown, told, ms(300))).toEqual([
      initialize({ stopped: false, faults: ['linkDown'] }),
      [{ kind: 'removeAddresses', addresses: VIPS }, gone],
    ])
    expect(step(active(), installFailed, told, ms(300))).toEqual([
      initialize({ stopped: false, faults: ['addressInstallFailed'] }),
      [
        { kind: 'removeAddresses', addresses: VIPS },
        { kind: 'sendAdvertisement', priority: 0, reason: 'fault' },
        { kind: 'transition', from: 'Active', to: 'Initialize', reason: 'addressInstallFailed' },
      ],
    ])
  })
})
