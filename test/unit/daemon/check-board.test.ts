/** The results of the health checks as the engine knows them: names without a check, and results before the first report. */
import { expect, test } from 'vitest'
import type { Check } from '../../../src/config/checks.ts'
import { CheckBoard } from '../../../src/daemon/health/check-board.ts'
import { millis } from '../../../src/wire/units.ts'
import { checkSpec, tcpSpec } from '../../support/check-spec.ts'
import { report } from '../healthcheck/fake-checks.ts'

const UNKNOWN_AFTER = 5_000
const probe = (changes: Parameters<typeof checkSpec>[1] = {}): Check => ({
  kind: 'probe',
  spec: checkSpec(tcpSpec(1), { name: 'web', unknownAfter: millis(UNKNOWN_AFTER), ...changes }),
})

function boardOf(...checks: readonly Check[]): CheckBoard {
  const board = new CheckBoard()
  board.set(checks, millis(0))
  return board
}

test('a name without a check has no state and no probes, and its reports and stored results are ignored', () => {
  const board = boardOf(probe())
  expect([board.of('gone'), board.probesOf('gone')]).toEqual([undefined, []])
  expect(board.assuming('down', new Set(['gone']))('gone')).toBeUndefined()
  expect(board.hear([report('gone', 'down', 10)], millis(10))).toEqual([])
  board.restore([{ check: 'gone', result: 'up', since: millis(0), heardAt: millis(0), weight: undefined }], millis(10))
  expect(board.of('gone')).toBeUndefined()
})

test('only a result that counts is kept for the next engine', () => {
  const board = boardOf(probe(), probe({ name: 'db' }))
  board.hear([report('db', 'up', 10)], millis(20))
  expect(board.kept()).toEqual([{ check: 'db', result: 'up', since: 10, heardAt: 20, weight: undefined }])
  expect(board.formerly()).toEqual([{ check: 'db', result: 'up', since: 10, weight: undefined }])
})

test.each([
  ['hold', 'up'],
  ['fail', 'down'],
] as const)(
  'without any report a check with initial: up is unknown in the end, and with onUnknown: %s counts as %s',
  (onUnknown, countsAs) => {
    const board = boardOf(probe({ initial: 'up', onUnknown }))
    expect(board.of('web')).toMatchObject({ result: 'up', countsAs: 'up' })
    board.doubt(millis(UNKNOWN_AFTER))
    expect(board.of('web')).toMatchObject({ result: 'unknown', countsAs })
  },
)
