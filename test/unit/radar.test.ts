/** When to ask who else has our addresses, and which answers make a duplicate owner. Times are arguments. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  askNow,
  duplicateOwners,
  hearAnswer,
  nextQuestionAt,
  type Radar,
  type RadarRules,
  radarFrom,
  radarPeriod,
  withRadarAddresses,
} from '../../src/arp/radar.ts'
import { answerToDuplicate, type OnDuplicate } from '../../src/vrrp/duplicate.ts'
import { type Address, address } from '../../src/wire/address.ts'
import { type Mac, macFromBytes } from '../../src/wire/mac.ts'
import { ABOVE, BELOW, ms, OTHER, parameters, VIP, VIP2, VIPS } from './fsm-fixture.ts'

const mac = (last: number): Mac => macFromBytes(Uint8Array.of(2, 0, 0, 0, 0, last))
const OURS = mac(1)
const RIVAL = mac(2)
const PROXY = mac(3)
const RULES: RadarRules = { own: [OURS], allowed: [PROXY] }
const SECOND = ms(1000)

/** Became Active at 1000. */
const fresh = (): Radar => radarFrom(VIPS, ms(1000))
const ask = (radar: Radar, at: number, chance = 0) => askNow(radar, SECOND, chance, ms(at))

function hear(radar: Radar, whose: Mac, ...at: readonly number[]): { radar: Radar; found: boolean[] } {
  const found: boolean[] = []
  let now = radar
  for (const moment of at) {
    const heard = hearAnswer(now, RULES, { address: VIP, mac: whose }, ms(moment))
    now = heard.radar
    found.push(heard.found)
  }
  return { radar: now, found }
}

describe('asking', () => {
  test('at the takeover and every second, up to a fifth earlier', () => {
    const first = ask(fresh(), 1000)
    expect(first.questions).toEqual(VIPS)
    expect(nextQuestionAt(first.radar)).toBe(2000)
    expect(nextQuestionAt(ask(fresh(), 1000, 1).radar)).toBe(1800)
    expect(ask(first.radar, 1999.9)).toEqual({ radar: first.radar, questions: [], gone: [] })
    expect(ask(first.radar, 2000).questions).toEqual(VIPS)
  })

  test('rounds that were slept through are one', () => {
    const { radar } = ask(ask(fresh(), 1000).radar, 61_000)
    expect(nextQuestionAt(radar)).toBe(62_000)
  })

  test('an interface carries at most 100 questions a second', () => {
    expect(radarPeriod(1)).toBe(1000)
    expect(radarPeriod(100)).toBe(1000)
    expect(radarPeriod(255)).toBe(2550)
  })

  test('once more for a suspect, 100 ms later, and for its address only', () => {
    const asked = ask(fresh(), 1000).radar
    const { radar } = hear(asked, RIVAL, 1500)
    expect(nextQuestionAt(radar)).toBe(1600)
    const again = ask(radar, 1600)
    expect(again.questions).toEqual([VIP])
    expect(nextQuestionAt(again.radar), 'not a third time before the next round').toBe(2000)
  })

  test('after a reload for the new addresses; what is known of the others goes', () => {
    const { radar } = hear(fresh(), RIVAL, 1500, 1600)
    expect(duplicateOwners(withRadarAddresses(radar, [VIP]))).toEqual([{ address: VIP, mac: RIVAL }])
    const moved = withRadarAddresses(radar, [VIP2])
    expect(duplicateOwners(moved)).toEqual([])
    expect(ask(moved, 2000).questions).toEqual([VIP2])
  })
})

describe('an answer', () => {
  test.each([
    ['once is chance', RIVAL, [1500], [false]],
    ['twice, 100 ms apart, is an owner', RIVAL, [1500, 1600], [false, true]],
    ['again and again at once is one answer', RIVAL, [1500, 1501, 1599.9], [false, false, false]],
    ['in between does not move the first one', RIVAL, [1500, 1590, 1600], [false, false, true]],
    ['of a known owner is no news', RIVAL, [1500, 1600, 2600], [false, true, false]],
    ['within 500 ms of the takeover does not count', RIVAL, [1000, 1499.9, 1550, 1600], [false, false, false, false]],
    ['of our own does not count', OURS, [1500, 1600], [false, false]],
    ['of an allowed proxy does not count', PROXY, [1500, 1600], [false, false]],
  ])('%s', (_word, whose, at, expected) => {
    const { found, radar } = hear(fresh(), whose, ...at)
    expect(found).toEqual(expected)
    expect(duplicateOwners(radar)).toEqual(expected.includes(true) ? [{ address: VIP, mac: whose }] : [])
  })

  test('two MACs are two suspects: one answer of each proves nothing', () => {
    const one = hear(fresh(), RIVAL, 1500).radar
    expect(hear(one, mac(4), 1600).found).toEqual([false])
  })

  test('for an address that is not ours is nothing', () => {
    const before = fresh()
    const foreign = { address: address('198.51.100.99'), mac: RIVAL }
    expect(hearAnswer(before, RULES, foreign, ms(1500))).toEqual({ radar: before, found: false })
  })

  test('that stays away for three rounds: the owner has gone, and is news when it comes back', () => {
    const { radar } = hear(ask(fresh(), 1000).radar, RIVAL, 1500, 1600)
    const third = ask(radar, 4600)
    expect(third.gone, '3000 ms').toEqual([])
    const fourth = ask(third.radar, 5600)
    expect(fourth.gone).toEqual([{ address: VIP, mac: RIVAL }])
    expect(duplicateOwners(fourth.radar)).toEqual([])
    expect(hear(fourth.radar, RIVAL, 6000, 6100).found).toEqual([false, true])
  })

  test('that was never confirmed is forgotten without a word', () => {
    const { radar } = hear(ask(fresh(), 1000).radar, RIVAL, 1500)
    const later = ask(radar, 5600)
    expect(later.gone).toEqual([])
    expect(later.radar.suspects).toEqual([])
  })
})

test('a flood of MACs: little is remembered, and nobody asks faster', () => {
  const flood = fc.array(fc.record({ gap: fc.integer({ min: 0, max: 20 }), last: fc.integer({ min: 2, max: 255 }) }), {
    minLength: 300,
    maxLength: 600,
  })
  fc.assert(
    fc.property(flood, (answers) => {
      let radar = fresh()
      let now = 1500
      let questions = 0
      for (const { gap, last } of answers) {
        now += gap
        const whose = mac(last)
        radar = hearAnswer(radar, RULES, { address: VIP, mac: whose }, ms(now)).radar
        const turn = ask(radar, now, 1)
        radar = turn.radar
        questions += turn.questions.length
        expect(radar.suspects.length, 'MACs remembered').toBeLessThanOrEqual(32)
      }
      const seconds = (now - 1500) / 1000
      const rounds = Math.ceil(seconds / 0.8) + 1
      expect(questions, `questions in ${seconds} s`).toBeLessThanOrEqual(rounds * VIPS.length + 10 * seconds + 1)
    }),
    { numRuns: 100 },
  )
})

describe('onDuplicate', () => {
  const us = parameters('holdfast')
  const by = (source: Address, priority: number) => ({ source, priority })

  test.each([
    ['yield', 'a higher priority', by(BELOW, 200), 'yield'],
    ['yield', 'an equal one with a higher address', by(ABOVE, 128), 'yield'],
    ['yield', 'an equal one with a lower address', by(BELOW, 128), 'announce'],
    ['yield', 'a lower priority', by(OTHER, 100), 'announce'],
    ['yield', 'somebody unknown', undefined, 'alarm'],
    ['announce', 'a higher priority', by(ABOVE, 200), 'announce'],
    ['alarm', 'a lower priority', by(OTHER, 100), 'alarm'],
  ] satisfies [OnDuplicate, string, unknown, OnDuplicate][])('%s against %s', (wanted, _word, rival, expected) => {
    expect(answerToDuplicate(wanted, us, rival)).toBe(expected)
  })

  test('an owner does not give up what is its own', () => {
    const owner = parameters('holdfast', { priority: 255 })
    expect(answerToDuplicate('yield', owner, by(ABOVE, 255))).toBe('alarm')
  })
})
