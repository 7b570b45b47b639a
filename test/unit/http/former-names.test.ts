/** Former names of fields of /v1/status: nodes of one group are upgraded one after the other, so old and new read each other. */
import { expect, test } from 'vitest'
import { MOST_SOURCES } from '../../../src/daemon/lan/mismatched-routers.ts'
import { readEvent } from '../../../src/events/event.ts'
import { newNames, withFormerNames } from '../../../src/http/former-names.ts'
import { LARGEST_ANSWER } from '../../../src/http/peers/peer-request.ts'
import { readPeerStatus } from '../../../src/http/peers/peer-status.ts'
import { FakeWorld, ROUTER } from '../daemon/fake-world.ts'

const world = () => new FakeWorld().start()
const FORMER = ['owner', 'strangers', 'rival']
const NEW = ['holder', 'mismatchedRouters', 'competingAnswer']

const NEW_OF_CHECK = ['result', 'countsAs']

/** The answer of a daemon of version 0.1. */
function before(status: object): string {
  const without = (value: object, names: readonly string[]) =>
    Object.fromEntries(Object.entries(value).filter(([name]) => !names.includes(name)))
  return JSON.stringify(status, (_, value) => {
    if (value === null || typeof value !== 'object') return value
    if ('vrid' in value) return without(value, NEW)
    return 'verdict' in value ? without(value, NEW_OF_CHECK) : value
  })
}

const CHECK = { name: 'lb', tcp: '10.0.0.9:6443' }

/** A status with a health check. */
function checkedSnapshot() {
  const checked = new FakeWorld([{ ...ROUTER, track: [{ healthcheck: 'lb', weight: 10 }] }], { healthchecks: [CHECK] })
  checked.start()
  return withFormerNames(checked.daemon.snapshot())
}

test('an answer has each field under both names, with the same value', () => {
  const [router] = withFormerNames(world().daemon.snapshot()).routers
  for (const [i, name] of NEW.entries())
    expect(router?.[FORMER[i] as keyof typeof router], `${FORMER[i]} beside ${name}`).toEqual(
      router?.[name as keyof typeof router],
    )
  expect(router?.counters).toMatchObject({
    rivalAnswers: 0,
    competingAnswers: 0,
    willsExecuted: 0,
    cleanupPlansExecuted: 0,
  })
})

test('a health check has its result under both names', () => {
  expect(checkedSnapshot().healthchecks).toMatchObject([
    { result: 'undecided', verdict: 'undecided', countsAs: 'nothing', standing: 'nothing' },
  ])
})

test('the result of a health check of a node before 0.2.0 is read', () => {
  const read = JSON.parse(before(checkedSnapshot()), newNames)
  expect(read.healthchecks).toMatchObject([{ result: 'undecided', countsAs: 'nothing' }])
  expect(readPeerStatus(read)?.healthchecks).toMatchObject([{ name: 'lb', result: 'undecided' }])
})

test('the status of a node before 0.2.0 is read', () => {
  const snapshot = withFormerNames(world().daemon.snapshot())
  const read = readPeerStatus(JSON.parse(before(snapshot), newNames))
  expect(read?.routers[0]?.holder).toEqual(snapshot.routers[0]?.holder)
  expect(readPeerStatus(JSON.parse(before(snapshot))), 'without the new names it is none').toBeUndefined()
})

test('an event of a journal before 0.2.0 is read by its new kind', () => {
  const common = { seq: 1, at: '2026-11-22T10:49:05.855Z', monotonicMs: 1 }
  const told = { ...common, router: 'api', address: '10.0.0.200', mac: '02:00:00:00:00:12', present: true }
  expect(readEvent({ ...told, kind: 'duplicateOwner' })).toEqual({ ...told, kind: 'duplicateHolder' })
  expect(
    readEvent({ ...common, kind: 'faultChanged', router: 'api', fault: 'duplicateOwner', present: true }),
  ).toMatchObject({
    fault: 'duplicateHolder',
  })
})

test('an answer of 255 routers, each with all the mismatched routers that it remembers, is one that a peer reads', () => {
  const address = 'fe80::aaaa:bbbb:cccc:dddd'
  const mismatch = { address, reason: 'address-list-mismatch', version: 3, listenedTo: true } as const
  const seen = { ...mismatch, count: 1_000_000, lastHeardMsAgo: 600_000.1 }
  const snapshot = world().daemon.snapshot()
  const [router] = snapshot.routers
  if (router === undefined) throw new Error('No router')
  const routers = Array.from({ length: 255 }, (_, i) => ({
    ...router,
    name: `ingress-production-${i}`,
    mismatchedRouters: Array.from({ length: MOST_SOURCES }, () => seen),
  }))
  expect(JSON.stringify(withFormerNames({ ...snapshot, routers })).length).toBeLessThan(LARGEST_ANSWER)
})
