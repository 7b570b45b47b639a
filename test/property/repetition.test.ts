/**
 * A Backup that may be left alone loses nothing, in every history and profile, also in a sync group. A repetition of the
 * advertisement only moves the time of the Active and Active_Down_Timer, until the time that repetitionOf() returns.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Event } from '../../src/vrrp/event.ts'
import { type Repeated, repeatedTo, repetitionOf } from '../../src/vrrp/extensions/repetition.ts'
import { type GroupStep, stepGroup } from '../../src/vrrp/extensions/sync-group/sync-group.ts'
import type { Parameters } from '../../src/vrrp/parameters.ts'
import { INITIAL_STATE, nextDeadline, type State } from '../../src/vrrp/state.ts'
import { type Address, address } from '../../src/wire/address.ts'
import { centis, type Millis, millis, plus } from '../../src/wire/units.ts'
import { forAll } from '../support/for-all.ts'
import { parametersFor } from '../support/parameters.ts'

const SOURCES = ['192.0.2.1', '192.0.2.9', '192.0.2.50'].map(address)
const PRIORITIES = [0, 40, 99, 100, 120, 200, 255]
/** Milliseconds from the last advertisement to a repetition: within an interval, after one, and after a long quiet time. */
const LATER = [0.5, 8, 90, 700, 4_000, 90_000]

const parameters: fc.Arbitrary<Parameters> = fc
  .record({
    profile: fc.constantFrom('holdfast' as const, 'keepalived' as const, 'rfc9568' as const),
    version: fc.constantFrom(2 as const, 3 as const),
    priority: fc.constantFrom(50, 100, 100, 101, 255),
    interval: fc.constantFrom(1, 10, 100),
    preempt: fc.boolean(),
    preemptDelay: fc.constantFrom(0, 0, 50, 5_000),
    minHold: fc.constantFrom(0, 10_000),
    margin: fc.constantFrom(0, 0, 50),
    assured: fc.constantFrom(undefined, 1),
    listed: fc.subarray(SOURCES),
    switched: fc.record({ fastPreempt: fc.boolean(), stagger: fc.boolean() }),
  })
  .map(({ interval, listed, minHold, preemptDelay, switched, ...rest }) => {
    const peers = listed.map((peer) => ({ address: peer }))
    const times = {
      preemptDelay: millis(preemptDelay),
      minHold: millis(minHold),
      advertisementInterval: centis(interval),
    }
    return parametersFor({ ...rest, ...times, peers, knobs: switched })
  })

type Move =
  | { readonly kind: 'pass'; readonly toDeadline: boolean; readonly wait: number; readonly receptionLost: boolean }
  | { readonly kind: 'hear'; readonly on: number; readonly source: Address; readonly priority: number }
  | { readonly kind: 'repeat'; readonly on: number }
  | { readonly kind: 'reprioritise'; readonly on: number; readonly priority: number }
  | { readonly kind: 'post'; readonly on: number; readonly event: Event }

const on = fc.nat(1)
const move: fc.Arbitrary<Move> = fc.oneof(
  fc.record({
    kind: fc.constant('pass' as const),
    toDeadline: fc.boolean(),
    wait: fc.constantFrom(0, 1, 7, 60, 1_000, 6_000),
    receptionLost: fc.boolean(),
  }),
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('hear' as const),
      on,
      source: fc.constantFrom(...SOURCES),
      priority: fc.constantFrom(...PRIORITIES),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('repeat' as const), on }) },
  fc.record({ kind: fc.constant('reprioritise' as const), on, priority: fc.constantFrom(30, 100, 110, 254) }),
  fc.record({
    kind: fc.constant('post' as const),
    on,
    event: fc.constantFrom<Event>(
      { kind: 'yield' },
      { kind: 'faultRaised', fault: 'linkDown', canSend: false },
      { kind: 'faultCleared', fault: 'linkDown' },
      { kind: 'checksAnswered', assured: 254 },
      { kind: 'absenceNoticed', cause: 'stalled', linkWasUp: true },
      { kind: 'announcementHeard', address: address('192.0.2.100'), heardAt: millis(0) },
    ),
  }),
)

type Router = { state: State; parameters: Parameters; heard: Repeated | undefined }

class Walk {
  now: Millis = millis(1_000)
  readonly routers: Router[]
  /** Number of repetitions that were compared. */
  compared = 0

  constructor(all: readonly Parameters[]) {
    this.routers = all.map((each) => ({ state: INITIAL_STATE, parameters: each, heard: undefined }))
    for (const i of all.keys()) this.#post(i, { kind: 'startup' })
  }

  perform(one: Move): void {
    if (one.kind === 'pass') return this.#pass(one)
    const i = one.on % this.routers.length
    const router = this.routers[i]
    if (router === undefined) return
    if (one.kind === 'post') return this.#post(i, one.event)
    if (one.kind === 'reprioritise') {
      const previous = router.parameters.priority
      if (previous === 255) return
      router.parameters = { ...router.parameters, priority: one.priority }
      return this.#post(i, { kind: 'priorityChanged', previous })
    }
    const { advertisementInterval: interval, addresses, version, vrid } = router.parameters
    const heard =
      one.kind === 'hear'
        ? { source: one.source, advertisement: { version, vrid, priority: one.priority, interval, addresses } }
        : router.heard
    if (heard === undefined) return
    router.heard = heard
    this.#post(i, { kind: 'advertisementReceived', ...heard, receivedAt: this.now })
  }

  /** Compares every repetition that a watch would swallow with a step of the whole group. */
  check(): void {
    if (!this.routers.every(({ state }) => state.name === 'Backup')) return
    for (const [i, router] of this.routers.entries())
      for (const heard of candidates(router)) this.#compare(i, router, heard)
  }

  #compare(i: number, { parameters: own, state }: Router, heard: Repeated): void {
    const repetition = repetitionOf(state, heard, own)
    if (repetition === undefined || state.name !== 'Backup') return
    const { delay, until } = repetition
    const heardAt = state.active?.heardAt ?? millis(0)
    const times = LATER.map((later) => plus(heardAt, later)).filter((at) => at <= until)
    let quiet = state
    for (const at of times) {
      const expected = this.routers.map((each) => ({ state: each.state, effects: [] }) satisfies GroupStep)
      expected[i] = { state: repeatedTo(state, at, delay), effects: [] }
      for (const from of [state, quiet])
        for (const now of [at, plus(at, 300)])
          expect(this.#step(i, { kind: 'advertisementReceived', ...heard, receivedAt: at }, now, from)).toEqual(
            expected,
          )
      quiet = repeatedTo(state, at, delay)
      this.compared++
    }
  }

  #pass({ receptionLost, toDeadline, wait }: Extract<Move, { kind: 'pass' }>): void {
    const due = this.routers.flatMap(({ state }) => nextDeadline(state) ?? [])
    this.now = plus(toDeadline ? millis(Math.max(this.now, Math.min(...due, 1e9))) : this.now, wait)
    for (const i of this.routers.keys()) this.#post(i, { kind: 'deadlineReached', receptionLost })
  }

  #post(i: number, event: Event): void {
    for (const [k, { state }] of this.#step(i, event, this.now).entries()) {
      const router = this.routers[k]
      if (router !== undefined) router.state = state
    }
  }

  #step(i: number, event: Event, now: Millis, instead?: State): readonly GroupStep[] {
    const members = this.routers.map(({ parameters: own, state }, k) => ({
      name: `r${k}`,
      parameters: own,
      state: k === i && instead !== undefined ? instead : state,
    }))
    return stepGroup(members, i, event, now)
  }
}

/** Returns the last advertisement of a router, and others that differ from it in one field. */
function candidates({ heard }: Router): readonly Repeated[] {
  if (heard === undefined) return []
  const { advertisement, source } = heard
  return [
    heard,
    ...SOURCES.map((other) => ({ source: other, advertisement })),
    ...PRIORITIES.map((priority) => ({ source, advertisement: { ...advertisement, priority } })),
    { source, advertisement: { ...advertisement, interval: centis(advertisement.interval + 1) } },
  ]
}

test('a repetition that may be left out only moves the timer of the Backup', () => {
  let compared = 0
  forAll(
    600,
    [fc.array(parameters, { minLength: 1, maxLength: 2 }), fc.array(move, { maxLength: 14 })],
    (all, moves) => {
      const walk = new Walk(all)
      for (const one of moves) {
        walk.perform(one)
        walk.check()
      }
      compared += walk.compared
    },
  )
  expect(compared, 'compared repetitions').toBeGreaterThan(300)
})
