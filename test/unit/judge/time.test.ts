/** What a busy machine excuses, what it does not, and that an excuse is never silent. */
import { expect, test } from 'vitest'
import {
  CannotBeJudged,
  excuses,
  findingsOf,
  isWorthAnotherAttempt,
  judge,
  judgementOf,
  judgeTime,
  type Loss,
  Missed,
  PRESSURE,
  STOLEN,
  stolenMs,
  waitedMs,
  watchMachine,
} from '../../judge/time.ts'

const quiet: Loss = { wall: 1_000, stolen: 0, waited: 10 }
const stolen: Loss = { ...quiet, stolen: STOLEN }
const crowded: Loss = { ...quiet, waited: 10 * PRESSURE + 1 }

const thrownBy = (findings: Parameters<typeof judge>[1]): unknown => {
  try {
    judge('two holders', findings)
  } catch (error) {
    return error
  }
  return undefined
}

test.each([
  ['nothing', quiet, false],
  ['one jiffy less than two advertisements of 10 ms', { ...quiet, stolen: STOLEN - 10 }, false],
  ['two advertisements of 10 ms', stolen, true],
  ['a process that waited for a fifth of the time', { ...quiet, waited: 10 * PRESSURE }, false],
  ['a process that waited for more', crowded, true],
  ['no time at all', { wall: 0, stolen: 0, waited: 0 }, false],
])('with %s lost, a bound is excused: %o', (_, loss, excused) => {
  expect(excuses(loss)).toBe(excused)
})

test('bounds that were kept are held, whatever was lost', () => {
  expect(thrownBy({ late: [], loss: stolen })).toBeUndefined()
})

test('a bound that was not kept on a quiet machine is missed', () => {
  const error = thrownBy({ late: ['expected 10 ms, saw 30 ms'], loss: quiet })
  expect(error).toBeInstanceOf(Missed)
  expect(String(error)).toBe('Missed: two holders (CPU pressure 1 %, 0 ms stolen):\nexpected 10 ms, saw 30 ms')
})

test.each([stolen, crowded])('a bound that was not kept while %o was lost cannot be judged', (loss) => {
  expect(thrownBy({ late: ['expected 10 ms, saw 30 ms'], loss })).toBeInstanceOf(CannotBeJudged)
})

test.each([
  ['nothing', {}, 'held'],
  ['less than the gauge was late', { unseen: ['late'] }, 'cannot be judged'],
  ['less than the gauge was late, and more', { unseen: ['late'], late: ['later'] }, 'missed'],
  ['less than the gauge was late, and a wrong deed', { unseen: ['late'], wrong: ['lost'] }, 'missed'],
])('on a quiet machine a bound that was missed by %s: %o is %s', (_, findings, judgement) => {
  expect(judgementOf({ late: [], loss: quiet, ...findings })).toBe(judgement)
})

test('a violation is unseen if the gauge was late by as much as it is over its bound', () => {
  const violations = [
    { over: 10, unseen: 9 },
    { over: 10, unseen: 10 },
  ]
  expect(findingsOf({ violations }, ['one', 'two'])).toEqual({ late: ['one'], unseen: ['two'] })
})

test('one time is judged against the bound that is promised for it', () => {
  const judged = (ms: number, loss: Loss) => () => judgeTime('the successor answers', ms, 61, 'RFC 9568 §6.1', loss)
  expect(judged(61, quiet)).not.toThrow()
  expect(judged(62, quiet)).toThrow(Missed)
  expect(judged(62, quiet)).toThrow('expected at most 61.0 ms (RFC 9568 §6.1), saw 62.0 ms')
  expect(judged(62, crowded)).toThrow(CannotBeJudged)
  expect(judged(Number.NaN, quiet), 'a time that was not measured').toThrow(Missed)
})

test('a wrong deed is missed, whatever was lost', () => {
  const error = thrownBy({ late: ['late'], wrong: ['a healthy node lost the address'], loss: crowded })
  expect(error).toBeInstanceOf(Missed)
  expect(String(error)).toContain('a healthy node lost the address\nlate')
})

test.each([
  ['one that could not be judged', [{ name: 'CannotBeJudged', loss: quiet }], true],
  ['an assertion on a quiet machine', [{ name: 'AssertionError', loss: quiet }], false],
  ['an assertion on a crowded machine', [{ name: 'AssertionError', loss: crowded }], true],
  ['an assertion, and nothing known of the machine', [{ name: 'AssertionError' }], false],
  ['a missed bound on a crowded machine', [{ name: 'Missed', loss: crowded }], false],
  [
    'one that could not be judged beside a missed one',
    [
      { name: 'CannotBeJudged', loss: crowded },
      { name: 'Missed', loss: crowded },
    ],
    false,
  ],
])('a file with %s is run again: %o', (_, failures, again) => {
  expect(isWorthAnotherAttempt(failures)).toBe(again)
})

test('what this machine lost is told in numbers that do not go back', () => {
  const lost = watchMachine()
  const before = [stolenMs(), waitedMs()]
  const [stolenNow = 0, waitedNow = 0] = [stolenMs(), waitedMs()]
  expect(before.every((value) => value >= 0)).toBe(true)
  expect(stolenNow).toBeGreaterThanOrEqual(before[0] ?? 0)
  expect(waitedNow).toBeGreaterThanOrEqual(before[1] ?? 0)
  expect(lost().wall).toBeGreaterThanOrEqual(0)
})
