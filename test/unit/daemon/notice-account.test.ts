/** The counters of notify programs: results, waiting notifications, and log lines up to a limit. */
import { beforeEach, expect, test } from 'vitest'
import { NoticeAccounts, type OpenNotice } from '../../../src/daemon/telemetry/notice-account.ts'
import { type LogRecord, Recorder } from '../../../src/daemon/telemetry/recorder.ts'
import { ms } from '../vrrp/fsm-fixture.ts'

const api: OpenNotice = { subject: { kind: 'router', name: 'api' }, lane: 'router api', event: 'active' }
const all: OpenNotice = { subject: { kind: 'group', name: 'all' }, lane: 'group all', event: 'backup' }

let records: LogRecord[] = []
let accounts: NoticeAccounts

beforeEach(() => {
  records = []
  const recorder = new Recorder(
    () => 0,
    (deliver) => deliver(),
  )
  recorder.attach((record) => records.push(record))
  accounts = new NoticeAccounts(recorder)
  accounts.keep([api])
  accounts.open(1, api)
  accounts.open(2, all)
})

const ran = (id: number, reason: string, detail: string) =>
  accounts.hear({ kind: 'ran', id, reason, detail, latency: 12.34 } as Parameters<NoticeAccounts['hear']>[0], ms(0))

test('a run is counted by its result, and logged with the router or the group', () => {
  ran(1, 'ok', '/bin/true')
  ran(2, 'exit-status', '/bin/false: exit status 1')
  expect(accounts.snapshot()).toMatchObject([
    { name: 'api', waiting: 1, runs: { ok: 1 }, last: { event: 'active', ok: true, latencyMs: 12.3 } },
    { name: 'all', waiting: 1, runs: { 'exit-status': 1 }, last: { event: 'backup', ok: false } },
  ])
  expect(records.map(({ message }) => message)).toEqual([
    'api: notify active: /bin/true',
    'all: notify backup: /bin/false: exit status 1',
  ])
  expect(records.map(({ fields }) => [fields.router, fields.group])).toEqual([
    ['api', undefined],
    [undefined, 'all'],
  ])
})

test('a notification is logged if a later notification replaced it, and not if it has ended', () => {
  accounts.hear({ kind: 'superseded', id: 1 }, ms(0))
  accounts.hear({ kind: 'done', id: 2 }, ms(0))
  expect(accounts.snapshot()).toMatchObject([
    { name: 'api', waiting: 0, runs: { superseded: 1 }, last: null },
    { name: 'all', waiting: 0, runs: {} },
  ])
  expect(records.map(({ message }) => message)).toEqual([
    'api: notify active: not run, because a later notification replaced it',
  ])
})

test('news about an unknown notification changes nothing', () => {
  accounts.hear({ kind: 'done', id: 9 }, ms(0))
  accounts.hear({ kind: 'postedAgain', ids: [9] }, ms(0))
  expect(accounts.snapshot()).toMatchObject([{ name: 'api', waiting: 1, runs: {} }])
})

test('notifications that were posted again are counted and named in one line', () => {
  accounts.hear({ kind: 'postedAgain', ids: [1, 2] }, ms(0))
  expect(accounts.snapshot().map(({ runs }) => runs)).toEqual([{ postedAgain: 1 }, { postedAgain: 1 }])
  expect(records.at(-1)?.message).toBe('Notify thread died; posted again to the new thread: api active, all backup')
})

test('a removed router loses its counters as soon as none of its notifications waits', () => {
  accounts.keep([])
  expect(accounts.snapshot().map(({ name }) => name)).toEqual(['api'])
  accounts.hear({ kind: 'done', id: 1 }, ms(0))
  accounts.keep([])
  expect(accounts.snapshot()).toEqual([])
})

test('a flood of runs is logged up to a limit, and counted whole', () => {
  for (let i = 0; i < 1_000; i++) ran(1, 'ok', '/bin/true')
  expect(accounts.snapshot()[0]?.runs).toEqual({ ok: 1_000 })
  expect(records.length).toBeLessThan(100)
})
