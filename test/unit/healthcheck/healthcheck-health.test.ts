import { describe, expect, test } from 'vitest'
import type { HealthRule } from '../../../src/healthcheck/check.ts'
import {
  countedAs,
  expireHealth,
  type Health,
  type HealthChange,
  healthDeadline,
  isChanging,
  type Outcome,
  resumeHealth,
  startHealth,
  stepHealth,
} from '../../../src/healthcheck/health.ts'
import { millis } from '../../../src/wire/units.ts'

const RULE: HealthRule = { rise: 2, fall: 3, initial: 'firstResult', onUnknown: 'hold', unknownAfter: millis(5_000) }
const OUTCOMES: Readonly<Record<string, Outcome>> = { o: 'ok', f: 'fail', '?': 'unknown' }

/**
 * Runs a check once a second with these outcomes: `o` ok, `f` fail, `?` unknown. Returns the result of the check after
 * each run: `u` up, `d` down, `?` unknown, `-` undecided.
 */
function resultsOf(outcomes: string, rule: HealthRule = RULE): string {
  let health = startHealth(rule, millis(0))
  return [...outcomes]
    .map((letter, i) => {
      health = stepHealth(health, OUTCOMES[letter] ?? 'unknown', rule, millis((i + 1) * 1000))[0]
      return { up: 'u', down: 'd', unknown: '?', undecided: '-' }[health.result]
    })
    .join('')
}

describe('rise and fall (VR-TRK-04)', () => {
  test.each([
    ['the third failure in a row counts, the second success in a row', 'offfffoo', 'uuudddd' + 'u'],
    ['a result of the other kind restarts the count', 'offoffofff', 'uuuuuuuuud'],
    ['and so on the way up', 'ffofofoo', 'ddddddd' + 'u'],
  ])('%s', (_, outcomes, wanted) => expect(resultsOf(outcomes)).toBe(wanted))

  test('with rise 1 and fall 1 each outcome decides the result', () => {
    expect(resultsOf('ofofff', { ...RULE, rise: 1, fall: 1 })).toBe('ududdd')
  })
})

describe('the first result (VR-TRK-05)', () => {
  test('decides alone, whatever rise and fall', () => {
    expect(resultsOf('o')).toBe('u')
    expect(resultsOf('f')).toBe('d')
  })

  test('a check that starts down needs `rise` successes (init_fail of the manual)', () => {
    expect(resultsOf('oo', { ...RULE, initial: 'down' })).toBe('du')
  })

  test('a check that starts up needs `fall` failures', () => {
    expect(resultsOf('fff', { ...RULE, initial: 'up' })).toBe('uud')
  })

  test('before it the check counts as nothing', () => {
    expect(countedAs(startHealth(RULE, millis(0)))).toBe('nothing')
  })
})

describe('unknown', () => {
  const up = stepHealth(startHealth(RULE, millis(0)), 'ok', RULE, millis(100))[0]

  test('a run that could not ask changes neither the result nor the count', () => {
    expect(resultsOf('of?f?f')).toBe('uuuuud')
  })

  test('as the first word it is said at once: nobody waits for a result that cannot come', () => {
    const [health, change] = stepHealth(startHealth(RULE, millis(0)), 'unknown', RULE, millis(7))
    expect(change).toEqual({ from: 'undecided', to: 'unknown', countsAs: 'nothing', at: 7 })
    expect(countedAs(health)).toBe('nothing')
    expect(countedAs(stepHealth(health, 'ok', RULE, millis(9))[0])).toBe('up')
  })

  test('the last result stands for unknownAfter, to the ms', () => {
    expect(healthDeadline(up)).toBe(5_100)
    expect(expireHealth(up, RULE, millis(5_099.9))).toEqual([up, undefined])
    expect(expireHealth(up, RULE, millis(5_100))[1]).toEqual({ from: 'up', to: 'unknown', countsAs: 'up', at: 5_100 })
  })

  test('hold: counts as before, and goes on counting from there', () => {
    const [held] = expireHealth(up, RULE, millis(6_000))
    expect(countedAs(held)).toBe('up')
    const [once, change] = stepHealth(held, 'fail', RULE, millis(6_500))
    expect(change).toEqual({ from: 'unknown', to: 'up', countsAs: 'up', at: 6_500 })
    expect(isChanging(once)).toBe(true)
  })

  test('fail: counts as down, and comes back as a check that is down does', () => {
    const rule = { ...RULE, onUnknown: 'fail' } as const
    const [failed] = expireHealth(up, rule, millis(6_000))
    expect(countedAs(failed)).toBe('down')
    const [once] = stepHealth(failed, 'ok', rule, millis(7_000))
    expect(once.result).toBe('down')
    expect(stepHealth(once, 'ok', rule, millis(8_000))[1]).toMatchObject({ from: 'down', to: 'up', at: 8_000 })
  })
})

describe('what it tells', () => {
  const play = (results: string): (HealthChange | undefined)[] => {
    let health: Health = startHealth(RULE, millis(0))
    return [...results].map((letter, i) => {
      const [next, change] = stepHealth(health, OUTCOMES[letter] ?? 'unknown', RULE, millis((i + 1) * 1000))
      health = next
      return change
    })
  }

  test('a change is told once, with its moment', () => {
    expect(play('ooofff')).toEqual([
      { from: 'undecided', to: 'up', countsAs: 'up', at: 1000 },
      ...Array(4).fill(undefined),
      { from: 'up', to: 'down', countsAs: 'down', at: 6000 },
    ])
  })

  test('a check changes from the first outcome against its result until the result flips or an outcome agrees with it', () => {
    const rule = { ...RULE, fall: 2 }
    let health = stepHealth(startHealth(rule, millis(0)), 'ok', rule, millis(1))[0]
    const changing = (['fail', 'ok', 'fail', 'fail', 'ok', 'ok'] as const).map((outcome) => {
      health = stepHealth(health, outcome, rule, millis(2))[0]
      return isChanging(health)
    })
    expect(changing).toEqual([true, false, true, false, true, false])
  })

  test('what is doubted ends with one result against it; a doubt about something else counts for nothing', () => {
    const up = resumeHealth('up', millis(0), RULE, millis(10))
    expect(stepHealth(up, 'fail', RULE, millis(11), ['up'])[0].result).toBe('down')
    const down = resumeHealth('down', millis(0), RULE, millis(10))
    expect(stepHealth(down, 'ok', RULE, millis(11), ['up'])[0].result).toBe('down')
    expect(stepHealth(down, 'ok', RULE, millis(11), ['down'])[0].result).toBe('up')
    expect(stepHealth(down, 'fail', RULE, millis(11), ['down'])[0].result).toBe('down')
  })

  test('a check that carries on keeps since when, and counts from there', () => {
    const up = resumeHealth('up', millis(3), RULE, millis(10_000))
    const [next, change] = stepHealth(up, 'fail', RULE, millis(10_001))
    expect(change).toBeUndefined()
    expect(next).toEqual({ result: 'up', since: 3, against: 1, staleAt: 15_001 })
  })
})
