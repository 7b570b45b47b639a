/** The time until which peers rely on a router, after each kind of advertisement. */
import { expect, test } from 'vitest'
import { AbsenceDeadline, wasSent } from '../../../src/daemon/guard/absence-deadline.ts'
import type { SendOutcome } from '../../../src/daemon/ports.ts'
import { centis } from '../../../src/wire/units.ts'
import { ms } from '../vrrp/fsm-fixture.ts'

const SECOND = centis(100)
const TEN_MS = centis(1)
const failed = (code: string): SendOutcome => ({ ok: false, failure: { code, message: code } }) as SendOutcome
const SENT = { ok: true } as SendOutcome

type Row = [string, (deadline: AbsenceDeadline) => void, absentAt: number, aliveAt?: number]
const ROWS: Row[] = [
  ['nothing more: three intervals', () => {}, 3_000],
  ['an advertisement: three intervals from then', (each) => each.advertised(100, SECOND, ms(1_000)), 4_000],
  [
    'a lower priority than before: one and a half intervals',
    (each) => {
      each.advertised(100, SECOND, ms(1_000))
      each.advertised(50, SECOND, ms(2_000))
    },
    3_500,
  ],
  ['a round of the clock: three intervals from then', (each) => each.repeated(SECOND, ms(500)), 3_500],
  ['a round that is older than the last advertisement: no change', (each) => each.repeated(SECOND, ms(0)), 3_000],
  ['priority 0: one and a half intervals, alive after a third', (each) => each.leave(SECOND, ms(600)), 2_100, 1_100],
  ['priority 0 at 10 ms: at least 50 ms more than an interval', (each) => each.leave(TEN_MS, ms(0)), 60, 20],
  ['a lost election: at most 250 ms', (each) => each.beginGracePeriod(SECOND, ms(100)), 350],
  ['a lost election at 10 ms: at least 70 ms', (each) => each.beginGracePeriod(TEN_MS, ms(100)), 170],
]

test.each(ROWS)('after the addresses were installed and %s', (_, happens, absentAt, aliveAt) => {
  const deadline = new AbsenceDeadline()
  deadline.begin(SECOND, ms(0))
  happens(deadline)
  expect([deadline.absentAt, deadline.aliveAt]).toEqual([absentAt, aliveAt])
})

test('a router without addresses has no deadline, whatever it sends', () => {
  const deadline = new AbsenceDeadline()
  deadline.begin(SECOND, ms(0))
  deadline.end()
  deadline.advertised(100, SECOND, ms(1))
  deadline.repeated(SECOND, ms(2))
  deadline.leave(SECOND, ms(3))
  deadline.beginGracePeriod(SECOND, ms(4))
  expect([deadline.absentAt, deadline.advertisedAt, deadline.aliveAt]).toEqual([undefined, undefined, undefined])
})

test.each<readonly [string, readonly SendOutcome[], canSend: boolean, expected: boolean]>([
  ['one accepted datagram is enough', [failed('ENOBUFS'), SENT], false, true],
  ['destinations without a host count if the link is up', [failed('EHOSTUNREACH'), failed('ENETUNREACH')], true, true],
  ['destinations without a host do not count if the link is down', [failed('EHOSTUNREACH')], false, false],
  ['another error does not count', [failed('EHOSTUNREACH'), failed('ENOBUFS')], true, false],
])('%s', (_, outcomes, canSend, expected) => {
  expect(wasSent(outcomes, canSend)).toBe(expected)
})
