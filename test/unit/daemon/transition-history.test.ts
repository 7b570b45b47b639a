/** The log of transitions is limited to what people can read, because a neighbour decides how many there are. */
import { beforeEach, expect, test } from 'vitest'
import { type LogRecord, Recorder } from '../../../src/daemon/telemetry/recorder.ts'
import { type Transition, TransitionHistory } from '../../../src/daemon/telemetry/transition-history.ts'
import { ms, parameters } from '../vrrp/fsm-fixture.ts'

const teller = { name: 'api', title: 'api', group: { name: undefined }, parameters: parameters('holdfast') }
const wins: Transition = { kind: 'transition', from: 'Backup', to: 'Active', reason: 'activeReleased' }
const loses: Transition = { kind: 'transition', from: 'Active', to: 'Backup', reason: 'higherPriorityHeard' }

let records: LogRecord[] = []
let history: TransitionHistory

beforeEach(() => {
  records = []
  const recorder = new Recorder(
    () => 0,
    (deliver) => deliver(),
  )
  recorder.attach((record) => records.push(record))
  history = new TransitionHistory(recorder, ms(0))
})

/** Makes a transition every 5 ms, and runs the deadlines of the router. */
function flap(count: number, from: number): number {
  let now = from
  for (let i = 0; i < count; i++) {
    now = from + i * 5
    history.catchUp(teller, ms(now))
    const transition = i % 2 === 0 ? loses : wins
    history.tell({ transition, interfaceName: 'eth0', followed: undefined, at: ms(now) }, teller, ms(now))
  }
  return now
}

test('twenty transitions are logged one by one, then one in a second, and all are counted', () => {
  flap(2_000, 0)
  expect(records.length, 'lines in 10 s').toBeGreaterThanOrEqual(20 + 9)
  expect(records.length, 'lines in 10 s').toBeLessThanOrEqual(20 + 11)
  expect(history.transitions.get('Active Backup higherPriorityHeard')).toBe(1_000)
  const told = records.reduce((sum, { fields }) => sum + 1 + Number(fields.suppressed ?? 0), 0)
  expect(told, 'told, or told of').toBeGreaterThan(2_000 - 250)
})

test('the last suppressed transition is logged later, with the number of others', () => {
  const now = flap(30, 0)
  expect(records).toHaveLength(20)
  expect(records.at(-1)?.fields).toMatchObject({ to: 'Active' })
  const until = history.catchUpAt
  expect(until).toBe(1_000)
  history.catchUp(teller, ms(999))
  expect(records).toHaveLength(20)
  history.catchUp(teller, ms(Number(until)))
  expect(now).toBeLessThan(1_000)
  expect(records.at(-1)).toMatchObject({
    message:
      'api: Backup → Active: the previous Active released the address (priority 0), after 9 transitions that were not logged',
    fields: { suppressed: 9 },
  })
  expect(history.catchUpAt).toBeUndefined()
})

test('after 20 s all twenty lines are available again', () => {
  flap(40, 0)
  history.catchUp(teller, ms(1_000))
  const before = records.length
  flap(20, 22_000)
  expect(records.length - before).toBe(20)
  expect(records.slice(before).every(({ fields }) => fields.suppressed === undefined)).toBe(true)
  expect(history.catchUpAt).toBeUndefined()
})

test('a transition of a router without an interface is logged with its group, and nothing is logged later', () => {
  const group = { ...teller, group: { name: 'all' } }
  const followed = { source: '10.0.0.2', priority: 200, heardAt: ms(-50) } as never
  history.tell({ transition: wins, interfaceName: undefined, followed, at: ms(0) }, group, ms(0))
  expect(records.at(-1)?.fields).toMatchObject({ group: 'all', to: 'Active' })
  expect(records.at(-1)?.fields.interface).toBeUndefined()
  history.catchUp(group, ms(1))
  expect(records).toHaveLength(1)
})
