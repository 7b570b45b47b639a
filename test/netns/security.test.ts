/**
 * Attacks on a multicast group from its segment, one test for each row of docs/security.md. Every attack is really
 * carried out. Client and kernels show the effect, and the metrics that docs/security.md names must have counted the
 * attack.
 */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { eventually, monotonicMs, sleep } from '../../src/lab/wait.ts'
import { judgeTime } from '../judge/time.ts'
import { advertisementFrame, type Forgery } from '../support/forged-frame.ts'
import { describeNetns } from '../support/require.ts'
import { AttackedGroup, downMs, INTERVAL, INVENTED, MARGIN, UNLISTED, UNTOUCHED } from './attacked-group.ts'
import { residentKilobytes } from './resident-memory.ts'

const R1 = '10.77.0.11'
const LOST = { from: 'Active', to: 'Backup', reason: 'higherPriorityHeard' }

const forged = (priority: number, rest: Partial<Forgery> = {}) =>
  advertisementFrame({ source: UNLISTED, priority, ...rest })

describeNetns('an attacker on the segment of a multicast group', () => {
  let attacked: AttackedGroup
  beforeAll(async () => {
    attacked = await AttackedGroup.settled()
  })
  afterAll(() => attacked?.destroy())
  beforeEach(() => attacked.calm('the attack before'))

  test('S-01 with priority 255 takes the address for the time of the attack and an Active_Down_Interval', async () => {
    const before = await attacked.accounts()
    const attack = attacked.attacker.keepSending([forged(255)], 1_000 / INTERVAL)
    await attacked.becomes(1, 'Backup')
    await sleep(10 * INTERVAL)
    expect(attacked.lab.holders(attacked.address), 'holders of the address during the attack').toEqual([])
    const during = await attacked.account(1)
    expect(during.router.holder, 'holder in the status of r1').toMatchObject({ address: UNLISTED, priority: 255 })
    const { sent } = await attack.stop()
    const stoppedAt = monotonicMs()
    await attacked.calm('priority 255')
    const back = (await attacked.answeredAgain(stoppedAt)) - stoppedAt
    judgeTime('ms until r1 answered again', back, downMs(1) + MARGIN, 'RFC 9568 §6.1')
    const { answeredBy, longestGap } = attacked.client(attack.at)
    expect(answeredBy, 'routers that answered the client').toEqual(['r1'])
    expect(longestGap, 'ms in which the client got no answer').toBeGreaterThan(10 * INTERVAL)

    const after = await attacked.accounts()
    expect(after.r1.since(before.r1, 'transitions_total', LOST), 'times that r1 lost the address').toBe(1)
    expect(after.r1.since(before.r1, 'advertisements_received_total')).toBeGreaterThanOrEqual(sent)
    expect(after.r2.since(before.r2, 'advertisements_received_total')).toBeGreaterThanOrEqual(sent)
    const moved = attacked.daemon(1).records.filter(({ from, to }) => from === 'Active' && to === 'Backup')
    expect(moved.at(-1), 'last transition in the log of r1').toMatchObject({
      reason: 'higherPriorityHeard',
      peer: UNLISTED,
    })
  })

  test('S-02 with priority 0, without being the Active, is refused and named', async () => {
    const before = await attacked.accounts()
    const { at, sent } = await attacked.attacker.send([forged(0)], 40, 20)
    const after = await attacked.accounts()
    const refused = { reason: 'priority-zero-not-from-active' }
    expect(after.r2.since(before.r2, 'advertisements_refused_total', refused), 'advertisements that r2 refused').toBe(
      sent,
    )
    expect(after.transitions(), 'transitions of both routers').toEqual(before.transitions())
    expect(attacked.client(at), 'answers to the client during the attack').toEqual(UNTOUCHED)
  })

  test('S-02 with 2 000 such packets a second makes the Active announce 3 times and then 20 times a second', async () => {
    const before = await attacked.accounts()
    const frames = INVENTED.map((source) => forged(0, { source }))
    const { at, ms } = await attacked.attacker.send(frames, 2_000, 2_000)
    await sleep(INTERVAL)
    const after = await attacked.accounts()
    const announced = after.r1.since(before.r1, 'announcements_sent_total')
    expect(announced, 'announcements of r1 during the attack').toBeGreaterThan(0)
    // The packets wait in a queue for a while. A first repeat may come before the next batch, and two repeats end the announcements.
    expect(announced, `announcements of r1 in ${ms} ms`).toBeLessThan(2 * (3 + (ms + 5 * INTERVAL) / 50) + 2)
    expect(after.transitions(), 'transitions of both routers').toEqual(before.transitions())
    expect(attacked.client(at), 'answers to the client during the attack').toEqual(UNTOUCHED)
  })

  test('S-03 with priority 0 in the name of the Active makes the Backup Active beside it for one exchange of packets', async () => {
    const before = await attacked.accounts()
    // The packets come every 77 ms, and the advertisements every 100 ms. With these times, every phase between a forged
    // packet and the next true one occurs.
    const { at } = await attacked.attacker.send([forged(0, { source: R1 })], 26, 13)
    // By then the effect of the last packet has ended.
    await sleep(downMs(2) + MARGIN)
    await attacked.calm('priority 0 in the name of r1')
    const after = await attacked.accounts()
    const took = { from: 'Backup', to: 'Active', reason: 'activeReleased' }
    expect(after.r2.since(before.r2, 'transitions_total', took), 'takeovers of r2').toBeGreaterThan(0)
    expect(after.r1.transitions, 'transitions of r1').toEqual(before.r1.transitions)
    const refused = { reason: 'lower-priority' }
    expect(
      after.r1.since(before.r1, 'advertisements_refused_total', refused),
      'advertisements of r2 that r1 refused',
    ).toBeGreaterThan(0)
    judgeTime('ms without an answer', attacked.client(at).longestGap, downMs(2), 'docs/security.md')
    expect(attacked.observer.overlap(at, monotonicMs()), 'ms in which two answered').toBeLessThan(26 * INTERVAL)
  })

  test("S-04 with the Active's own source is dropped by the Active's kernel, and believed by other routers until the Active advertises", async () => {
    const before = await attacked.accounts()
    const { at } = await attacked.attacker.send([forged(255, { source: R1 })], 40, 20)
    const after = await attacked.accounts()
    expect(after.transitions(), 'transitions of both routers').toEqual(before.transitions())
    expect(after.r1.since(before.r1, 'advertisements_received_total'), 'advertisements that r1 accepted').toBe(0)
    expect(after.r1.since(before.r1, 'advertisements_discarded_total'), 'advertisements that r1 discarded').toBe(0)
    expect(
      after.r2.since(before.r2, 'advertisements_received_total'),
      'advertisements that r2 accepted',
    ).toBeGreaterThanOrEqual(40)
    expect(attacked.client(at), 'answers to the client during the attack').toEqual(UNTOUCHED)
  })

  test('S-06 with other VRIDs and invented sources is counted, and costs no log line and no memory', async () => {
    const before = await attacked.accounts()
    const memory = residentKilobytes(attacked.daemon(1))
    const frames = Array.from({ length: 2_540 }, (_, i) => {
      const vrid = 1 + (i % 254)
      return forged(255, { vrid: vrid < 51 ? vrid : vrid + 1, source: INVENTED[i % INVENTED.length] ?? UNLISTED })
    })
    const { at, sent } = await attacked.attacker.send(frames, 25_400, 10_000)
    await sleep(INTERVAL)
    const after = await attacked.accounts()
    for (const name of ['r1', 'r2'] as const) {
      const unknown = after[name].since(before[name], 'advertisements_discarded_total', { reason: 'vrid-unknown' })
      const lost = after[name].since(before[name], 'receive_overflow_total')
      expect(unknown + lost, `packets that ${name} counted`).toBe(sent)
      expect(attacked.told(name === 'r1' ? 1 : 2, before[name]), `what ${name} logs`).toEqual([])
    }
    expect(residentKilobytes(attacked.daemon(1)) - memory, 'growth of r1 in kB').toBeLessThan(16_000)
    expect(after.transitions(), 'transitions of both routers').toEqual(before.transitions())
    expect(attacked.client(at), 'answers to the client during the attack').toEqual(UNTOUCHED)
  })

  test('S-07 with a TTL below 255 is discarded, and logged once for each source in ten seconds', async () => {
    const before = await attacked.accounts()
    const { at, sent } = await attacked.attacker.send([forged(255, { ttl: 254 })], 1_000, 1_000)
    await sleep(INTERVAL)
    const after = await attacked.accounts()
    for (const name of ['r1', 'r2'] as const) {
      const counted = after[name].since(before[name], 'advertisements_discarded_total', { reason: 'ttl' })
      expect(counted, `packets that ${name} discarded because of the TTL`).toBe(sent)
      expect(after[name].metric('mismatched_routers', { reason: 'ttl' }), `mismatched routers of ${name}`).toBe(1)
    }
    const told = attacked.told(1, before.r1)
    expect(told, 'log lines of r1 about the attack').toEqual([
      expect.stringContaining(`of ${UNLISTED} on eth0 for vip (VRID 51): its TTL is not 255`),
    ])
    expect(after.transitions(), 'transitions of both routers').toEqual(before.transitions())
    expect(attacked.client(at), 'answers to the client during the attack').toEqual(UNTOUCHED)
  })

  test('S-08 with lower priorities and invented sources gets at most 160 answers a second, and costs no memory', async () => {
    const before = await attacked.accounts()
    const memory = residentKilobytes(attacked.daemon(1))
    const frames = INVENTED.map((source) => forged(50, { source }))
    const { at, ms, sent } = await attacked.attacker.send(frames, 20_000, 10_000)
    await sleep(INTERVAL)
    const after = await attacked.accounts()
    const answers = after.r1.since(before.r1, 'advertisements_sent_total')
    // The bound: 16 answers in 100 ms, one late batch, and the regular advertisements.
    expect(answers, `advertisements of r1 in ${ms} ms`).toBeLessThan((2 + (ms + 2 * INTERVAL) / INTERVAL) * (16 + 16))
    for (const name of ['r1', 'r2'] as const) {
      const lower = after[name].since(before[name], 'advertisements_refused_total', { reason: 'lower-priority' })
      const lost = after[name].since(before[name], 'receive_overflow_total')
      expect(lower + lost, `packets that ${name} counted`).toBe(sent)
      expect(after[name].lines - before[name].lines, `log lines of ${name}`).toBeLessThan(10)
    }
    expect(after.r1.router.mismatchedRouters.length, 'mismatched routers that r1 remembers').toBeLessThanOrEqual(8)
    expect(residentKilobytes(attacked.daemon(1)) - memory, 'growth of r1 in kB').toBeLessThan(16_000)
    expect(after.transitions(), 'transitions of both routers').toEqual(before.transitions())
    expect(attacked.client(at), 'answers to the client during the attack').toEqual(UNTOUCHED)
  })

  test('S-09 with priority 255 and an announced interval of 40.95 s keeps the whole group Backup for two minutes by two packets', async () => {
    const before = await attacked.accounts()
    // One packet is enough for r1. The last advertisement of r1, after it has lost, gives the other routers the true
    // interval again.
    const { at } = await attacked.attacker.send([forged(255, { intervalMs: 40_950 })], 4, 10)
    await attacked.becomes(1, 'Backup')
    await sleep(downMs(2) + MARGIN)
    const after = await attacked.accounts()
    for (const name of ['r1', 'r2'] as const) {
      const { router } = after[name]
      expect(router.state, `state of ${name}`).toBe('Backup')
      expect(router.activeAdverIntervalMs, `interval that ${name} has learned`).toBe(40_950)
      expect(router.deadlines.activeDownInMs, `ms that ${name} will wait`).toBeGreaterThan(120_000)
      expect(
        after[name].metric('mismatched_routers', { reason: 'interval-mismatch' }),
        `mismatched routers of ${name}`,
      ).toBe(1)
    }
    expect(attacked.lab.holders(attacked.address), 'holders of the address after the attack').toEqual([])
    // The remedy without a restart is the attacker's own method: an advertisement with the true interval.
    const cured = await attacked.attacker.send([forged(255)])
    await attacked.calm('an interval of 40.95 s')
    expect(attacked.client(at).longestGap, 'ms in which the client got no answer').toBeGreaterThan(downMs(2))
    judgeTime('ms from the cure on', monotonicMs() - cured.at, 2 * downMs(2) + 10 * MARGIN, 'RFC 9568 §6.1')
    expect((await attacked.account(1)).since(before.r1, 'transitions_total', LOST)).toBe(1)
  })

  test('S-10 with an announced interval of 10 ms makes the Backup take over beside a living Active, which advertises immediately', async () => {
    const before = await attacked.accounts()
    // Every second packet comes too soon for another answer: a packet that follows an answer within half the spacing gets no answer.
    const { at } = await attacked.attacker.send([forged(150, { intervalMs: 10 })], 50, 25)
    // By then the effect of the last packet has ended.
    await sleep(downMs(2) + MARGIN)
    await attacked.calm('an interval of 10 ms')
    const after = await attacked.accounts()
    const took = { from: 'Backup', to: 'Active', reason: 'activeSilent' }
    expect(after.r2.since(before.r2, 'transitions_total', took), 'takeovers of r2').toBeGreaterThan(0)
    expect(after.r1.transitions, 'transitions of r1').toEqual(before.r1.transitions)
    judgeTime('ms without an answer', attacked.client(at).longestGap, 2 * INTERVAL, 'docs/security.md')
  })

  test('S-11 that repeats the advertisements of a dead Active makes the Backup wait for the time of the attack', async () => {
    const before = await attacked.accounts()
    const recorded = await attacked.record(`src host ${R1}`, 5 * INTERVAL)
    expect(recorded.length, 'advertisements of r1 that were recorded').toBeGreaterThan(2)
    const cutAt = attacked.lab.cut(attacked.lab.router(1))
    const replay = attacked.attacker.keepSending(recorded, 1_000 / INTERVAL)
    await sleep(2 * downMs(2))
    expect(await attacked.daemon(2).state(), 'state of r2 while it receives advertisements in the name of r1').toBe(
      'Backup',
    )
    expect((await attacked.account(2)).router.holder, 'holder in the status of r2').toMatchObject({ address: R1 })
    await replay.stop()
    const stoppedAt = monotonicMs()
    await attacked.prober.answeredBy('r2', 5_000)
    const took = (attacked.prober.movedFrom('r1', cutAt)?.at ?? Number.NaN) - stoppedAt
    judgeTime('ms until r2 answered', took, downMs(2) + MARGIN, 'RFC 9568 §6.1')
    attacked.lab.heal(attacked.lab.router(1))
    await attacked.calm('the heal')
    const after = await attacked.accounts()
    // The repeated packets equal the advertisements of r1, so no check can distinguish them.
    expect(after.r2.since(before.r2, 'advertisements_discarded_total'), 'advertisements that r2 discarded').toBe(0)
  })

  test('S-17 with priority 255 and 0 in turn causes any number of changes of state, and a bounded log', async () => {
    const before = await attacked.accounts()
    const attack = attacked.attacker.keepSending([forged(255, { intervalMs: 10 }), forged(0)], 200)
    await sleep(2_000)
    await attack.stop()
    await attacked.calm('priority 255 and 0 in turn')
    const after = await attacked.accounts()
    expect(after.r1.since(before.r1, 'transitions_total', LOST), 'times that r1 lost the address').toBeGreaterThan(20)
    expect(after.r1.lines - before.r1.lines, 'log lines of r1').toBeLessThan(100)
    const last = attacked.daemon(1).records.filter(({ to }) => to !== undefined)
    await eventually(
      'the log of r1 to end with the truth',
      () =>
        attacked
          .daemon(1)
          .records.filter(({ to }) => to !== undefined)
          .at(-1)?.to === 'Active',
      { sight: () => last.slice(-3).map(({ msg }) => msg), within: 5_000 },
    )
    expect(attacked.client(attack.at).answeredBy, 'hosts that answered the client').not.toContain('attacker')
  })
})

describeNetns('an attacker on the segment of a group with intervalCheck', () => {
  test('S-09 S-10 with another interval is discarded, counted and named, and has no other effect', async () => {
    const attacked = await AttackedGroup.settled({ extra: { intervalCheck: true } })
    try {
      const before = await attacked.accounts()
      const frames = [forged(255, { intervalMs: 40_950 }), forged(150, { intervalMs: 10 })]
      const { at, sent } = await attacked.attacker.send(frames, 40, 40)
      const after = await attacked.accounts()
      for (const name of ['r1', 'r2'] as const) {
        const counted = after[name].since(before[name], 'advertisements_discarded_total', {
          reason: 'interval-mismatch',
        })
        expect(counted, `packets that ${name} discarded because of the interval`).toBe(sent)
        expect(
          after[name].metric('mismatched_routers', { reason: 'interval-mismatch' }),
          `mismatched routers of ${name}`,
        ).toBe(1)
      }
      expect(after.transitions(), 'transitions of both routers').toEqual(before.transitions())
      expect(attacked.client(at), 'answers to the client during the attack').toEqual(UNTOUCHED)
    } finally {
      attacked.destroy()
    }
  })
})

describeNetns('an attacker on the segment of a group without minHold', () => {
  test('S-05 with a lower priority in the name of the Active acts like priority 0, and with minHold only once in that time', async () => {
    const attacked = await AttackedGroup.settled({ extra: { minHold: '0s' } })
    try {
      await sleep(downMs(2) + MARGIN)
      const before = await attacked.accounts()
      const { at, sent } = await attacked.attacker.send([forged(1, { source: R1 })], 26, 3)
      await attacked.calm('a demotion in the name of r1')
      const after = await attacked.accounts()
      const took = { from: 'Backup', to: 'Active', reason: 'activeDemoted' }
      expect(after.r2.since(before.r2, 'transitions_total', took), 'takeovers of r2').toBeGreaterThan(0)
      const refused = after.r2.since(before.r2, 'advertisements_refused_total', { reason: 'lower-priority' })
      expect(refused, 'advertisements that r2 refused').toBe(sent)
      expect(after.r1.transitions, 'transitions of r1').toEqual(before.r1.transitions)
      judgeTime('ms without an answer', attacked.client(at).longestGap, downMs(2), 'docs/security.md')
    } finally {
      attacked.destroy()
    }
  })
})
