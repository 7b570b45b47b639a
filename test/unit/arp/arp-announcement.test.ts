/** The announcement plan and the pacer. Times are arguments, so nothing here waits. */
import { describe, expect, test } from 'vitest'
import {
  type AnnouncementPlan,
  announcementOffsets,
  announcementPlan,
  dueFrames,
  nextAnnouncementAt,
  ONE_ROUND,
  REFRESH_EVERY,
} from '../../../src/arp/announcement.ts'
import {
  IDLE_PACER,
  nextTakeAt,
  offerAnnouncements,
  type Pacer,
  takeAnnouncements,
  type WantedAnnouncement,
  withdrawAnnouncements,
} from '../../../src/arp/pacer.ts'
import { address } from '../../../src/wire/address.ts'
import { type Millis, millis } from '../../../src/wire/units.ts'

const A = address('192.0.2.100')
const B = address('192.0.2.101')
const START = millis(1_000_000.25)

/** Runs the plan at each of its times, like an alarm that is exactly on time. */
function follow(plan: AnnouncementPlan, until: number): string[] {
  const lines: string[] = []
  let left = plan
  for (let at = nextAnnouncementAt(left); at !== undefined && at <= until; at = nextAnnouncementAt(left)) {
    const { due, plan: next } = dueFrames(left, at)
    lines.push(`${at - START} ${due.map((one) => `${one.address}${one.first ? '!' : ''}`).join(' ')}`)
    left = next
  }
  return lines
}
const takeover = (over: Partial<Parameters<typeof announcementPlan>[0]> = {}) =>
  announcementPlan({
    reason: 'takeover',
    family: 'ipv4',
    addresses: [A, B],
    at: announcementOffsets('takeover', 'ipv4'),
    startAt: START,
    ...over,
  })

describe('announcement plan', () => {
  test('an IPv4 takeover is announced immediately and after 20, 100, 500 ms, 2 s and 5 s', () => {
    expect(follow(takeover(), Number.POSITIVE_INFINITY)).toEqual([
      `0 ${A}! ${B}!`,
      `20 ${A} ${B}`,
      `100 ${A} ${B}`,
      `500 ${A} ${B}`,
      `2000 ${A} ${B}`,
      `5000 ${A} ${B}`,
    ])
  })
  test('an IPv6 address is announced three times a second apart, whatever the reason (RFC 4861 §7.2.6)', () => {
    expect(announcementOffsets('takeover', 'ipv6')).toEqual([0, 1000, 2000])
    expect(announcementOffsets('competingActive', 'ipv6')).toEqual([0, 1000, 2000])
  })
  test('an announcement over a competing Active is repeated after 50 and 200 ms', () => {
    const plan = takeover({
      reason: 'competingActive',
      at: announcementOffsets('competingActive', 'ipv4'),
      addresses: [A],
    })
    expect(follow(plan, Number.POSITIVE_INFINITY)).toEqual([`0 ${A}!`, `50 ${A}`, `200 ${A}`])
  })
  test('with profile rfc9568 each address is announced once', () => {
    expect(follow(takeover({ at: ONE_ROUND }), Number.POSITIVE_INFINITY)).toEqual([`0 ${A}! ${B}!`])
  })
  test('a refresh follows every minute after the last round', () => {
    const lines = follow(takeover({ addresses: [A], at: ONE_ROUND, every: REFRESH_EVERY }), START + 180_000)
    expect(lines).toEqual([`0 ${A}!`, `60000 ${A}`, `120000 ${A}`, `180000 ${A}`])
  })
  test('a plan with a refresh only starts after one period', () => {
    const plan = takeover({ reason: 'refresh', at: [], every: REFRESH_EVERY, addresses: [A] })
    expect(follow(plan, START + 120_000)).toEqual([`60000 ${A}`, `120000 ${A}`])
  })
  test('a plan that is not due returns no frames and stays the same', () => {
    const plan = takeover({ startAt: millis(500) })
    expect(dueFrames(plan, millis(499.9))).toEqual({ due: [], plan })
  })
  test('missed rounds become one round, and the grid stays', () => {
    const woken = dueFrames(takeover({ addresses: [A] }), millis(START + 600))
    expect(woken.due).toEqual([{ address: A, copy: 0, at: START, first: true }])
    expect(nextAnnouncementAt(woken.plan)).toBe(START + 2000)
    const asleep = dueFrames(takeover({ addresses: [A], at: ONE_ROUND, every: REFRESH_EVERY }), millis(START + 130_000))
    expect(asleep.due).toHaveLength(1)
    expect(nextAnnouncementAt(asleep.plan)).toBe(START + 180_000)
  })
  test('a time that is listed twice gives two frames for each address, after a first one for all', () => {
    const twice = [0, 0, 1000, 1000].map(millis)
    expect(follow(takeover({ at: twice }), Number.POSITIVE_INFINITY)).toEqual([
      `0 ${A}! ${B}! ${A}! ${B}!`,
      `1000 ${A} ${B} ${A} ${B}`,
    ])
    const late = dueFrames(takeover({ at: [...twice, millis(2000)], addresses: [A] }), millis(START + 2500))
    expect(
      late.due.map(({ copy }) => copy),
      'of what was slept through the largest',
    ).toEqual([0, 1])
  })
  test('a refresh may have several frames for each address', () => {
    const plan = takeover({ addresses: [A], at: ONE_ROUND, every: millis(1000), everyCopies: 2 })
    expect(follow(plan, START + 2000)).toEqual([`0 ${A}!`, `1000 ${A} ${A}`, `2000 ${A} ${A}`])
  })
  test('a plan without addresses, offsets or period ends immediately', () => {
    expect(nextAnnouncementAt(takeover({ addresses: [] }))).toBeUndefined()
    expect(nextAnnouncementAt(takeover({ at: [], every: millis(0) }))).toBeUndefined()
    expect(follow(takeover({ at: ONE_ROUND, every: millis(0) }), START + 10_000)).toHaveLength(1)
  })
  test('offsets may be listed in any order', () => {
    expect(follow(takeover({ at: [millis(5), millis(0)], addresses: [A] }), Number.POSITIVE_INFINITY)).toEqual([
      `0 ${A}!`,
      `5 ${A}`,
    ])
  })
})

/** Takes frames at each time that the pacer returns, like an alarm. */
function drain(pacer: Pacer, from: Millis, until = Number.POSITIVE_INFINITY) {
  const sent: { at: number; one: WantedAnnouncement }[] = []
  let left = pacer
  for (let now = from; now <= until; ) {
    const taken = takeAnnouncements(left, now)
    sent.push(...taken.send.map((one) => ({ at: now - from, one })))
    left = taken.pacer
    const next = nextTakeAt(left)
    if (next === undefined) break
    expect(next, 'the pacer asks for a later moment').toBeGreaterThan(now)
    now = next
  }
  return { sent, pacer: left }
}
const wanted = (count: number, first: boolean, router = 'api'): WantedAnnouncement[] =>
  Array.from({ length: count }, (_, i) => ({ router, address: address(`10.0.${i >> 8}.${i & 255}`), first }))

describe('pacer', () => {
  test('the pacer sends 256 first frames together', () => {
    const { sent } = drain(offerAnnouncements(IDLE_PACER, wanted(256, true)), START)
    expect(sent.filter(({ at }) => at === 0)).toHaveLength(256)
  })
  test('after 256 first frames the pacer sends 2 000 a second', () => {
    const { sent } = drain(offerAnnouncements(IDLE_PACER, wanted(2256, true)), START)
    expect(sent).toHaveLength(2256)
    expect(sent.filter(({ at }) => at === 0)).toHaveLength(256)
    expect(sent.at(-1)?.at).toBeCloseTo(1000, 6)
  })
  test('the pacer sends repeats 5 ms apart, even after a long silence', () => {
    const { sent } = drain(offerAnnouncements(IDLE_PACER, wanted(201, false)), START)
    const gaps = sent.slice(1).map(({ at }, i) => at - (sent[i]?.at ?? 0))
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(5 - 1e-6)
    expect(sent.at(-1)?.at).toBeCloseTo(1000, 6)
  })
  test('a late caller makes repeats slower, never faster', () => {
    const offered = offerAnnouncements(IDLE_PACER, wanted(3, false))
    const one = takeAnnouncements(offered, START)
    const late = takeAnnouncements(one.pacer, millis(START + 100))
    expect([one.send.length, late.send.length]).toEqual([1, 1])
    expect(nextTakeAt(late.pacer)).toBe(START + 105)
  })
  test('a repeat never delays a first frame', () => {
    const busy = drain(offerAnnouncements(IDLE_PACER, wanted(200, false)), START, START + 10).pacer
    const now = millis(START + 11)
    const { send } = takeAnnouncements(offerAnnouncements(busy, wanted(5, true, 'ingress')), now)
    expect(send.filter((one) => one.router === 'ingress')).toHaveLength(5)
  })
  test('255 routers that take over send every first frame together, and the queue is limited by their addresses', () => {
    let pacer = IDLE_PACER
    let most = 0
    const atOnce: WantedAnnouncement[] = []
    let plans = Array.from({ length: 255 }, (_, i) => ({
      router: `vr${i}`,
      plan: takeover({ addresses: [address(`10.1.0.${i}`)] }),
    }))
    for (let now = START; now < START + 8000; now = millis(now + 1)) {
      const round = plans.map(({ router, plan }) => ({ router, ...dueFrames(plan, now) }))
      plans = round.map(({ router, plan }) => ({ router, plan }))
      const offers = round.flatMap(({ due, router }) => due.map((one) => ({ router, ...one })))
      pacer = offerAnnouncements(pacer, offers)
      most = Math.max(most, pacer.repeat.waiting.length)
      const taken = takeAnnouncements(pacer, now)
      pacer = taken.pacer
      if (now === START) atOnce.push(...taken.send)
    }
    expect(atOnce).toHaveLength(255)
    expect(most).toBeLessThanOrEqual(255)
    expect(nextTakeAt(pacer), 'everything was sent').toBeUndefined()
  })
  test('a withdrawn announcement is not sent (VR-GARP-05)', () => {
    const both = offerAnnouncements(IDLE_PACER, [...wanted(3, false, 'api'), ...wanted(2, false, 'ingress')])
    const { sent } = drain(withdrawAnnouncements(both, 'api'), START)
    expect(sent.map(({ one }) => one.router)).toEqual(['ingress', 'ingress'])
  })
  test('an idle pacer has no next time', () => {
    expect(nextTakeAt(IDLE_PACER)).toBeUndefined()
    expect(takeAnnouncements(IDLE_PACER, START)).toEqual({ send: [], pacer: IDLE_PACER })
  })
})

test('IPv6 rounds keep their distance when one is late, IPv4 rounds keep to their grid (RFC 4861 §7.2.6)', () => {
  const next = (family: 'ipv4' | 'ipv6') => {
    const addresses = [address(family === 'ipv4' ? '192.0.2.100' : 'fd00::100')]
    const at = [0, 1000, 2000].map(millis)
    const plan = announcementPlan({ reason: 'takeover', family, addresses, at, startAt: millis(0) })
    return dueFrames(plan, millis(18)).plan.rounds
  }
  expect([next('ipv4'), next('ipv6')]).toEqual([
    [1000, 2000],
    [1018, 2018],
  ])
})
