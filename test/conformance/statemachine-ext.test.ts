/**
 * The timelines of statemachine-ext.json. The timelines describe keepalived as its users know it. The settings are
 * those of RFC 9568 plus the vector's configuration. A timeline that needs a part that this daemon lacks is listed with
 * that part, by rule and never by its id.
 */
import { describe, expect, test } from 'vitest'
import { type TimelineVector, timelineVectors } from './statemachine-vectors.ts'
import { differenceOf, NONE } from './timeline-difference.ts'

const { vectors } = timelineVectors()

const KNOWN = [
  'name version family vrid priority owner advertisement_interval_cs preempt initial_state primary_address addresses',
  'garp track preempt_delay_us lower_prio_no_advert higher_prio_send_advert unicast_peers check_unicast_src',
].flatMap((line) => line.split(' '))

const GLOBAL = ['priority_notifications', 'garp_interval_us']

/** Returns why a timeline does not run; `undefined` if it runs. */
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
      return 'an owner drops every weight: that 1 of a file becomes 0 is the reader of keepalived files (timeline-keepalived.test.ts)'
  }
  const other = events.find(({ type }) => type === 'suspend')
  return other === undefined ? undefined : 'a process that was stopped: fsm-returning.test.ts'
}

describe('the state machine with extensions', () => {
  const expressible = vectors.filter((vector) => waitsFor(vector) === undefined)

  test.each(expressible.map((vector) => [vector.id, vector.title, vector] as const))(
    'follows the timeline of vector %s %s',
    (_id, _title, vector) => {
      expect(differenceOf(vector), `timeline up to ${vector.end_us} us`).toEqual(NONE)
    },
  )

  const listed = vectors.flatMap((vector) => {
    const reason = waitsFor(vector)
    return reason === undefined ? [] : [[vector.id, vector.title, reason] as const]
  })

  test.each(listed)('does not run vector %s %s, for the listed reason: %s', (_id, _title, reason) => {
    expect(reason).not.toBe('')
  })

  test('runs or lists every vector, and runs every vector without a missing part', () => {
    expect(expressible.length + listed.length, 'vectors run and listed').toBe(vectors.length)
    for (const area of ['SX-PR', 'SX-OW', 'SX-UC', 'SX-IF', 'SX-SC', 'SX-SG', 'SX-GA', 'SX-MA']) {
      expect(
        listed.filter(([id]) => id.startsWith(area)),
        `${area} that do not run`,
      ).toEqual([])
    }
    expect(expressible.length, 'vectors that run, which must be two of three').toBeGreaterThan(vectors.length * 0.66)
  })
})
