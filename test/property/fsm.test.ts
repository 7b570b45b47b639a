/**
 * Invariants of every state that events can reach, in every profile. `step` is total, and an early tick changes
 * nothing. A deadline that fired is in the past, and the addresses on the interface are exactly those of the state.
 */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { announcementOffsets } from '../../src/arp/announcement.ts'
import type { Effect } from '../../src/vrrp/effect.ts'
import type { Event } from '../../src/vrrp/event.ts'
import { extendedStep as step } from '../../src/vrrp/extensions/index.ts'
import { ownsAddresses, type Parameters } from '../../src/vrrp/parameters.ts'
import { optionsOf, profileKnobs } from '../../src/vrrp/profile.ts'
import { INITIAL_STATE, nextDeadline, type State } from '../../src/vrrp/state.ts'
import { type Address, address } from '../../src/wire/address.ts'
import { centis, millis, plus } from '../../src/wire/units.ts'
import { forAll } from '../support/for-all.ts'

const SELF = address('192.0.2.10')
const SOURCES = ['192.0.2.10', '192.0.2.9', '192.0.2.50', '192.0.2.100', '10.0.0.1'].map(address)
const VIPS = ['198.51.100.1', '198.51.100.2'].map(address)
const MORE = [...VIPS, address('198.51.100.3')]

const priority = fc.oneof(fc.integer({ min: 1, max: 254 }), fc.constantFrom(1, 100, 101, 254, 255))
const interval = fc.oneof(fc.constantFrom(1, 10, 100), fc.integer({ min: 1, max: 4095 }))

const parameters: fc.Arbitrary<Parameters> = fc
  .record({
    profile: fc.constantFrom('holdfast' as const, 'keepalived' as const, 'rfc9568' as const),
    version: fc.constantFrom(2 as const, 3 as const),
    priority,
    ownAddresses: fc.constantFrom(undefined, 'node' as const, 'installed' as const),
    interval,
    preempt: fc.boolean(),
    preemptDelay: fc.constantFrom(0, 50, 5000),
    minHold: fc.constantFrom(0, 1000, 10_000),
    margin: fc.constantFrom(0, 0, 1, 50),
    assured: fc.constantFrom(undefined, 1, 100),
    unicast: fc.boolean(),
    listed: fc.subarray(SOURCES.slice(1)),
    switched: fc.record({ fastPreempt: fc.boolean(), leaving: fc.boolean(), stagger: fc.boolean() }),
  })
  .map(({ profile, version, interval: own, unicast, listed, switched, preemptDelay, minHold, ...rest }) => {
    const peers = listed.map((peer) => ({ address: peer }))
    return {
      ...rest,
      vrid: 51,
      family: 'ipv4',
      version,
      advertisementInterval: centis(own),
      addresses: VIPS,
      preemptDelay: millis(preemptDelay),
      minHold: millis(minHold),
      primaryAddress: SELF,
      transport: unicast ? { mode: 'unicast', peers } : { mode: 'multicast', group: address('224.0.0.18') },
      peers,
      ...optionsOf({ ...profileKnobs(profile, version), ...switched }, version),
    }
  })

type Move =
  /**
   * Moves of the virtual time: `toDeadline` goes to the next deadline, `wait` goes on from the deadline or from the
   * present.
   */
  | { kind: 'pass'; toDeadline: boolean; wait: number; lost: boolean }
  | { kind: 'hear'; source: Address; priority: number; interval: number; age: number }
  | { kind: 'reprioritise'; priority: number }
  | { kind: 'reload'; interval: number; priority: number; addresses: readonly Address[]; preempt: boolean }
  | { kind: 'post'; event: Event }

const move: fc.Arbitrary<Move> = fc.oneof(
  fc.record({
    kind: fc.constant('pass' as const),
    toDeadline: fc.boolean(),
    wait: fc.constantFrom(0, 0, 0.5, 2, 7, 300, 5000),
    lost: fc.boolean(),
  }),
  fc.record({
    kind: fc.constant('hear' as const),
    source: fc.constantFrom(...SOURCES),
    priority: fc.oneof(fc.constant(0), priority),
    interval,
    age: fc.constantFrom(0, 0, 1, 400),
  }),
  fc.record({ kind: fc.constant('reprioritise' as const), priority: fc.integer({ min: 1, max: 254 }) }),
  fc.record({
    kind: fc.constant('reload' as const),
    interval,
    priority: fc.integer({ min: 1, max: 254 }),
    addresses: fc.subarray(MORE, { minLength: 1 }),
    preempt: fc.boolean(),
  }),
  fc
    .oneof(
      fc.constantFrom<Event>({ kind: 'startup' }, { kind: 'startup' }, { kind: 'shutdown' }, { kind: 'yield' }),
      fc.constantFrom<Event>(
        { kind: 'faultRaised', fault: 'linkDown', canSend: false },
        { kind: 'faultRaised', fault: 'addressInstallFailed', canSend: true },
        { kind: 'faultCleared', fault: 'linkDown' },
        { kind: 'faultCleared', fault: 'addressInstallFailed' },
        { kind: 'peerReached', peer: address('198.51.100.9') },
      ),
      fc.record({
        kind: fc.constantFrom('announcementHeard' as const, 'addressAnswered' as const),
        address: fc.constantFrom(...VIPS, address('198.51.100.9')),
        heardAt: fc.constant(millis(0)),
      }),
      fc.record({ kind: fc.constant('checksAnswered' as const), assured: fc.constantFrom(1, 100, 254) }),
      fc.record({
        kind: fc.constant('absenceNoticed' as const),
        cause: fc.constantFrom('willExecuted' as const, 'stalled' as const),
        linkWasUp: fc.boolean(),
      }),
    )
    .map((event) => ({ kind: 'post' as const, event })),
)

const BECOMING_ACTIVE = ['sendAdvertisement', 'installAddresses', 'announce', 'transition']

/**
 * Steps the state machine and checks the new state; `installed` has the addresses of the interface after the effects.
 */
class Walk {
  now = millis(0)
  state: State = INITIAL_STATE
  parameters: Parameters
  readonly installed = new Set<Address>()

  constructor(told: Parameters) {
    this.parameters = told
  }

  perform(one: Move): void {
    switch (one.kind) {
      case 'pass': {
        const due = nextDeadline(this.state)
        const from = one.toDeadline && due !== undefined ? Math.max(due, this.now) : this.now
        this.now = plus(millis(from), one.wait)
        this.tick(one.lost)
        return
      }
      case 'hear':
        this.post({
          kind: 'advertisementReceived',
          source: one.source,
          advertisement: {
            version: this.parameters.version,
            vrid: 51,
            priority: one.priority,
            interval: centis(one.interval),
            addresses: VIPS,
          },
          receivedAt: plus(this.now, -one.age),
        })
        return
      case 'reprioritise': {
        // The priority of an owner does not change (VR-TRK-08).
        const previous = this.parameters.priority
        if (previous === 255) return
        this.parameters = { ...this.parameters, priority: one.priority }
        this.post({ kind: 'priorityChanged', previous })
        return
      }
      case 'reload': {
        const previous = this.parameters
        const owner = previous.priority === 255
        this.parameters = {
          ...previous,
          advertisementInterval: centis(one.interval),
          addresses: one.addresses,
          preempt: one.preempt,
          priority: owner ? 255 : one.priority,
        }
        const before = this.state
        this.post({ kind: 'parametersChanged', previous })
        // A router may leave the state Leaving by a step in which it takes the last address that waited for the
        // successor.
        if (before.name !== 'Leaving') expect(this.state.name, 'a reload does not change the state').toBe(before.name)
        return
      }
      case 'post':
        this.post('heardAt' in one.event ? { ...one.event, heardAt: this.now } : one.event)
    }
  }

  tick(receptionLost: boolean): void {
    const due = nextDeadline(this.state)
    const before = this.state
    const effects = this.post({ kind: 'deadlineReached', receptionLost })
    if (due === undefined || this.now < due) {
      expect({ state: this.state, effects }, 'an early tick changes nothing').toEqual({ state: before, effects: [] })
      return
    }
    // If the successor was last received long ago, the wait may be over already, so the deadline may be past.
    if (before.name === 'Leaving' && this.state.name === 'Backup') return
    const next = nextDeadline(this.state)
    expect(next === undefined || next > this.now, `after the tick at ${this.now} the next deadline is ${next}`).toBe(
      true,
    )
    const settled = this.state
    expect(this.post({ kind: 'deadlineReached', receptionLost }), 'a repeated tick has no effects').toEqual([])
    expect(this.state, 'a repeated tick changes nothing').toEqual(settled)
  }

  post(event: Event): readonly Effect[] {
    const before = this.state
    const [state, effects] = step(before, event, this.parameters, this.now)
    this.state = state
    for (const effect of effects) {
      if (effect.kind === 'installAddresses') for (const vip of this.parameters.addresses) this.installed.add(vip)
      if (effect.kind === 'removeAddresses') for (const vip of effect.addresses) this.installed.delete(vip)
    }
    this.check(before, effects)
    return effects
  }

  check(before: State, effects: readonly Effect[]): void {
    const { state } = this
    const kinds = effects.map(({ kind }) => kind)
    const wanted =
      state.name === 'Active'
        ? this.parameters.addresses
        : state.name === 'Leaving' || state.name === 'Backup'
          ? (state.stillAnswered ?? []).map(({ address: stillAnswered }) => stillAnswered)
          : []
    // The node's own addresses stay on the interface in every state, whatever a reload removes.
    if (!ownsAddresses(this.parameters)) {
      expect([...this.installed].sort(), `addresses in ${state.name}`).toEqual([...wanted].sort())
    }
    const transitions = effects.filter((effect) => effect.kind === 'transition')
    expect(
      transitions.map(({ from, to }) => [from, to]),
      'one transition per event, and only where the state changed (VR-FSM-29)',
    ).toEqual(before.name === state.name ? [] : [[before.name, state.name]])
    if (before.name !== 'Active' && state.name === 'Active') expect(kinds).toEqual(BECOMING_ACTIVE)
    const advertised = effects.filter((effect) => effect.kind === 'sendAdvertisement')
    // The reminder of a router in Leaving to its successor (docs/adr/0045) is below the priority of every Active.
    const reminders = advertised.filter(({ reason }) => reason === 'contested')
    expect(
      reminders.map(({ priority: value }) => [before.name, value]),
      'only a router in Leaving reminds, with priority 1',
    ).toEqual(reminders.map(() => ['Leaving', 1]))
    const sent = advertised.flatMap((effect) => (effect.reason === 'contested' ? [] : [effect.priority]))
    expect(sent.length, 'at most one advertisement per event').toBeLessThanOrEqual(1)
    if (before.name !== 'Active' && state.name !== 'Active') {
      expect(
        sent.filter((value) => value !== 0),
        'only an Active advertises itself (VR-FSM-16)',
      ).toEqual([])
    }
    if (before.name === 'Backup' && state.name !== 'Active') expect(sent, 'a Backup never sends').toEqual([])
    if (before.name === 'Returning' || state.name === 'Returning') {
      expect(sent.includes(0), 'a router that was away sends no priority 0 (ground rule 3)').toBe(false)
    }
    const due = nextDeadline(state)
    expect(state.name === 'Initialize' || due !== undefined, `${state.name} has a way on`).toBe(true)
    if (before.name !== state.name && before.name !== 'Leaving' && due !== undefined) {
      // A packet may be old (400 ms here), so its own deadline may be over. No state, however, is entered further in
      // the past.
      expect(due, `deadline on entering ${state.name}`).toBeGreaterThanOrEqual(this.now - 400)
    }
    if (state.name === 'Active') expect(state.asserted.length, 'competing Actives remembered').toBeLessThanOrEqual(16)
  }
}

describe('the state machine', () => {
  test('keeps its invariants for any events from the start and any parameters', () => {
    forAll(3000, [parameters, fc.array(move, { minLength: 1, maxLength: 60 })], (told, moves) => {
      const walk = new Walk(told)
      walk.post({ kind: 'startup' })
      for (const one of moves) walk.perform(one)
    })
  })
})

/** Realistic times between two events: within one turn, a loser's last packet, a flood, a schedule, silence. */
const gap = fc.oneof(
  fc.constantFrom(0, 0.4, 1, 10, 49.9, 50, 50.1, 100, 1000),
  fc.double({ min: 0, max: 120, noNaN: true }),
)

describe('announcements against competing Actives', () => {
  const heard = fc.record({ gap, source: fc.constantFrom(...SOURCES.slice(1)), asked: fc.boolean() })
  const sample = fc.record({ told: parameters, start: gap, packets: fc.array(heard, { minLength: 1, maxLength: 150 }) })

  test('the Active announces last after every packet, in at most 4 batches in 100 ms', () => {
    forAll(2000, [sample], ({ told, start, packets }) => {
      // The priority on the next line is lower than that of any Active, so every received advertisement comes from a
      // competing Active.
      const us: Parameters = {
        ...told,
        priority: 255,
        ...optionsOf(profileKnobs('holdfast', told.version), told.version),
      }
      let now = millis(start)
      let [state] = step(INITIAL_STATE, { kind: 'startup' }, us, now)
      const batches: number[] = []
      const heardAt: number[] = []
      for (const one of packets) {
        now = plus(now, one.gap)
        const advertisement = { version: us.version, vrid: 51, priority: 1, interval: centis(100), addresses: VIPS }
        const event: Event = one.asked
          ? { kind: 'addressAnswered', address: VIPS[0] ?? SELF, heardAt: now }
          : { kind: 'advertisementReceived', source: one.source, advertisement, receivedAt: now }
        const [next, effects] = step(state, event, us, now)
        state = next
        if (!one.asked) heardAt.push(now)
        if (effects.some(({ kind }) => kind === 'announce')) batches.push(now)
      }
      // A batch of announcements replaces the pending repeats of the batch before.
      const frames = batches.flatMap((at, i) =>
        announcementOffsets('competingActive', 'ipv4')
          .map((offset) => at + offset)
          .filter((due) => due === at || due < (batches[i + 1] ?? Number.POSITIVE_INFINITY)),
      )
      for (const at of heardAt) {
        const next = Math.min(...frames.filter((frame) => frame >= at - 1e-6))
        expect(next - at, `from the packet at ${at} to the next announcement (batches ${batches})`).toBeLessThan(50.001)
      }
      for (const at of batches) {
        const near = batches.filter((other) => other >= at && other < at + 99.999)
        expect(near.length, `batches in the 100 ms from ${at} (${batches})`).toBeLessThanOrEqual(4)
      }
    })
  })
})
