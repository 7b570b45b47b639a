/**
 * What an attacker on the segment can do to a multicast group, row by row of docs/security.md: each attack is really
 * made, the client and the kernels say what it did, and the metrics that the document names have counted it.
 */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { advertisementFrame, type Forgery } from '../support/forged-frame.ts'
import { describeNetns } from '../support/require.ts'
import { monotonicMs, sleep } from '../support/wait.ts'
import { downMs, INTERVAL, MARGIN, Siege } from './siege.ts'

const STRANGER = '10.77.0.66'
const R1 = '10.77.0.11'
const R2 = '10.77.0.12'

const forged = (priority: number, rest: Partial<Forgery> = {}) =>
  advertisementFrame({ source: STRANGER, priority, ...rest })

describeNetns('an attacker on the segment of a multicast group', () => {
  let siege: Siege
  beforeAll(async () => {
    siege = await Siege.laid()
  })
  afterAll(() => siege?.lift())
  beforeEach(() => siege.calm('the attack before'))

  test('S-01 priority 255 takes the address for as long as it is sent, and Active_Down_Interval longer', async () => {
    const [first, second] = [await siege.account(1), await siege.account(2)]
    const attack = siege.attacker.keepSending([forged(255)], 1_000 / INTERVAL)
    await siege.becomes(1, 'Backup')
    await sleep(10 * INTERVAL)
    expect((await siege.sight()).holders, 'who has the address meanwhile').toEqual([])
    const during = await siege.account(1)
    expect(during.router.owner, 'owner by the account of r1').toMatchObject({ address: STRANGER, priority: 255 })
    const { sent } = await attack.stop()
    const stoppedAt = monotonicMs()
    await siege.calm('priority 255')
    const back = siege.prober.owners.at(-1)?.at ?? Number.NaN
    expect(back - stoppedAt, 'ms until r1 answered again').toBeLessThan(downMs(1) + MARGIN)
    const { answeredBy, longestGap } = siege.client(attack.at)
    expect(answeredBy, 'who answered').toEqual(['r1'])
    expect(longestGap, 'ms without an answer').toBeGreaterThan(10 * INTERVAL)

    const [after, other] = [await siege.account(1), await siege.account(2)]
    const lost = { from: 'Active', to: 'Backup', reason: 'higherPriorityHeard' }
    expect(after.metric('transitions_total', lost) - first.metric('transitions_total', lost), 'times it lost').toBe(1)
    for (const [now, then] of [
      [after, first],
      [other, second],
    ] as const) {
      const heard = now.metric('advertisements_received_total') - then.metric('advertisements_received_total')
      expect(heard, 'advertisements that counted').toBeGreaterThanOrEqual(sent)
    }
    const moved = siege.daemon(1).records.filter(({ from, to }) => from === 'Active' && to === 'Backup')
    expect(moved.at(-1), 'what r1 logs').toMatchObject({ reason: 'higherPriorityHeard', peer: STRANGER })
  })

  test('S-02 priority 0 of a stranger: nothing', async () => {
    const [first, second] = [await siege.account(1), await siege.account(2)]
    const { at, sent } = await siege.attacker.send([forged(0)], 40, 20)
    const refused = { reason: 'priority-zero-not-from-active' }
    const now = await siege.account(2)
    expect(now.metric('advertisements_refused_total', refused) - second.metric('advertisements_refused_total', refused)).toBe(sent)
    expect(now.router.counters.transitions, 'transitions of r2').toEqual(second.router.counters.transitions)
    expect((await siege.account(1)).router.counters.transitions, 'of r1').toEqual(first.router.counters.transitions)
    expect(siege.client(at), 'what the client saw').toEqual({ answeredBy: ['r1'], longestGap: 0 })
  })

  test('S-03 priority 0 in the name of the Active', async () => {
    const [first, second] = [await siege.account(1), await siege.account(2)]
    const { at, sent } = await siege.attacker.send([forged(0, { source: R1 })], 20, 10)
    await siege.calm('priority 0 in the name of r1')
    console.log('S-03', sent, siege.client(at), siege.prober.owners.filter((o) => o.at >= at).length, siege.observer.overlap(at, monotonicMs()))
    console.log((await siege.account(2)).router.counters.transitions, second.router.counters.transitions, (await siege.account(1)).router.counters, first.router.counters.discarded)
  })

  test('S-04 priority 255 in the name of the Active: it is followed by the Backup as what it is', async () => {
    const { at } = await siege.attacker.send([forged(255, { source: R1 })], 40, 20)
    console.log('S-04', siege.client(at), (await siege.account(1)).router.counters)
  })
})
