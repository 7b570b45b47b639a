/**
 * The timelines of statemachine-ext.json. They describe keepalived as its users know it; the knobs are the letter of
 * RFC 9568 plus what the vector's configuration says. Whatever needs a part that this daemon does not have is listed
 * by rule with the part it waits for, never by its id.
 */
import { describe, expect, test } from 'vitest'
import { type TimelineVector, timelineVectors } from './statemachine-vectors.ts'
import { type Line, TimelineReplay } from './timeline-replay.ts'

const { tolerance, vectors } = timelineVectors()

const KNOWN = [
  'name version family vrid priority owner advertisement_interval_cs preempt initial_state primary_address addresses',
  'garp track preempt_delay_us lower_prio_no_advert higher_prio_send_advert unicast_peers check_unicast_src',
].flatMap((line) => line.split(' '))

const GLOBAL = ['priority_notifications', 'garp_interval_us']

/** Why a timeline does not run; undefined = it runs. */
function waitsFor({ config, events }: TimelineVector): string | undefined {
  const { global, instances } = config
  const unknownGlobal = Object.keys(global ?? {}).filter((key) => !GLOBAL.includes(key))
  if (unknownGlobal.length > 0) return `global ${unknownGlobal.join(', ')}: not offered (VR-CFG-04)`
  for (const instance of instances) {
    const unknown = Object.keys(instance).filter((key) => !KNOWN.includes(key))
    if (unknown.includes('down_timer_adverts')) return 'not offered: the factor is 3 (VR-TM-08)'
    if (unknown.length > 0)
      return `${unknown.join(', ')}: not offered, every node that was away returns (fsm-returning.test.ts)`
    const owned = instance.owner && instance.track.some(({ kind, weight }) => kind === 'file' && weight === 1)
    if (owned)
      return 'an owner drops every weight: a file of keepalived whose weight is 1 by default is written with 0 (VR-TRK-08)'
  }
  const other = events.find(({ type }) => type === 'suspend')
  return other === undefined ? undefined : 'a process that was stopped: fsm-returning.test.ts'
}

/** VR-FSM-25: keepalived restarts Adver_Timer after an immediate advertisement, RFC 9568 §6.4.3 does not. Accept both:
 * from the first one on only what answers an event is compared. */
function comparable(lines: readonly Line[], { events }: TimelineVector): Line[] {
  const answers = ({ at }: Line) => events.some((event) => event.type === 'advert' && event.at_us === at)
  const first = lines.find((line) => line.text.startsWith('advert') && answers(line))?.at ?? Number.POSITIVE_INFINITY
  return lines.filter((line) => !line.text.startsWith('advert') || line.at <= first || answers(line))
}

/**
 * Lines of a group and of a priority that changed come with the issue that brings notifications. keepalived says
 * priority 0 of a fault twice; the notes accept one.
 */
function wanted(vector: TimelineVector): Line[] {
  const lines = vector.expect.flatMap((line): Line[] => {
    const { at_us: at, instance } = line
    if (instance === undefined) return []
    if (line.type === 'advert') return [{ at, instance, text: `advert ${line.priority} ${line.interval_cs}` }]
    if (line.type === 'garp') {
      return Array.from({ length: line.count ?? 1 }, () => ({ at, instance, text: `garp ${line.address}` }))
    }
    const text = `notify ${line.line}`
    return text.includes('_PRIORITY ') ? [] : [{ at, instance, text }]
  })
  return lines.filter(
    (line, i) =>
      !line.text.startsWith('advert 0 ') ||
      lines.findIndex((same) => same.text === line.text && same.at === line.at && same.instance === line.instance) ===
        i,
  )
}

describe('statemachine-ext.json', () => {
  const expressible = vectors.filter((vector) => waitsFor(vector) === undefined)

  test.each(expressible.map((vector) => [vector.id, vector.title, vector] as const))('%s %s', (_id, _title, vector) => {
    const left = comparable(new TimelineReplay(vector).play(), vector)
    const missing = comparable(wanted(vector), vector).filter((line) => {
      const found = left.findIndex(
        ({ at, instance, text }) =>
          instance === line.instance && text === line.text && Math.abs(at - line.at) <= tolerance,
      )
      if (found >= 0) left.splice(found, 1)
      return found < 0
    })
    expect({ missing, extra: left }, `timeline up to ${vector.end_us} us`).toEqual({ missing: [], extra: [] })
  })

  const listed = vectors.flatMap((vector) => {
    const reason = waitsFor(vector)
    return reason === undefined ? [] : [[vector.id, vector.title, reason] as const]
  })

  test.each(listed)('%s %s: listed: %s', (_id, _title, reason) => {
    expect(reason).not.toBe('')
  })

  test('every vector is either run or listed, and what this daemon has runs', () => {
    expect(expressible.length + listed.length, 'vectors run and listed').toBe(vectors.length)
    for (const area of ['SX-PR', 'SX-OW', 'SX-UC', 'SX-IF', 'SX-SC', 'SX-SG', 'SX-GA', 'SX-MA']) {
      expect(
        listed.filter(([id]) => id.startsWith(area)),
        `${area} that do not run`,
      ).toEqual([])
    }
    expect(expressible.length, 'two of three run').toBeGreaterThan(vectors.length * 0.66)
  })
})
