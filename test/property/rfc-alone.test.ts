/**
 * `profile: rfc9568` is RFC 9568 §6.4 alone. For any events of the RFC, the daemon's machine makes the same states
 * and effects as `step` of fsm.ts. Facts that the RFC does not know (a fault, lost packets, a reload) are handled in
 * every profile, so they are not among these events.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Event } from '../../src/vrrp/event.ts'
import { extendedStep } from '../../src/vrrp/extensions/index.ts'
import { step } from '../../src/vrrp/fsm.ts'
import type { Parameters } from '../../src/vrrp/parameters.ts'
import { optionsOf, type ProfileName, profileKnobs } from '../../src/vrrp/profile.ts'
import { INITIAL_STATE, nextDeadline, type State } from '../../src/vrrp/state.ts'
import { address } from '../../src/wire/address.ts'
import { centis, millis, plus } from '../../src/wire/units.ts'
import { forAll } from '../support/for-all.ts'

const SOURCES = ['192.0.2.10', '192.0.2.9', '192.0.2.50', '192.0.2.100'].map(address)
const VIPS = ['198.51.100.1', '198.51.100.2'].map(address)
const priority = fc.oneof(fc.integer({ min: 1, max: 254 }), fc.constantFrom(1, 100, 101, 254, 255))
const interval = fc.oneof(fc.constantFrom(1, 10, 100), fc.integer({ min: 1, max: 4095 }))

const given = (profile: ProfileName): fc.Arbitrary<Parameters> =>
  fc
    .record({
      version: fc.constantFrom(2 as const, 3 as const),
      family: fc.constantFrom('ipv4' as const, 'ipv6' as const),
      priority,
      ownAddresses: fc.constantFrom(undefined, 'node' as const, 'installed' as const),
      interval,
      preempt: fc.boolean(),
      unicast: fc.boolean(),
      listed: fc.subarray(SOURCES.slice(1)),
    })
    .map(({ interval: own, listed, unicast, version, ...rest }) => {
      const peers = listed.map((peer) => ({ address: peer }))
      return {
        ...rest,
        ...optionsOf(profileKnobs(profile, version), version),
        version,
        vrid: 51,
        advertisementInterval: centis(own),
        addresses: VIPS,
        preemptDelay: millis(0),
        minHold: millis(10_000),
        margin: 0,
        primaryAddress: address('192.0.2.10'),
        transport: unicast ? { mode: 'unicast', peers } : { mode: 'multicast', group: address('224.0.0.18') },
        peers,
      }
    })

/** `wait`: milliseconds after the event before; a deadline that is nearer comes first. */
type Move = { readonly wait: number; readonly event: 'startup' | 'shutdown' | 'deadline' | Heard }
type Heard = { readonly source: number; readonly priority: number; readonly interval: number; readonly age: number }

const move: fc.Arbitrary<Move> = fc.record({
  wait: fc.oneof(fc.constantFrom(0, 0.5, 3, 100, 1000), fc.double({ min: 0, max: 5000, noNaN: true })),
  event: fc.oneof(
    { weight: 1, arbitrary: fc.constantFrom('startup' as const, 'shutdown' as const) },
    { weight: 4, arbitrary: fc.constant('deadline' as const) },
    {
      weight: 6,
      arbitrary: fc.record({
        source: fc.nat({ max: SOURCES.length - 1 }),
        priority: fc.oneof(fc.constant(0), priority),
        interval,
        age: fc.constantFrom(0, 0, 0.3, 400),
      }),
    },
  ),
})

const tick: Event = { kind: 'deadlineReached', receptionLost: false }

function eventOf({ event }: Move, parameters: Parameters, now: number): Event {
  if (event === 'deadline') return tick
  if (event === 'startup' || event === 'shutdown') return { kind: event }
  const { version, vrid } = parameters
  return {
    kind: 'advertisementReceived',
    source: SOURCES[event.source] ?? address('192.0.2.9'),
    advertisement: { version, vrid, priority: event.priority, interval: centis(event.interval), addresses: VIPS },
    receivedAt: millis(now - event.age),
  }
}

/**
 * Plays the moves on the daemon's machine; `compare` receives each step of the RFC's machine, whose state is the next
 * one.
 */
function play(
  parameters: Parameters,
  moves: readonly Move[],
  compare: (state: State, event: Event, now: number) => void,
): void {
  let state: State = INITIAL_STATE
  let now = millis(0)
  const post = (event: Event) => {
    compare(state, event, now)
    state = step(state, event, parameters, now)[0]
  }
  post({ kind: 'startup' })
  for (const one of moves) {
    const due = nextDeadline(state)
    const next = plus(now, one.wait)
    if (due !== undefined && due > now && due < next) {
      now = due
      post(tick)
    }
    now = millis(Math.max(now, next))
    post(eventOf(one, parameters, now))
  }
}

test('with profile rfc9568 the composed machine is the state machine of RFC 9568', () => {
  const seen = new Set<string>()
  forAll(2000, [given('rfc9568'), fc.array(move, { minLength: 1, maxLength: 60 })], (parameters, moves) => {
    play(parameters, moves, (state, event, now) => {
      const expected = step(state, event, parameters, millis(now))
      const actual = extendedStep(state, event, parameters, millis(now))
      expect(actual, `${event.kind} in ${state.name} at ${now}`).toEqual(expected)
      seen.add(`${state.name} ${event.kind} → ${expected[0].name}`)
    })
  })
  // The sequences of events reach every transition of the RFC.
  expect(seen).toEqual(new Set([...seen, ...TRANSITIONS]))
})

const TRANSITIONS = [
  'Initialize startup → Active',
  'Initialize startup → Backup',
  'Backup shutdown → Initialize',
  'Backup deadlineReached → Active',
  'Active shutdown → Initialize',
  'Active deadlineReached → Active',
  'Active advertisementReceived → Backup',
]

test('with profile holdfast the composed machine differs, because the comparison sees the extensions', () => {
  let different = 0
  forAll(50, [given('holdfast'), fc.array(move, { minLength: 20, maxLength: 60 })], (parameters, moves) => {
    play(parameters, moves, (state, event, now) => {
      const plain = JSON.stringify(step(state, event, parameters, millis(now)))
      if (plain !== JSON.stringify(extendedStep(state, event, parameters, millis(now)))) different++
    })
  })
  expect(different, 'steps in which an extension made a difference').toBeGreaterThan(100)
})
