/**
 * A tracked interface with a weight. The Active lowers its own priority and immediately advertises the new priority. The better Backup
 * takes over after Skew_Time instead of Active_Down_Interval (docs/architecture.md). The test judges a client's answers, the kernels'
 * addresses and the captured packets.
 */
import { expect, test } from 'vitest'
import { ip } from '../../src/lab/ip.ts'
import { LAB_VIP } from '../../src/lab/lab.ts'
import { describeNetns } from '../support/require.ts'
import { ThreeRouters, WITHIN } from './three-routers.ts'

/** Tracking of the uplink, with weight 120. Without the uplink, r1 has priority 80, less than r2 and r3. */
const UPLINK = { track: [{ interface: 'uplink', weight: -120 }] }

describeNetns('a demoted Active', () => {
  test('the better Backup takes over before Active_Down_Interval, and the first router gets the address back', async () => {
    const threeRouters = new ThreeRouters()
    const { lab, prober } = threeRouters
    const { namespace } = lab.router(1)
    ip(namespace, 'link add uplink type veth peer name far')
    ip(namespace, 'link set uplink up')
    ip(namespace, 'link set far up')
    // minHold damps flapping. In this test the first move comes soon after the start on purpose.
    const settings = { minHold: '0s' }
    await threeRouters.start(1, 200, { ...UPLINK, ...settings })
    await threeRouters.settlesOn(1, 'it started')
    await threeRouters.start(2, 150, settings)
    await threeRouters.start(3, 100, settings)
    await threeRouters.settlesOn(1, 'all started')
    await threeRouters.longBackup(2, 3)
    const lostBefore = prober.gaps.length

    ip(namespace, 'link set far down')
    await threeRouters.settlesOn(2, 'the uplink of r1 lost its carrier')
    const demoted = await threeRouters.daemon(1).router()
    expect(demoted.priority, 'base and effective priority of r1').toEqual({ base: 200, effective: 80 })
    expect(demoted.state).toBe('Backup')
    expect((await threeRouters.daemon(2).router()).reason, 'reason for which r2 took over').toBe('activeDemoted')
    expect(await threeRouters.daemon(3).state()).toBe('Backup')
    expect(lab.holders(LAB_VIP)).toEqual(['r2'])

    ip(namespace, 'link set far up')
    await threeRouters.settlesOn(1, 'the uplink of r1 came back')
    expect((await threeRouters.daemon(1).router()).reason, 'reason for which r1 took the address back').toBe(
      'lowerPriorityActive',
    )
    const silent = prober.gaps.slice(lostBefore).map((gap) => gap.to - gap.from)
    expect(Math.max(0, ...silent), 'longest time without an answer over both moves, ms').toBeLessThan(WITHIN / 5)
  })

  test('an Active that tracks an interface without a weight goes into fault, sends priority 0 and removes the address', async () => {
    const threeRouters = new ThreeRouters()
    const { lab } = threeRouters
    const { namespace } = lab.router(1)
    ip(namespace, 'link add uplink type veth peer name far')
    ip(namespace, 'link set uplink up')
    ip(namespace, 'link set far up')
    await threeRouters.start(1, 200, { track: [{ interface: 'uplink' }] })
    await threeRouters.start(2, 150)
    await threeRouters.settlesOn(1, 'both started')

    ip(namespace, 'link set far down')
    await threeRouters.settlesOn(2, 'the uplink of r1 lost its carrier')
    expect(await threeRouters.daemon(1).router()).toMatchObject({
      state: 'Initialize',
      reason: 'trackedInterfaceDown:uplink',
      faults: ['trackedInterfaceDown:uplink'],
    })
    expect((await threeRouters.daemon(2).router()).reason, 'reason for which r2 took over').toBe('activeReleased')
  })
})
