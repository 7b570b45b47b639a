/**
 * RFC 9568 §6.4 as 58 and more short stories by other authors: every vector of statemachine-rfc.json with `profile:
 * rfc9568`. The fields of a vector decide whether it runs, never its id. A vector that cannot apply is listed with
 * its reason.
 */
import { describe, expect, test } from 'vitest'
import type { Advertisement } from '../../src/vrrp/advertisement.ts'
import type { Parameters } from '../../src/vrrp/parameters.ts'
import { type Knobs, optionsOf, profileKnobs } from '../../src/vrrp/profile.ts'
import { advertisementWarnings } from '../../src/vrrp/receive.ts'
import type { State } from '../../src/vrrp/state.ts'
import { type Address, address } from '../../src/wire/address.ts'
import { centis, millis } from '../../src/wire/units.ts'
import { type Happened, Replay, solicitedNodeGroups, truncated } from './statemachine-replay.ts'
import { type MachineVector, machineVectors, type Output, type VectorStep, vectorStep } from './statemachine-vectors.ts'

const { tolerance, vectors } = machineVectors()

/** Returns why a vector does not apply, by rule; `undefined` if it applies. */
function notApplicable({ config, steps }: MachineVector): string | undefined {
  if (config.version === '2+3')
    return 'there is no mixed v2+v3 mode (VR-V2-12 is optional; docs/architecture.md, Protocol decisions)'
  if (config.profile === 'rfc5798' && config.owner && steps.some(({ event }) => event.type === 'advert')) {
    return 'an owner processes advertisements (EID 8298); the published text is not offered as an option'
  }
  return undefined
}

function knobsOf(config: MachineVector['config']): Knobs {
  const knobs = profileKnobs('rfc9568', config.version === 2 ? 2 : 3)
  return config.profile === 'rfc5798' ? { ...knobs, assertOnLower: false } : knobs
}

function parametersOf(config: MachineVector['config']): Parameters {
  return {
    vrid: config.vrid,
    family: config.family,
    version: config.version === 2 ? 2 : 3,
    priority: config.priority,
    advertisementInterval: centis(config.advertisement_interval_cs),
    addresses: config.addresses.map(address),
    preempt: config.preempt,
    preemptDelay: millis(0),
    minHold: millis(0),
    primaryAddress: address(config.primary_address),
    transport: { mode: 'multicast', group: address(config.family === 'ipv6' ? 'ff02::12' : '224.0.0.18') },
    peers: [],
    ...optionsOf(knobsOf(config), config.version === 2 ? 2 : 3),
  }
}

/** Returns an effect in the vectors' terms. */
function outputsOf({ effect }: Happened, { parameters }: Replay): Output[] {
  const groups = () => (parameters.family === 'ipv6' ? solicitedNodeGroups(parameters.addresses) : [])
  const leaves = (left: readonly Address[]) => (parameters.family === 'ipv6' ? solicitedNodeGroups(left) : [])
  switch (effect.kind) {
    case 'sendAdvertisement':
      return [
        {
          type: 'send_advert',
          priority: effect.priority,
          interval_cs: parameters.advertisementInterval,
          version: parameters.version,
        },
      ]
    case 'installAddresses':
      return [
        { type: 'dataplane', mode: 'active' },
        ...groups().map((group): Output => ({ type: 'join_solicited_node', group })),
      ]
    case 'removeAddresses':
      // The list has to contain all addresses: the vectors know one data plane.
      expect(effect.addresses, 'addresses that are taken off').toEqual(parameters.addresses)
      return [
        { type: 'dataplane', mode: 'inactive' },
        ...leaves(effect.addresses).map((group): Output => ({ type: 'leave_solicited_node', group })),
      ]
    case 'announce':
      return parameters.addresses.map(
        (announced): Output =>
          parameters.family === 'ipv4'
            ? { type: 'garp', address: announced }
            : { type: 'unsolicited_na', address: announced, router: true, solicited: false, override: true },
      )
    case 'transition':
      return [{ type: 'transition', from: effect.from.toLowerCase(), to: effect.to.toLowerCase() }]
    case 'probeAddresses':
      throw new Error('no vector knows an absence')
    case 'askChecks':
    case 'moveSuppressed':
      throw new Error(`no vector knows ${effect.kind}`)
    case 'refused':
      return [{ type: 'discard', reason: effect.reason }]
  }
}

type Timed = { readonly at: number; readonly output: Output }

/**
 * Reports whether an output is optional. Row I3 says "ignore" and gives no name; an interval that differs is logged
 * at a limited rate (VR-RX-12).
 */
function optional({ output }: Timed): boolean {
  return (
    (output.type === 'discard' && output.reason === 'initialize') ||
    (output.type === 'log' && output.code === 'interval-mismatch')
  )
}

function perform(replay: Replay, { at_us: at, event }: VectorStep): Timed[] {
  const told = (happened: readonly Happened[]) =>
    happened.flatMap((one) => outputsOf(one, replay).map((output) => ({ at: one.at, output })))
  const between = told(replay.expire(at, event.type === 'tick'))
  switch (event.type) {
    case 'tick':
      return between
    case 'startup':
    case 'shutdown':
      return [...between, ...told(replay.post({ kind: event.type }, at))]
    case 'set_priority':
      return [...between, ...told(replay.setPriority(event.priority, at))]
    case 'advert_invalid':
      // receive.ts has refused the packet: it does not reach the state machine.
      return [...between, { at, output: { type: 'discard', reason: event.reason } }]
    case 'advert': {
      const { parameters, state } = replay
      const advertisement: Advertisement = {
        version: parameters.version,
        vrid: parameters.vrid,
        priority: event.priority,
        interval: centis(event.interval_cs),
        addresses: (event.addresses ?? parameters.addresses).map(address),
      }
      const source = address(event.from)
      const own = source === parameters.primaryAddress
      const warnings = own || state.name === 'Initialize' ? [] : advertisementWarnings(advertisement, parameters)
      const logs = warnings.map((code): Timed => ({ at, output: { type: 'log', code } }))
      const receivedAt = millis(at / 1000)
      const happened = replay.post({ kind: 'advertisementReceived', source, advertisement, receivedAt }, at)
      return [...between, ...logs, ...told(happened)]
    }
  }
}

const text = ({ output: { at_us, ...output } }: Timed) => JSON.stringify(output, Object.keys(output).sort())

/** Pairs every expectation with one output of the same content no further away than the tolerance. */
function compare(step: VectorStep, happened: readonly Timed[]): void {
  const expected = step.expect.outputs.map((output) => ({ at: output.at_us ?? step.at_us, output }))
  const left = [...happened]
  const missing: Timed[] = []
  for (const wanted of expected) {
    const found = left.findIndex((one) => text(one) === text(wanted) && Math.abs(one.at - wanted.at) <= tolerance)
    if (found < 0) missing.push(wanted)
    else left.splice(found, 1)
  }
  const extra = left.filter((one) => !optional(one))
  const show = (list: readonly Timed[]) => list.map((one) => `${one.at} us ${text(one)}`)
  expect({ missing: show(missing), extra: show(extra) }, `outputs at ${step.at_us} us`).toEqual({
    missing: [],
    extra: [],
  })
}

/** Checks the order rules of the file's conventions, for outputs of one moment. */
function checkOrder(happened: readonly Timed[]): void {
  for (const at of new Set(happened.map((one) => one.at))) {
    const outputs = happened.filter((one) => one.at === at).map(({ output }) => output)
    const where = (wanted: (output: Output) => boolean) => outputs.flatMap((output, i) => (wanted(output) ? [i] : []))
    const before = (name: string, first: number[], then: number[]) => {
      expect(
        first.every((i) => then.every((j) => i < j)),
        `${name} at ${at} us: ${JSON.stringify(outputs)}`,
      ).toBe(true)
    }
    const advert = where((o) => o.type === 'send_advert')
    const announcements = where((o) => o.type === 'garp' || o.type === 'unsolicited_na')
    const remarks = where((o) => o.type === 'discard' || o.type === 'log')
    before(
      'discard and log first',
      remarks,
      [...outputs.keys()].filter((i) => !remarks.includes(i)),
    )
    before('advertisement before announcement and join', advert, [
      ...announcements,
      ...where((o) => o.type === 'join_solicited_node'),
    ])
    before(
      'data plane before announcement',
      where((o) => o.type === 'dataplane' && o.mode === 'active'),
      announcements,
    )
    before(
      'priority 0 before data plane off',
      where((o) => o.type === 'send_advert' && o.priority === 0),
      where((o) => o.type === 'dataplane' && o.mode === 'inactive'),
    )
  }
}

function timersOf(state: State): { adver: number | null; active_down: number | null } {
  return {
    adver: state.name === 'Active' ? truncated(state.adverAt) : null,
    active_down: state.name === 'Backup' ? truncated(state.activeDownAt) : null,
  }
}

const near = (expected: number | null, found: number | null) =>
  expected === null || found === null ? expected === found : Math.abs(expected - found) <= tolerance

describe('the state machine with profile rfc9568', () => {
  const applicable = vectors.filter((vector) => notApplicable(vector) === undefined)

  test.each(applicable.map((vector) => [vector.id, vector.title, vector] as const))(
    'follows vector %s %s',
    (_id, _title, vector) => {
      const replay = new Replay(parametersOf(vector.config))
      for (const one of vector.steps.map((unread) => vectorStep.parse(unread))) {
        const happened = perform(replay, one)
        compare(one, happened)
        checkOrder(happened)
        const when = `after ${JSON.stringify(one.event)} at ${one.at_us} us`
        expect(replay.state.name.toLowerCase(), `state ${when}`).toBe(one.expect.state)
        const found = timersOf(replay.state)
        const wanted = one.expect.timers
        expect(
          near(wanted.adver, found.adver) && near(wanted.active_down, found.active_down),
          `timers ${when}: expected ${JSON.stringify(wanted)}, found ${JSON.stringify(found)}`,
        ).toBe(true)
        const learned = one.expect.vars?.active_adver_interval_cs
        // Only a Backup has an Active to learn from; the other states hold no interval that could be wrong (VR-TM-05).
        if (learned !== undefined && replay.state.name === 'Backup') {
          expect(replay.state.activeAdverInterval, `Active_Adver_Interval ${when}`).toBe(learned)
        }
      }
    },
  )

  const listed = vectors.flatMap((vector) => {
    const reason = notApplicable(vector)
    return reason === undefined ? [] : [[vector.id, vector.title, reason] as const]
  })

  test.each(listed)('does not run vector %s %s, which does not apply: %s', (_id, _title, reason) => {
    expect(reason).not.toBe('')
  })

  test('runs or lists every vector', () => {
    expect(applicable.length + listed.length, 'vectors run and listed').toBe(vectors.length)
    expect(applicable.length, 'vectors that run, which must be most of the file').toBeGreaterThan(vectors.length * 0.8)
  })
})
