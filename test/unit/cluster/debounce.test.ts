import { describe, expect, test } from 'vitest'
import { applied, type Debounce, dueAt, IDLE, lookupFailed, offered } from '../../../src/cluster/decisions/debounce.ts'
import type { Desired } from '../../../src/cluster/decisions/engine/desired.ts'
import { clusterCases } from '../../support/cluster-cases.ts'

type Poll = { readonly config?: string; readonly backends?: number; readonly peerLookupError?: boolean }
type Polls = { readonly isBootstrap: string; readonly unicast: boolean; readonly polls: readonly Poll[] }

const desired = (clusterName: string): Desired => ({ clusterName, role: 'worker', instances: [], groups: [] })

/** Upstream polls every 10 s and needs three equal results in a row: the same for 20 s. */
const POLL = 10_000
const STABLE = 20_000

/**
 * One poll of upstream is one reading of holdfast's knowledge at that time. Guard M7 is checked before
 * (desired-state.ts): too few backends give no candidate, because upstream's count restarts then.
 */
function poll(state: Debounce, { config = '', backends = 0, peerLookupError }: Poll, all: Polls, now: number) {
  if (peerLookupError === true) return { state: lookupFailed(state, now), outcome: 'skip' }
  const held = all.isBootstrap === 'no' && all.unicast && backends < 2
  const next = offered(state, held ? undefined : desired(config), now)
  const due = dueAt(next, STABLE)
  if (next.candidate === undefined || due === undefined) return { state: next, outcome: 'none' }
  if (due <= now) return { state: applied(next.candidate.desired), outcome: 'render+reload' }
  // The poll that starts the count is the first one.
  return { state: next, outcome: `pending${3 - Math.ceil((due - now) / POLL)}` }
}

describe('the debounce of dynkeepalived, in time', () => {
  test.each(clusterCases<Polls, readonly string[]>('configDebounce').map((one) => [one.id, one] as const))(
    '%s',
    (_, { input, expect: wanted }) => {
      let state = IDLE
      const outcomes = input.polls.map((each, i) => {
        const step = poll(state, each, input, i * POLL)
        state = step.state
        return step.outcome
      })
      expect(outcomes).toEqual(wanted)
    },
  )
})

describe('holdfast’s own', () => {
  const [A, B] = [desired('a'), desired('b')]

  test('a change is due some time after it was first seen, however often it is seen', () => {
    let state = offered(applied(A), B, 100)
    for (const now of [101, 2000, 5099]) state = offered(state, B, now)
    expect(dueAt(state, 5000)).toBe(5100)
  })

  test('a change back to the configuration in force is not handed over', () => {
    const state = offered(offered(applied(A), B, 100), A, 200)
    expect(dueAt(state, 5000)).toBeUndefined()
    expect(dueAt(offered(state, B, 300), 5000)).toBe(5300)
  })

  test('the time of a failed lookup does not count, and nothing is due during it', () => {
    let state = offered(applied(A), B, 1000)
    state = lookupFailed(state, 3000)
    expect(dueAt(state, 5000)).toBeUndefined()
    expect(dueAt(lookupFailed(state, 9000), 5000)).toBeUndefined()
    expect(dueAt(offered(state, B, 20_000, true), 5000), 'still blind').toBeUndefined()
    expect(dueAt(offered(state, B, 20_000), 5000)).toBe(23_000)
  })

  test('a new candidate starts during failed lookups', () => {
    const state = lookupFailed(offered(applied(A), B, 1000), 2000)
    expect(dueAt(offered(state, desired('c'), 3000, true), 500)).toBe(3500)
  })

  test('a candidate is dropped when too little is known', () =>
    expect(dueAt(offered(offered(applied(A), B, 0), undefined, 1), 5000)).toBeUndefined())
})
