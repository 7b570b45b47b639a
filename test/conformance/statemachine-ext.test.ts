/**
 * The timelines of statemachine-ext.json that this core can express: preemption, its delay, nopreempt, and whatever
 * else needs nothing but startup, shutdown and advertisements. They describe keepalived as its users know it; the knobs
 * are the letter of RFC 9568 plus what the vector's configuration says. The rest is listed with the part it waits for.
 */
import { describe, expect, test } from 'vitest'
import { type Parameters, profileKnobs } from '../../src/vrrp/parameters.ts'
import { address } from '../../src/wire/address.ts'
import { centis, millis } from '../../src/wire/units.ts'
import { type Happened, Replay } from './statemachine-replay.ts'
import { type TimelineInstance, type TimelineVector, timelineAdvert, timelineVectors } from './statemachine-vectors.ts'

const { tolerance, vectors } = timelineVectors()

const KNOWN = [
  'name version family vrid priority owner advertisement_interval_cs preempt initial_state primary_address addresses',
  'garp track preempt_delay_us lower_prio_no_advert higher_prio_send_advert',
].flatMap((line) => line.split(' '))

/** What a timeline needs that is not the state machine of one router; undefined = it runs. */
function waitsFor({ config, events }: TimelineVector): string | undefined {
  if (config.groups.length > 0) return 'later issue: sync groups'
  if (config.instances.some(({ track }) => track.length > 0) || Object.keys(config.trackers).length > 0) {
    return 'later issue: trackers and health checks feed the effective priority'
  }
  if (config.global !== undefined) return 'later issue: global options of a keepalived file'
  for (const instance of config.instances) {
    const unknown = Object.keys(instance).filter((key) => !KNOWN.includes(key))
    if (unknown.includes('unicast_peers')) return 'reception: which unicast sources count (packets-unicast.json)'
    if (unknown.length > 0) return `later issue: ${unknown.join(', ')}`
    const { delay_us, lower_prio_repeat = 0, refresh_us } = instance.garp
    if (delay_us > 0 || lower_prio_repeat > 0 || refresh_us !== undefined) {
      return 'announcement plan: times of repeats are decided in arp/'
    }
  }
  const other = events.find(({ type }) => !['startup', 'shutdown', 'advert'].includes(type))
  return other === undefined ? undefined : `later issue: ${other.type} events`
}

function parametersOf(instance: TimelineInstance): Parameters {
  return {
    vrid: instance.vrid,
    family: instance.family,
    version: instance.version === 2 ? 2 : 3,
    priority: instance.priority,
    advertisementInterval: centis(instance.advertisement_interval_cs),
    addresses: instance.addresses.map(address),
    // VR-PRE-01: the reader of a keepalived file drops nopreempt beside state MASTER.
    preempt: instance.preempt || instance.initial_state === 'MASTER',
    preemptDelay: millis((instance.preempt_delay_us ?? 0) / 1000),
    minHold: millis(0),
    primaryAddress: address(instance.primary_address),
    transport: { mode: 'multicast', group: address(instance.family === 'ipv6' ? 'ff02::12' : '224.0.0.18') },
    peers: [],
    knobs: {
      ...profileKnobs('rfc9568', 3),
      assertOnLower: instance.lower_prio_no_advert !== true,
      lastAdvertisement: instance.higher_prio_send_advert === true,
    },
  }
}

type Line = { readonly at: number; readonly text: string }

/** An effect as it shows outside of a keepalived: on the wire and in its notification FIFO. */
function linesOf({ at, effect, after }: Happened, instance: TimelineInstance): Line[] {
  const words = { Initialize: 'STOP', Backup: 'BACKUP', Active: 'MASTER', Leaving: 'LEAVING' }
  const notify = (word: string) => [{ at, text: `notify INSTANCE "${instance.name}" ${word} ${instance.priority}` }]
  switch (effect.kind) {
    case 'sendAdvertisement':
      return [{ at, text: `advert ${effect.priority} ${instance.advertisement_interval_cs}` }]
    case 'announce':
      return instance.addresses.map((announced) => ({ at, text: `garp ${announced} x${instance.garp.repeat}` }))
    case 'transition':
      return notify(words[effect.to])
    case 'refused': {
      // The FIFO line is for every lower rival heard while Active, not for our own packet (VR-NTF-05).
      const rival = effect.reason === 'lower-priority' || effect.reason === 'lower-address'
      return rival && after.name === 'Active' ? notify('MASTER_RX_LOWER_PRI') : []
    }
    case 'installAddresses':
    case 'removeAddresses':
      return []
  }
}

function play(vector: TimelineVector, instance: TimelineInstance): Line[] {
  const replay = new Replay(parametersOf(instance))
  const happened: Happened[] = []
  for (const event of vector.events) {
    if (event.at_us > vector.end_us || (event.instance ?? instance.name) !== instance.name) continue
    const { at_us: at } = event
    happened.push(...replay.expire(at, false))
    if (event.type === 'advert') {
      const { from, priority, interval_cs } = timelineAdvert.parse(event)
      const advertisement = {
        version: replay.parameters.version,
        vrid: instance.vrid,
        priority,
        interval: centis(interval_cs),
        addresses: replay.parameters.addresses,
      }
      const receivedAt = millis(at / 1000)
      happened.push(
        ...replay.post({ kind: 'advertisementReceived', source: address(from), advertisement, receivedAt }, at),
      )
    } else {
      happened.push(...replay.post({ kind: event.type === 'startup' ? 'startup' : 'shutdown' }, at))
    }
  }
  happened.push(...replay.expire(vector.end_us, true))
  return happened.flatMap((one) => linesOf(one, instance))
}

/** VR-FSM-25: keepalived restarts Adver_Timer after an immediate advertisement, RFC 9568 §6.4.3 does not. Accept both:
 * from the first one on only what answers an event is compared. */
function comparable(lines: readonly Line[], { events }: TimelineVector): Line[] {
  const answers = ({ at }: Line) => events.some((event) => event.type === 'advert' && event.at_us === at)
  const first = lines.find((line) => line.text.startsWith('advert') && answers(line))?.at ?? Number.POSITIVE_INFINITY
  return lines.filter((line) => !line.text.startsWith('advert') || line.at <= first || answers(line))
}

function wanted(vector: TimelineVector, instance: TimelineInstance): Line[] {
  return vector.expect
    .filter((line) => line.instance === instance.name)
    .map((line) => {
      const at = line.at_us
      if (line.type === 'advert') return { at, text: `advert ${line.priority} ${line.interval_cs}` }
      if (line.type === 'garp') return { at, text: `garp ${line.address} x${line.count}` }
      return { at, text: `notify ${line.line}` }
    })
}

describe('statemachine-ext.json', () => {
  const expressible = vectors.filter((vector) => waitsFor(vector) === undefined)

  test.each(expressible.map((vector) => [vector.id, vector.title, vector] as const))('%s %s', (_id, _title, vector) => {
    for (const instance of vector.config.instances) {
      const left = comparable(play(vector, instance), vector)
      const missing = comparable(wanted(vector, instance), vector).filter((line) => {
        const found = left.findIndex(({ at, text }) => text === line.text && Math.abs(at - line.at) <= tolerance)
        if (found >= 0) left.splice(found, 1)
        return found < 0
      })
      expect({ missing, extra: left }, `timeline of ${instance.name} up to ${vector.end_us} us`).toEqual({
        missing: [],
        extra: [],
      })
    }
  })

  const listed = vectors.flatMap((vector) => {
    const reason = waitsFor(vector)
    return reason === undefined ? [] : [[vector.id, vector.title, reason] as const]
  })

  test.each(listed)('%s %s: %s', (_id, _title, reason) => {
    expect(reason).not.toBe('')
  })

  test('every vector is either run or listed, and those of preemption run', () => {
    expect(expressible.length + listed.length, 'vectors run and listed').toBe(vectors.length)
    const preemption = listed.filter(([id]) => id.startsWith('SX-PR'))
    expect(preemption, 'preemption vectors that do not run').toEqual([])
  })
})
