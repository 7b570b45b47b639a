/**
 * Compares the model of keepalived with recordings of keepalived 2.2.7. Every vector of the state machine and of its
 * extensions was replayed on keepalived (test/conformance/vectors, `observed`). If the recording differs from the
 * vector, the model has to differ in the same way. Vectors that the model cannot play are listed with a reason.
 */
import { describe, expect, test } from 'vitest'
import { address } from '../../src/wire/address.ts'
import { healthOf } from '../conformance/script-health.ts'
import {
  type MachineVector,
  machineVectors,
  type TimelineVector,
  timelineEvent,
  timelineVectors,
  vectorStep,
} from '../conformance/statemachine-vectors.ts'
import { fileOf } from '../conformance/timeline-file.ts'
import { checkState, type Line, ModelReplay, type Observed, observedOf, without } from './keepalived-replay.ts'

const REAL = 'keepalived-2.2.7'
/**
 * Tolerance in microseconds. The recordings were compared with the vectors within 80 ms. For each difference they have
 * the time of the packet.
 */
const TOLERANCE = 20_000

/**
 * Vectors that the model cannot play, with the reason: the importer of keepalived files refuses their keyword or warns
 * about it, as `simulate` does.
 */
const NOT_MODELLED: Readonly<Record<string, string>> = {
  'SX-ST06': 'vrrp_startup_delay',
  'SX-TM01': 'down_timer_adverts',
  'SX-TM02': 'down_timer_adverts',
  'SX-TM05': 'down_timer_adverts',
  'SX-SG08': 'sync_group_tracking_weight',
  'SX-LT01': 'timer_expired_backup, and a process that is stopped: test/interop compares that',
  'SX-GA04': 'garp_interval',
}

const observed = (vector: Readonly<Record<string, unknown>>): Observed | undefined => {
  const { observed: of } = vector
  const text = typeof of === 'object' && of !== null && REAL in of ? of[REAL] : undefined
  return typeof text === 'string' ? observedOf(text) : undefined
}

function expectAlike(seen: readonly Line[], wanted: readonly Line[], { extra, missing }: Observed): void {
  const right = [...without(wanted, missing, TOLERANCE), ...extra]
  expect({ missing: without(right, seen, TOLERANCE), extra: without(seen, right, TOLERANCE) }).toEqual({
    missing: [],
    extra: [],
  })
}

// Timelines -----------------------------------------------------------------------------------------------------------

function playTimeline(vector: TimelineVector): readonly Line[] {
  const { config, end_us, events } = vector
  const replay = new ModelReplay(fileOf(vector), [...new Set(config.instances.map((each) => each.primary_address))])
  for (const [name, { initial }] of Object.entries(config.trackers.files ?? {}))
    replay.checks.set(name, checkState('up', initial))
  const runs = Object.keys(config.trackers.scripts ?? {}).flatMap((name) => {
    replay.checks.set(name, checkState(undefined))
    return healthOf(heedless(vector), name)
      .slice(1)
      .map(({ at, health: { result } }) => ({
        at,
        name,
        state: result === 'up' || result === 'down' ? result : undefined,
      }))
  })
  const all = [
    ...events
      .filter(({ type }) => type !== 'script_result')
      // If an interface is down at the start of a vector, it is down before anything starts.
      .sort(
        (one, other) => one.at_us - other.at_us || Number(one.type === 'startup') - Number(other.type === 'startup'),
      )
      .map((event) => ({ at: event.at_us, act: () => happen(replay, vector, event) })),
    ...runs.map(({ at, name, state }) => ({
      at,
      act: () => replay.retrack(at, () => void replay.checks.set(name, checkState(state))),
    })),
  ].sort((one, other) => one.at - other.at)
  for (const { act, at } of all) if (at <= end_us) act()
  replay.until(end_us, true)
  return replay.lines
}

/** Returns the vector without the keyword init_fail, which the model ignores (keepalived-node.ts). */
function heedless(vector: TimelineVector): TimelineVector {
  const scripts = Object.entries(vector.config.trackers.scripts ?? {}).map(([name, { init_fail: _, ...rest }]) => [
    name,
    rest,
  ])
  const { config } = vector
  return { ...vector, config: { ...config, trackers: { ...config.trackers, scripts: Object.fromEntries(scripts) } } }
}

function happen(replay: ModelReplay, { config }: TimelineVector, told: TimelineVector['events'][number]): void {
  const event = timelineEvent.parse(told)
  const at = told.at_us
  switch (event.type) {
    case 'startup':
      return replay.start(at)
    case 'shutdown':
      return replay.stop(at)
    case 'interface':
      if (event.interface === 'eth0') return replay.setCarrier(at, event.up)
      return replay.retrack(at, () => {
        if (event.up) replay.down.delete(event.interface)
        else replay.down.add(event.interface)
      })
    case 'file':
      return replay.retrack(at, () => void replay.checks.set(event.file, checkState('up', event.value)))
    case 'advert': {
      const instance = config.instances.find(({ name }) => name === told.instance)
      if (instance === undefined) throw new Error(`There is no ${told.instance}`)
      const { from, interval_cs: interval, priority } = event
      const { unicast_peers, vrid } = instance
      const version = instance.version === 2 ? 2 : 3
      const addresses = instance.addresses.map(address)
      return replay.hear(at, { vrid, from, version, priority, interval, addresses }, unicast_peers !== undefined)
    }
  }
}

/**
 * Returns the lines that the vector expects. Groups, changed priorities and a competing Active are reported by
 * notifications only, and are left out.
 */
function wantedOf({ expect: expected }: TimelineVector): Line[] {
  return expected.flatMap((line): Line[] => {
    const { at_us: at, instance, line: notified } = line
    if (instance === undefined) return []
    if (line.type === 'advert') return many(line.count ?? 1, { at, text: `advert ${instance} ${line.priority}` })
    if (line.type === 'garp') return many(line.count ?? 1, { at, text: `garp ${line.address}` })
    const text = String(notified)
    return /_PRIORITY |MASTER_RX_LOWER_PRI/.test(text) ? [] : [{ at, text }]
  })
}

const many = (count: number, line: Line): Line[] => Array.from({ length: count }, () => line)

const timelines = timelineVectors().vectors

describe('the model of keepalived, in the vectors of the extensions', () => {
  const played = timelines.filter((vector) => NOT_MODELLED[vector.id] === undefined && observed(vector) !== undefined)

  test.each(played.map((vector) => [vector.id, vector.title, vector] as const))(
    'does what keepalived 2.2.7 did: %s %s',
    (_id, _title, vector) => {
      expectAlike(playTimeline(vector), wantedOf(vector), withoutCompeting(observed(vector)))
    },
  )

  test('plays every vector except the listed ones', () => {
    expect(timelines.length - played.length, 'vectors that are not played').toBe(Object.keys(NOT_MODELLED).length)
  })
})

function withoutCompeting(found: Observed | undefined): Observed {
  const told = (lines: readonly Line[] = []) => lines.filter(({ text }) => !text.includes('MASTER_RX_LOWER_PRI'))
  return { missing: told(found?.missing), extra: told(found?.extra) }
}

// The state machine -----------------------------------------------------------------------------------------------------

function textOf({ config }: MachineVector): string {
  const { advertisement_interval_cs, family, owner, preempt, priority, profile, version } = config
  const lines = [
    'track_file f {\n  file /f\n}',
    'vrrp_instance V1 {\n  interface eth0',
    `  state ${owner ? 'MASTER' : 'BACKUP'}`,
    `  virtual_router_id ${config.vrid}`,
    `  version ${version}`,
    `  priority ${priority}`,
    `  advert_int ${advertisement_interval_cs / 100}`,
    ...(preempt ? [] : ['  nopreempt']),
    ...(profile === 'rfc5798' ? ['  lower_prio_no_advert'] : []),
    '  garp_master_repeat 1\n  garp_master_delay 0\n  garp_lower_prio_repeat 0',
    ...(owner ? [] : ['  track_file {\n    f weight 1\n  }']),
    `  virtual_ipaddress {\n${config.addresses.map((each) => `    ${each}\n`).join('')}  }`,
    '}',
  ]
  if (family !== 'ipv4' && family !== 'ipv6') throw new Error(family)
  return `${lines.join('\n')}\n`
}

const STATES: Readonly<Record<string, string>> = { backup: 'BACKUP', active: 'MASTER', initialize: 'STOP' }

function playMachine(vector: MachineVector): { readonly seen: readonly Line[]; readonly wanted: readonly Line[] } {
  const { config } = vector
  const replay = new ModelReplay(textOf(vector), [config.primary_address])
  replay.checks.set('f', checkState('up', 0))
  const wanted: Line[] = []
  for (const each of vector.steps) {
    const { at_us: at, event, expect: expected } = vectorStep.parse(each)
    switch (event.type) {
      case 'startup':
        replay.start(at)
        break
      case 'shutdown':
        replay.stop(at)
        break
      case 'tick':
        replay.until(at, true)
        break
      case 'set_priority': {
        const adds = event.priority - config.priority
        replay.retrack(at, () => void replay.checks.set('f', checkState('up', adds)))
        break
      }
      default: {
        const valid = event.type === 'advert'
        const { from, interval_cs, priority } = valid ? event : { from: '192.0.2.77', interval_cs: 100, priority: 1 }
        const version = (valid ? event.version : config.version) === 2 ? 2 : 3
        const addresses = ((valid ? event.addresses : undefined) ?? config.addresses).map(address)
        replay.hear(at, { from, priority, version, valid, addresses, vrid: config.vrid, interval: interval_cs }, false)
      }
    }
    for (const output of expected.outputs) wanted.push(...wantedLines(output, at))
  }
  // A difference from the vector may come after the vector's last step.
  for (const { at } of observed(vector)?.extra ?? []) replay.until(at, true)
  return { seen: replay.lines, wanted }
}

function wantedLines(output: Readonly<Record<string, unknown>>, at: number): Line[] {
  const when = typeof output.at_us === 'number' ? output.at_us : at
  if (output.type === 'send_advert') return [{ at: when, text: `advert V1 ${output.priority}` }]
  if (output.type === 'garp' || output.type === 'unsolicited_na') return [{ at: when, text: `garp ${output.address}` }]
  if (output.type === 'transition') return [{ at: when, text: `INSTANCE "V1" ${STATES[String(output.to)]}` }]
  return []
}

/**
 * Returns the lines until the first answer to a competing Active (VR-FSM-25). After this first answer, keepalived
 * restarts its timer, and RFC 9568 does not restart it. The recordings accepted both behaviours.
 */
function untilFirstAnswer(lines: readonly Line[], { steps }: MachineVector): Line[] {
  const heard = steps.map((each) => vectorStep.parse(each)).filter(({ event }) => event.type === 'advert')
  const answers = ({ at }: Line) => heard.some(({ at_us }) => at_us === at)
  const first = lines.find((line) => line.text.startsWith('advert') && answers(line))?.at ?? Number.POSITIVE_INFINITY
  return lines.filter((line) => !line.text.startsWith('advert') || line.at <= first || answers(line))
}

const machines = machineVectors().vectors.filter((vector) => observed(vector) !== undefined)

describe('the model of keepalived, in the vectors of the state machine', () => {
  test.each(machines.map((vector) => [vector.id, vector.title, vector] as const))(
    'does what keepalived 2.2.7 did: %s %s',
    (_id, _title, vector) => {
      const { seen, wanted } = playMachine(vector)
      const found = observed(vector) ?? { missing: [], extra: [] }
      const restarted =
        found.extra.length > 0
          ? (lines: readonly Line[]) => lines
          : (lines: readonly Line[]) => untilFirstAnswer(lines, vector)
      expectAlike(restarted(seen), restarted(wanted), found)
    },
  )

  test('plays nearly all vectors, because nearly all were recorded', () => {
    expect(machines.length).toBeGreaterThan(50)
  })
})
