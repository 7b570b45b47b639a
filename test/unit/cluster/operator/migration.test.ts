/** The switch of the load balancer as a table: which fact leads from one phase to the next, and which does not. */
import { describe, expect, test } from 'vitest'
import {
  asksIn,
  continued,
  firstMigration,
  type Migration,
  type MigrationInput,
  migrationText,
  PHASES,
  readMigration,
  stepMigration,
  storedMigration,
} from '../../../../src/cluster/decisions/operator/migration.ts'
import type { Balancer } from '../../../../src/cluster/decisions/status/balancer.ts'
import { address } from '../../../../src/wire/address.ts'

const X = address('10.0.0.200')
const Y = address('10.0.0.201')
const AT = Date.parse('2026-11-22T12:00:00Z')
const GRACE = 300_000
const own: Balancer = { kind: 'own' }
const refused: Balancer = { kind: 'refused', wished: 'x', why: 'y' }
const asking = (place = X): Balancer => ({ kind: 'asking', place, answers: 1, failed: undefined })
const answers = (place = X): Balancer => ({ kind: 'answers', place, failures: 0 })

const state = (phase: Migration['phase'], change: Partial<Migration> = {}): Migration => ({
  ...firstMigration(AT),
  ...{ phase, address: phase === 'SelfHosted' ? undefined : X },
  ...change,
})
const LED = { apiInt: X }
const STOPPED = { apiInt: X, haproxy: 'Stopped' } as const
const step = (from: Migration, balancer: Balancer, change: Partial<MigrationInput> = {}) =>
  stepMigration(from, {
    ...{ balancer, namesBehind: undefined, haproxyBehind: undefined, isSilent: false },
    ...{ epochMs: AT + 1_000, graceMs: GRACE },
    ...change,
  })
const shown = ({ apiInt, haproxy, phase }: Migration) => `${phase} ${apiInt ?? 'VIP'} ${haproxy}`

describe('to an external load balancer', () => {
  test.each<[string, Migration, Balancer, Partial<MigrationInput>, string]>([
    ['a wish is checked first', state('SelfHosted'), asking(), {}, 'Checking VIP Running'],
    ['one answer is not enough', state('Checking'), asking(), {}, 'Checking VIP Running'],
    ['three answers lead the names', state('Checking'), answers(), {}, 'SwitchingNames 10.0.0.200 Running'],
    [
      'nodes that were not asked are waited for',
      state('SwitchingNames', LED),
      answers(),
      {},
      'SwitchingNames 10.0.0.200 Running',
    ],
    [
      'a node behind is waited for',
      state('SwitchingNames', LED),
      answers(),
      { namesBehind: ['n1'] },
      'SwitchingNames 10.0.0.200 Running',
    ],
    [
      'every node followed',
      state('SwitchingNames', LED),
      answers(),
      { namesBehind: [] },
      'Draining 10.0.0.200 Running',
    ],
    [
      'HAProxy stays for the grace period',
      state('Draining', LED),
      answers(),
      { epochMs: AT + GRACE - 1 },
      'Draining 10.0.0.200 Running',
    ],
    [
      'then it is stopped',
      state('Draining', LED),
      answers(),
      { epochMs: AT + GRACE },
      'StoppingHAProxy 10.0.0.200 Stopped',
    ],
    [
      'an open port is waited for',
      state('StoppingHAProxy', STOPPED),
      answers(),
      { haproxyBehind: ['n1'] },
      'StoppingHAProxy 10.0.0.200 Stopped',
    ],
    ['the end', state('StoppingHAProxy', STOPPED), answers(), { haproxyBehind: [] }, 'External 10.0.0.200 Stopped'],
    [
      'a load balancer that is silent later stays',
      state('External', STOPPED),
      asking(),
      {},
      'External 10.0.0.200 Stopped',
    ],
    [
      'HAProxy stays while the load balancer is not known to answer',
      state('Draining', LED),
      asking(),
      { epochMs: AT + 10 * GRACE },
      'Draining 10.0.0.200 Running',
    ],
    [
      'HAProxy that was being started is not taken for running',
      state('StartingHAProxy', LED),
      asking(),
      {},
      'Checking 10.0.0.200 Stopped',
    ],
    [
      'another address is checked while the first is in force',
      state('External', STOPPED),
      asking(Y),
      {},
      'Checking 10.0.0.200 Stopped',
    ],
    [
      'and then takes its place',
      state('Checking', { ...STOPPED, address: Y }),
      answers(Y),
      {},
      'SwitchingNames 10.0.0.201 Stopped',
    ],
    [
      'an answer at an earlier wish does not count',
      state('Checking', { address: Y }),
      answers(X),
      {},
      'Checking VIP Running',
    ],
    ['a wish during the way back is checked again', state('Settling'), asking(), {}, 'Checking VIP Running'],
  ])('%s', (_, from, balancer, change, expected) => {
    expect(shown(step(from, balancer, change))).toBe(expected)
  })
})

describe('back to the nodes', () => {
  test.each<[string, Migration, Partial<MigrationInput>, string]>([
    ['a check ends without a trace', state('Checking'), {}, 'SelfHosted VIP Running'],
    ['names go back while HAProxy runs', state('SwitchingNames', LED), {}, 'ReturningNames VIP Running'],
    ['the same while it drains', state('Draining', LED), {}, 'ReturningNames VIP Running'],
    ['HAProxy is started before the names move', state('External', STOPPED), {}, 'StartingHAProxy 10.0.0.200 Running'],
    ['the same if it is being stopped', state('StoppingHAProxy', STOPPED), {}, 'StartingHAProxy 10.0.0.200 Running'],
    [
      'the same while another address is checked',
      state('Checking', { ...STOPPED, address: Y }),
      {},
      'StartingHAProxy 10.0.0.200 Running',
    ],
    [
      'HAProxy that is not ready is waited for',
      state('StartingHAProxy', LED),
      { haproxyBehind: ['n1'] },
      'StartingHAProxy 10.0.0.200 Running',
    ],
    [
      'a silent load balancer: the names return before HAProxy runs, because no node can follow without the API',
      state('StartingHAProxy', LED),
      { haproxyBehind: ['n1'], isSilent: true },
      'StartingHAProxy VIP Running',
    ],
    [
      'HAProxy is waited for after that',
      state('StartingHAProxy'),
      { haproxyBehind: ['n1'], isSilent: true },
      'StartingHAProxy VIP Running',
    ],
    ['and its start ends the phase', state('StartingHAProxy'), { haproxyBehind: [] }, 'ReturningNames VIP Running'],
    ['ready on all nodes', state('StartingHAProxy', LED), { haproxyBehind: [] }, 'ReturningNames VIP Running'],
    ['a node behind is waited for', state('ReturningNames'), { namesBehind: ['n1'] }, 'ReturningNames VIP Running'],
    ['every node followed', state('ReturningNames'), { namesBehind: [] }, 'Settling VIP Running'],
    ['the external one must stay', state('Settling'), { epochMs: AT + GRACE - 1 }, 'Settling VIP Running'],
    ['the end', state('Settling'), { epochMs: AT + GRACE }, 'SelfHosted VIP Running'],
  ])('%s', (_, from, change, expected) => {
    expect(shown(step(from, own, change))).toBe(expected)
  })
})

test('the way back names the load balancer in force, not an address that was only checked', () => {
  const checking = { address: Y, ...LED }
  expect(step(state('Checking', checking), own)).toMatchObject({ phase: 'ReturningNames', address: X })
  expect(step(state('Checking', { ...STOPPED, address: Y }), own)).toMatchObject({
    phase: 'StartingHAProxy',
    address: X,
  })
})

test('the API server is reachable in each phase: names lead to the VIP, or kube-api has answered at the address', () => {
  // All facts of the table in all orders, as far as 6 steps lead.
  const facts: [Balancer, Partial<MigrationInput>][] = [
    own,
    asking(X),
    answers(X),
    asking(Y),
    answers(Y),
    refused,
  ].flatMap((balancer) => [
    [balancer, {}],
    [balancer, { namesBehind: [], haproxyBehind: [], epochMs: AT + 10 * GRACE }],
    [balancer, { haproxyBehind: ['n1'], isSilent: true }],
  ])
  const reached = new Map<string, Migration>()
  // `runs`: HAProxy was not ordered off since it was seen ready, or a silent load balancer was left for the VIP.
  const visit = (from: Migration, runs: boolean, depth: number): void => {
    if (depth === 0) return
    for (const [balancer, change] of facts) {
      const next = { ...step(from, balancer, change), since: from.since }
      const isReady =
        from.phase === 'StartingHAProxy' && (change.haproxyBehind?.length === 0 || change.isSilent === true)
      const stillRuns = next.haproxy === 'Running' && (runs || isReady)
      const text = JSON.stringify([next, stillRuns])
      if (next.apiInt !== undefined && next.apiInt !== from.apiInt)
        expect(balancer).toMatchObject({ kind: 'answers', place: next.apiInt })
      // HAProxy stops only after the names left it and while kube-api answers, and the names return only to HAProxy that runs.
      if (next.haproxy === 'Stopped') expect(next.apiInt).toBeDefined()
      if (next.phase === 'StoppingHAProxy' && from.phase !== next.phase) expect(balancer.kind).toBe('answers')
      if (next.apiInt === undefined) expect(stillRuns, `${JSON.stringify(from)} → ${text}`).toBe(true)
      if (reached.has(text)) continue
      reached.set(text, next)
      visit(next, stillRuns, depth - 1)
    }
  }
  visit(firstMigration(AT), true, 12)
  expect(new Set([...reached.values()].map(({ phase }) => phase))).toEqual(new Set(PHASES))
})

test('a refused wish ends a check, and changes nothing in any other phase', () => {
  expect(step(state('Checking'), refused)).toMatchObject({ phase: 'SelfHosted', address: undefined })
  const external = step(state('Checking', { ...STOPPED, address: Y }), refused)
  expect(external).toMatchObject({ phase: 'External', address: X, ...STOPPED })
  expect(step(state('Checking', { ...LED, address: Y }), refused)).toMatchObject({
    phase: 'SwitchingNames',
    address: X,
  })
  for (const phase of PHASES.filter((each) => each !== 'Checking')) {
    const from = state(phase, LED)
    expect(step(from, refused, { namesBehind: [], haproxyBehind: [], epochMs: AT + GRACE })).toBe(from)
  }
})

test('each phase is stored and read back, and an unreadable one is none', () => {
  for (const phase of PHASES)
    for (const change of [{}, LED, STOPPED]) {
      const one = state(phase, change)
      expect(readMigration({ status: storedMigration(one) })).toEqual(one)
    }
  for (const object of [undefined, {}, { status: {} }, { status: { loadBalancer: { phase: 'Odd' } } }])
    expect(readMigration(object)).toBeUndefined()
})

test('an operator that continues begins a grace period again by its own clock, and keeps every other phase as it is', () => {
  for (const phase of PHASES) {
    const since = phase === 'Draining' || phase === 'Settling' ? '2026-11-22T12:01:00Z' : '2026-11-22T12:00:00Z'
    expect(continued(state(phase, LED), AT + 60_000)).toEqual({ ...state(phase, LED), since })
  }
})

test('the text names the nodes that are waited for, and the end of a grace period', () => {
  const input: MigrationInput = {
    ...{ balancer: asking(), namesBehind: ['n1', 'n2'], haproxyBehind: ['n3'], isSilent: false },
    ...{ epochMs: AT, graceMs: GRACE },
  }
  const texts = Object.fromEntries(PHASES.map((phase) => [phase, migrationText(state(phase, LED), input)]))
  expect(texts).toMatchObject({
    SelfHosted: undefined,
    External: undefined,
    Checking: 'kube-api is asked at 10.0.0.200 until it has answered three times in a row; nothing has changed yet',
    SwitchingNames: expect.stringContaining('waiting for n1, n2'),
    Draining: expect.stringContaining('until 2026-11-22T12:05:00Z'),
    StoppingHAProxy: expect.stringContaining('waiting for n3'),
    StartingHAProxy: expect.stringContaining('waiting for n3'),
    ReturningNames: expect.stringContaining('10.0.0.200 must stay'),
    Settling: expect.stringContaining('until 2026-11-22T12:05:00Z'),
  })
  expect(migrationText(state('StartingHAProxy'), input)).toContain(
    'api-int leads to the VIP, because kube-api did not answer at 10.0.0.200; waiting for n3',
  )
  const late = migrationText(state('Draining', LED), { ...input, epochMs: AT + GRACE })
  expect(late).toBe('api-int leads to 10.0.0.200; HAProxy stays until kube-api answers there')
  expect(PHASES.map((phase) => asksIn(state(phase)))).toEqual([
    ...[undefined, undefined, 'names', undefined, 'haproxy'],
    ...[undefined, 'haproxy', 'names', undefined],
  ])
})
