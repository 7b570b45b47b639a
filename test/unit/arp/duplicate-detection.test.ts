/**
 * When detection asks which other host has our addresses, and which answers make a duplicate holder. Times are
 * arguments.
 */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  askNow,
  type Detection,
  type DetectionRules,
  detectionPeriod,
  duplicateHolders,
  hearAnswer,
  nextQuestionAt,
  startDetection,
  withAddresses,
  withoutAllowed,
  withPatience,
} from '../../../src/arp/duplicate-detection.ts'
import { type Address, address } from '../../../src/wire/address.ts'
import { type Mac, macFromBytes } from '../../../src/wire/mac.ts'
import { forAll } from '../../support/for-all.ts'
import { ms, VIP, VIP2, VIPS } from '../vrrp/fsm-fixture.ts'

const mac = (last: number): Mac => macFromBytes(Uint8Array.of(2, 0, 0, 0, 0, last))
const OURS = mac(1)
const OTHER_HOST = mac(2)
const PROXY = mac(3)
const RULES: DetectionRules = { own: [OURS], allowed: [PROXY], patience: () => 0, isNameless: () => false }
const SECOND = ms(1000)

/** Became Active at 1000. */
const fresh = (): Detection => startDetection(VIPS, ms(1000))
const ask = (detection: Detection, at: number, chance = 0, most = 100) =>
  askNow(detection, { period: SECOND, chance, most }, ms(at))

function hear(detection: Detection, whose: Mac, ...at: readonly number[]): { detection: Detection; found: boolean[] } {
  const found: boolean[] = []
  let now = detection
  for (const moment of at) {
    const heard = hearAnswer(now, RULES, { address: VIP, mac: whose }, ms(moment))
    now = heard.detection
    found.push(heard.found)
  }
  return { detection: now, found }
}

describe('asking', () => {
  test('detection asks when answers count after the takeover, and every second, up to a fifth earlier', () => {
    expect(nextQuestionAt(fresh())).toBe(1500)
    expect(nextQuestionAt(startDetection(VIPS, ms(1000), 300)), 'many at once').toBe(1800)
    const first = ask(fresh(), 1500)
    expect(first.questions).toEqual(VIPS)
    expect(nextQuestionAt(first.detection)).toBe(2500)
    expect(nextQuestionAt(ask(fresh(), 1500, 1).detection)).toBe(2300)
    expect(ask(first.detection, 2499.9)).toEqual({ detection: first.detection, questions: [], began: false, gone: [] })
    expect(ask(first.detection, 2500).questions).toEqual(VIPS)
  })

  test('detection sends no more questions than allowed, and the rest of a round comes next', () => {
    const many = Array.from({ length: 5 }, (_, i) => address(`198.51.100.${i + 1}`))
    let detection = startDetection(many, ms(1000))
    const asked: Address[][] = []
    for (const at of [1500, 1600, 1700]) {
      const turn = ask(detection, at, 0, 2)
      detection = turn.detection
      asked.push([...turn.questions])
    }
    expect(asked).toEqual([many.slice(0, 2), many.slice(2, 4), many.slice(4)])
    expect(nextQuestionAt(detection), 'a second after the beginning of the round').toBe(2500)
    expect(ask(detection, 2500, 0, 0).questions, 'no room').toEqual([])
  })

  test('missed rounds of detection become one round', () => {
    const { detection } = ask(ask(fresh(), 1500).detection, 61_000)
    expect(nextQuestionAt(detection)).toBe(62_000)
  })

  test('an interface sends at most 100 questions a second, even if every round is a fifth earlier', () => {
    expect(detectionPeriod(1)).toBe(1000)
    expect(detectionPeriod(80)).toBe(1000)
    expect(detectionPeriod(255)).toBe(3187.5)
  })

  test('detection asks once more for a suspect after 100 ms, and for its address only', () => {
    const asked = ask(fresh(), 1500).detection
    const { detection } = hear(asked, OTHER_HOST, 1500)
    expect(nextQuestionAt(detection)).toBe(1600)
    const again = ask(detection, 1600)
    expect(again.questions).toEqual([VIP])
    expect(nextQuestionAt(again.detection), 'not a third time before the next round').toBe(2500)
  })

  test('after a reload detection asks for the new addresses and keeps the suspects of the others', () => {
    const { detection } = hear(fresh(), OTHER_HOST, 1500, 1600)
    expect(duplicateHolders(withAddresses(detection, [VIP]))).toEqual([{ address: VIP, mac: OTHER_HOST }])
    const moved = withAddresses(detection, [VIP2])
    expect(duplicateHolders(moved)).toEqual([])
    expect(ask(moved, 2000).questions).toEqual([VIP2])
  })
})

describe('an answer', () => {
  test.each([
    ['once is chance', OTHER_HOST, [1500], [false]],
    ['twice, 100 ms apart, is a holder', OTHER_HOST, [1500, 1600], [false, true]],
    ['again and again at once is one answer', OTHER_HOST, [1500, 1501, 1599.9], [false, false, false]],
    ['in between does not move the first one', OTHER_HOST, [1500, 1590, 1600], [false, false, true]],
    ['of a known holder is no news', OTHER_HOST, [1500, 1600, 2600], [false, true, false]],
    [
      'within 500 ms of the takeover does not count',
      OTHER_HOST,
      [1000, 1499.9, 1550, 1600],
      [false, false, false, false],
    ],
    ['of our own does not count', OURS, [1500, 1600], [false, false]],
    ['of an allowed proxy does not count', PROXY, [1500, 1600], [false, false]],
  ])('%s', (_word, whose, at, expected) => {
    const { found, detection } = hear(fresh(), whose, ...at)
    expect(found).toEqual(expected)
    expect(duplicateHolders(detection)).toEqual(expected.includes(true) ? [{ address: VIP, mac: whose }] : [])
  })

  test('a second answer of a router counts after the time of an election', () => {
    const patient = { ...RULES, patience: () => 700 }
    const heard = (detection: Detection, at: number) =>
      hearAnswer(detection, patient, { address: VIP, mac: OTHER_HOST }, ms(at))
    const first = heard(fresh(), 1500)
    expect(nextQuestionAt({ ...first.detection, roundAt: ms(9000) }), 'asked again then, on the grid').toBe(2200)
    const early = heard(first.detection, 2199)
    expect([early.found, heard(early.detection, 2200).found]).toEqual([false, true])
    const known = withPatience(hear(fresh(), OTHER_HOST, 1500).detection, OTHER_HOST, 3000)
    expect(nextQuestionAt({ ...known, roundAt: ms(9000) }), 'known only later').toBe(4500)
    expect(hear(known, OTHER_HOST, 4499, 4500).found).toEqual([false, true])
  })

  test('an answer of an unknown MAC counts 100 ms after its router was asked for twice', () => {
    const nameless = { ...RULES, isNameless: () => true }
    const heard = (detection: Detection, at: number) =>
      hearAnswer(detection, nameless, { address: VIP, mac: OTHER_HOST }, ms(at))
    const first = heard(fresh(), 1510).detection
    expect(nextQuestionAt({ ...first, roundAt: ms(9000) }), 'at once, on the grid').toBe(1600)
    expect(heard(first, 1900).found, 'nobody has asked').toBe(false)
    const once = ask(first, 1620).detection
    expect(nextQuestionAt({ ...once, roundAt: ms(9000) })).toBe(1800)
    const again = heard(once, 1740)
    expect(again.found, 'asked once').toBe(false)
    const twice = ask(again.detection, 1800).detection
    expect([heard(twice, 1899).found, heard(twice, 1900).found]).toEqual([false, true])
    const named = withPatience(again.detection, OTHER_HOST, 700)
    expect([heard(named, 2209).found, heard(named, 2210).found], 'it has a name').toEqual([false, true])
  })

  test('an answer after an unanswered question is a first answer: two heals are not a duplicate', () => {
    const { detection } = hear(fresh(), OTHER_HOST, 1500)
    const asked = ask(detection, 1600).detection
    expect(hear(asked, OTHER_HOST, 1799).found, 'late').toEqual([true])
    const again = hear(asked, OTHER_HOST, 1800, 1850, 1900)
    expect(again.found).toEqual([false, false, true])
    expect(ask(asked, 2600).detection.suspects, 'and forgotten with the next round').toEqual([])
  })

  test('a router that lost two elections a little more than a second apart is not a duplicate', () => {
    const patient = { ...RULES, patience: () => 1200 }
    const answered = (detection: Detection, at: number) =>
      hearAnswer(detection, patient, { address: VIP, mac: OTHER_HOST }, ms(at))
    // Asked 350 ms before the second heal, after it had lost the first election.
    const asked = ask(answered(fresh(), 1500).detection, 2400).detection
    const second = answered(asked, 2750)
    expect(second.found).toBe(false)
    expect(duplicateHolders(answered(second.detection, 3949).detection), 'and its own time begins').toEqual([])
  })

  test('one answer of each of two MACs proves nothing', () => {
    const one = hear(fresh(), OTHER_HOST, 1500).detection
    expect(hear(one, mac(4), 1600).found).toEqual([false])
  })

  test('an answer for another address is ignored', () => {
    const before = fresh()
    const foreign = { address: address('198.51.100.99'), mac: OTHER_HOST }
    expect(hearAnswer(before, RULES, foreign, ms(1500))).toEqual({ detection: before, found: false })
  })

  const rounds = (detection: Detection, ...at: readonly number[]) =>
    at.reduce((turn, moment) => ask(turn.detection, moment), ask(detection, at[0] ?? 0))

  test('a duplicate holder without answers for three rounds is gone, and is reported again when it returns', () => {
    const { detection } = hear(ask(fresh(), 1500).detection, OTHER_HOST, 1500, 1600)
    const third = rounds(detection, 2500, 3500, 4500)
    expect(third.gone, 'the third question has only just been asked').toEqual([])
    const fourth = ask(third.detection, 5500)
    expect(fourth.gone).toEqual([{ address: VIP, mac: OTHER_HOST }])
    expect(duplicateHolders(fourth.detection)).toEqual([])
    expect(hear(fourth.detection, OTHER_HOST, 6000, 6100).found).toEqual([false, true])
  })

  test('a missing answer without a question does not count, because this node may have slept', () => {
    const { detection } = hear(ask(fresh(), 1500).detection, OTHER_HOST, 1500, 1600)
    expect(ask(detection, 61_000).gone).toEqual([])
  })

  test('a suspect that was never confirmed is forgotten without a report', () => {
    const { detection } = hear(ask(fresh(), 1500).detection, OTHER_HOST, 1500)
    const later = rounds(detection, 2500, 3500, 4500, 5500)
    expect(later.gone).toEqual([])
    expect(later.detection.suspects).toEqual([])
  })

  test('a suspect that is allowed from now on is not a duplicate', () => {
    const { detection } = hear(fresh(), OTHER_HOST, 1500, 1600)
    expect(duplicateHolders(withoutAllowed(detection, RULES))).toEqual([{ address: VIP, mac: OTHER_HOST }])
    expect(withoutAllowed(detection, { own: [], allowed: [OTHER_HOST] }).suspects).toEqual([])
  })
})

test('a flood of MACs uses little memory and causes no additional questions', () => {
  const flood = fc.array(fc.record({ gap: fc.integer({ min: 0, max: 20 }), last: fc.integer({ min: 2, max: 255 }) }), {
    minLength: 300,
    maxLength: 600,
  })
  forAll(100, [flood], (answers) => {
    let detection = fresh()
    let now = 1500
    let questions = 0
    for (const { gap, last } of answers) {
      now += gap
      const whose = mac(last)
      detection = hearAnswer(detection, RULES, { address: VIP, mac: whose }, ms(now)).detection
      const turn = ask(detection, now, 1)
      detection = turn.detection
      questions += turn.questions.length
      expect(detection.suspects.length, 'MACs remembered').toBeLessThanOrEqual(8)
    }
    const seconds = (now - 1500) / 1000
    const rounds = Math.ceil(seconds / 0.8) + 1
    expect(questions, `questions in ${seconds} s`).toBeLessThanOrEqual(rounds * VIPS.length + 10 * seconds + 1)
  })
})
