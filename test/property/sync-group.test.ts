/**
 * Invariants of a sync group in every history. No member is Active without all the others, and the addresses on the
 * interfaces are those of the states. When the faults are over and no other router advertises, the group becomes
 * Active as soon as its slowest member would. A group of one router equals fsm.step.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Event, Fault } from '../../src/vrrp/event.ts'
import { extendedStep as step } from '../../src/vrrp/extensions/index.ts'
import { activeDownDelay } from '../../src/vrrp/extensions/stagger.ts'
import type { Member } from '../../src/vrrp/extensions/sync-group/member.ts'
import { type GroupStep, settleGroup, stepGroup } from '../../src/vrrp/extensions/sync-group/sync-group.ts'
import type { Parameters } from '../../src/vrrp/parameters.ts'
import { optionsOf, profileKnobs } from '../../src/vrrp/profile.ts'
import { INITIAL_STATE, nextDeadline, type State } from '../../src/vrrp/state.ts'
import { type Address, address } from '../../src/wire/address.ts'
import { centis, centisToMillis, type Millis, millis, plus } from '../../src/wire/units.ts'
import { forAll } from '../support/for-all.ts'

const SELF = address('192.0.2.10')
const SOURCES = ['192.0.2.9', '192.0.2.50', '192.0.2.100'].map(address)
const VIPS = ['198.51.100.1', '198.51.100.2'].map(address)
const FAULTS: readonly Fault[] = ['linkDown', 'addressInstallFailed', 'interfaceMissing']

const told: fc.Arbitrary<Parameters> = fc
  .record({
    profile: fc.constantFrom('holdfast' as const, 'rfc9568' as const),
    version: fc.constantFrom(2 as const, 3 as const),
    priority: fc.constantFrom(1, 50, 100, 100, 100, 200, 254, 255),
    interval: fc.constantFrom(1, 10, 100, 300),
    preempt: fc.boolean(),
    preemptDelay: fc.constantFrom(0, 0, 50, 5000),
    minHold: fc.constantFrom(0, 1000, 10_000),
    margin: fc.constantFrom(0, 0, 1, 50),
    assured: fc.constantFrom(undefined, 1, 100),
    unicast: fc.boolean(),
    listed: fc.subarray(SOURCES),
    leaving: fc.boolean(),
  })
  .map(({ profile, version, interval, unicast, listed, leaving, preemptDelay, minHold, ...rest }) => {
    const peers = listed.map((peer) => ({ address: peer }))
    return {
      ...rest,
      vrid: 51,
      family: 'ipv4',
      version,
      advertisementInterval: centis(interval),
      addresses: VIPS,
      preemptDelay: millis(preemptDelay),
      minHold: millis(minHold),
      primaryAddress: SELF,
      transport: unicast ? { mode: 'unicast', peers } : { mode: 'multicast', group: address('224.0.0.18') },
      peers,
      ...optionsOf({ ...profileKnobs(profile, version), leaving }, version),
    }
  })

type Move =
  | { kind: 'pass'; toDeadline: boolean; wait: number; lost: boolean }
  | { kind: 'hear'; on: number; source: Address; priority: number; interval: number }
  | { kind: 'reprioritise'; on: number; priority: number }
  | { kind: 'post'; on: number; event: Event }

const on = fc.nat({ max: 3 })
const move: fc.Arbitrary<Move> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('pass' as const),
      toDeadline: fc.boolean(),
      wait: fc.constantFrom(0, 0, 2, 7, 300, 5000),
      lost: fc.boolean(),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('hear' as const),
      on,
      source: fc.constantFrom(SELF, ...SOURCES),
      priority: fc.constantFrom(0, 1, 99, 100, 101, 255),
      interval: fc.constantFrom(1, 10, 100),
    }),
  },
  fc.record({ kind: fc.constant('reprioritise' as const), on, priority: fc.integer({ min: 1, max: 254 }) }),
  fc
    .tuple(
      on,
      fc.oneof(
        fc.constantFrom<Event>({ kind: 'startup' }, { kind: 'shutdown' }, { kind: 'yield' }, { kind: 'yield' }),
        fc
          .record({ fault: fc.constantFrom(...FAULTS), cleared: fc.boolean(), canSend: fc.boolean() })
          .map(
            ({ fault, cleared, canSend }): Event =>
              cleared ? { kind: 'faultCleared', fault } : { kind: 'faultRaised', fault, canSend },
          ),
        fc.record({
          kind: fc.constantFrom('announcementHeard' as const, 'addressAnswered' as const),
          address: fc.constantFrom(...VIPS),
          heardAt: fc.constant(millis(0)),
        }),
        fc.record({ kind: fc.constant('checksAnswered' as const), assured: fc.constantFrom(1, 100, 254) }),
        fc.record({
          kind: fc.constant('absenceNoticed' as const),
          cause: fc.constantFrom('willExecuted' as const, 'stalled' as const),
          linkWasUp: fc.boolean(),
        }),
      ),
    )
    .map(([member, event]) => ({ kind: 'post' as const, on: member, event })),
)

/** Asserts like `expect`, which is too slow for millions of checks. */
function must(condition: boolean, message: () => string): void {
  if (!condition) throw new Error(message())
}

class Walk {
  now = millis(0)
  members: readonly Member[]
  readonly installed: Set<Address>[]

  constructor(parameters: readonly Parameters[], states: readonly State[] = []) {
    this.members = parameters.map((one, i) => ({ name: `V${i}`, state: states[i] ?? INITIAL_STATE, parameters: one }))
    this.installed = parameters.map((_, i) => new Set(states[i]?.name === 'Active' ? VIPS : []))
  }

  get names(): readonly State['name'][] {
    return this.members.map(({ state }) => state.name)
  }

  nextDeadline(): Millis | undefined {
    const due = this.members.flatMap(({ state }) => nextDeadline(state) ?? [])
    return due.length === 0 ? undefined : millis(Math.min(...due))
  }

  perform(one: Move): void {
    switch (one.kind) {
      case 'pass': {
        const due = this.nextDeadline()
        const from = one.toDeadline && due !== undefined ? Math.max(due, this.now) : this.now
        this.now = plus(millis(from), one.wait)
        return this.tick(one.lost)
      }
      case 'hear': {
        const { parameters } = this.member(one.on)
        const advertisement = {
          version: parameters.version,
          vrid: 51,
          priority: one.priority,
          interval: centis(one.interval),
          addresses: VIPS,
        }
        return this.post(one.on, {
          kind: 'advertisementReceived',
          source: one.source,
          advertisement,
          receivedAt: this.now,
        })
      }
      case 'reprioritise': {
        const member = this.member(one.on)
        const previous = member.parameters.priority
        if (previous === 255) return
        const parameters = { ...member.parameters, priority: one.priority }
        this.members = this.members.map((each) => (each === member ? { ...each, parameters } : each))
        return this.post(one.on, { kind: 'priorityChanged', previous })
      }
      case 'post':
        return this.post(one.on, 'heardAt' in one.event ? { ...one.event, heardAt: this.now } : one.event)
    }
  }

  member(index: number): Member {
    const member = this.members[index % this.members.length]
    if (member === undefined) throw new Error('a group has members')
    return member
  }

  /** Handles all members whose deadline is due one after the other, as the daemon does. */
  tick(receptionLost: boolean): void {
    for (let i = 0; i < this.members.length; i++) {
      const due = nextDeadline(this.member(i).state)
      if (due !== undefined && due <= this.now) this.post(i, { kind: 'deadlineReached', receptionLost })
    }
  }

  post(index: number, event: Event): void {
    this.take(stepGroup(this.members, index % this.members.length, event, this.now), event.kind)
  }

  take(steps: readonly GroupStep[], what: string): void {
    const before = this.names
    must(steps.length === this.members.length, () => `${what}: one entry a member`)
    this.members = this.members.map((member, i) => ({ ...member, state: steps[i]?.state ?? member.state }))
    steps.forEach(({ state, effects }, i) => {
      const moves = effects.flatMap((effect) => (effect.kind === 'transition' ? [effect] : []))
      const told = moves.map(({ from, to }) => `${from} → ${to}`).join()
      const wanted = before[i] === state.name ? '' : `${before[i]} → ${state.name}`
      must(told === wanted, () => `${what}: V${i} told "${told}" and did "${wanted}" (VR-FSM-29)`)
      const installed = this.installed[i] ?? new Set()
      for (const effect of effects) {
        if (effect.kind === 'installAddresses') for (const vip of VIPS) installed.add(vip)
        if (effect.kind === 'removeAddresses') for (const vip of effect.addresses) installed.delete(vip)
      }
      const stillAnswered = state.name === 'Leaving' || state.name === 'Backup' ? (state.stillAnswered ?? []) : []
      const held = state.name === 'Active' ? VIPS : stillAnswered.map(({ address: vip }) => vip)
      must(
        held.length === installed.size && held.every((vip) => installed.has(vip)),
        () => `${what}: V${i} in ${state.name} has ${[...installed]} instead of ${held}`,
      )
      if (state.name === 'Initialize') {
        must(state.stopped || state.faults.length > 0, () => `${what}: V${i} has no reason not to start`)
      }
    })
    const torn = this.names.includes('Active') && (this.names.includes('Backup') || this.names.includes('Initialize'))
    must(!torn, () => `${what}: ${before} → ${this.names}`)
    const listens =
      this.names.includes('Returning') && this.names.some((name) => name === 'Backup' || name === 'Initialize')
    must(!listens, () => `${what}: some return, some do not: ${before} → ${this.names}`)
  }

  /** Ends all faults and all other routers, and checks how long the group takes to become Active. */
  calm(): void {
    for (const [i] of this.members.entries()) {
      for (const fault of FAULTS) this.post(i, { kind: 'faultCleared', fault })
    }
    // A member in Leaving or Returning ends that state first.
    const since = this.now
    while (this.names.includes('Leaving') || this.names.includes('Returning')) {
      if (this.now - since > 10_000) throw new Error(`Leaving or Returning does not end: ${this.names}`)
      this.now = millis(Math.max(this.now, this.nextDeadline() ?? this.now))
      this.tick(false)
    }
    for (const [i] of this.members.entries()) this.post(i, { kind: 'startup' })
    const slowest = Math.max(
      ...this.members.map(({ state }) => {
        if (state.name !== 'Backup') return this.now
        // A group that waits for a member has waited already. A group whose checks do not answer waits as long as line
        // (470) does.
        if (state.heldSince !== undefined) return this.now
        return state.asksChecks === true ? (state.regularDownAt ?? state.activeDownAt) : state.activeDownAt
      }),
    )
    const longest = Math.max(
      ...this.members.map(({ parameters }) => activeDownDelay(parameters, centis(300), undefined)),
    )
    expect(slowest, 'no deadline is further away than the longest interval allows').toBeLessThanOrEqual(
      this.now + longest + centisToMillis(centis(300)),
    )
    while (this.names.some((name) => name !== 'Active')) {
      const due = this.nextDeadline() ?? Number.POSITIVE_INFINITY
      if (due > Math.max(slowest, this.now)) {
        throw new Error(
          `${this.names} at ${this.now}: the next deadline is ${due}, the slowest member's was ${slowest}`,
        )
      }
      this.now = millis(Math.max(this.now, due))
      this.tick(false)
    }
  }
}

const groups = fc.array(told, { minLength: 2, maxLength: 4 })

test('no member of a sync group is Active alone in any history, and all members are Active after the faults', () => {
  forAll(2000, [groups, fc.array(move, { maxLength: 50 })], (parameters, moves) => {
    const walk = new Walk(parameters)
    for (const [i] of parameters.entries()) walk.post(i, { kind: 'startup' })
    for (const one of moves) walk.perform(one)
    walk.calm()
  })
})

/** Possible states of single routers when a reload makes a group of them. */
const alone = fc.tuple(told, fc.array(move, { maxLength: 15 })).map(([parameters, moves]) => {
  const walk = new Walk([parameters])
  walk.post(0, { kind: 'startup' })
  for (const one of moves) walk.perform(one)
  return { walk, parameters }
})

test('routers that a reload joins into a sync group agree, work as a group, and can be separated again', () => {
  forAll(2000, [fc.array(alone, { minLength: 2, maxLength: 3 }), fc.array(move, { maxLength: 20 })], (ones, moves) => {
    const states = ones.map(({ walk }) => walk.member(0).state)
    const walk = new Walk(
      ones.map(({ walk: one }) => one.member(0).parameters),
      states,
    )
    ones.forEach(({ walk: one }, i) => {
      walk.now = millis(Math.max(walk.now, one.now))
      walk.installed[i]?.clear()
      for (const vip of one.installed[0] ?? []) walk.installed[i]?.add(vip)
    })
    walk.take(settleGroup(walk.members, walk.now), 'settleGroup')
    for (const one of moves) walk.perform(one)
    for (const member of walk.members) {
      const [apart] = settleGroup([member], walk.now)
      if (apart?.state.name !== 'Initialize') continue
      expect(apart.state.faults.filter((fault) => fault.startsWith('syncGroup:'))).toEqual([])
    }
    walk.calm()
  })
})

test('a sync group of one router equals fsm.step', () => {
  forAll(500, [told, fc.array(move, { minLength: 1, maxLength: 40 })], (parameters, moves) => {
    const walk = new Walk([parameters])
    const post = walk.post.bind(walk)
    walk.post = (index, event) => {
      const { state, parameters: known } = walk.member(index)
      const [next, effects] = step(state, event, known, walk.now)
      expect(stepGroup(walk.members, 0, event, walk.now)).toEqual([{ state: next, effects }])
      post(index, event)
    }
    walk.post(0, { kind: 'startup' })
    for (const one of moves) walk.perform(one)
  })
})
