/**
 * The script vectors of statemachine-ext.json, as far as health decides them. Compared are the times at which a
 * router is in FAULT, and its priority after its weights. statemachine-ext.test.ts plays the whole timelines, with
 * advertisements. The terms are keepalived's.
 */
import { describe, expect, test } from 'vitest'
import { effectivePriority } from '../../src/config/weights.ts'
import { countedAs } from '../../src/healthcheck/health.ts'
import { healthOf } from './script-health.ts'
import { type TimelineInstance, type TimelineVector, timelineVectors } from './statemachine-vectors.ts'

type Tracker = TimelineInstance['track'][number]
type Seen = { readonly at: number; readonly text: string }

/** Returns every change of the router with its time: FAULT or BACKUP for a script without weight, otherwise the priority. */
function computed(vector: TimelineVector, { priority }: TimelineInstance, { name, weight, reverse }: Tracker): Seen[] {
  let before = weight === null ? undefined : `${priority}`
  return healthOf(vector, name).flatMap(({ at, health }) => {
    const countsAs = countedAs(health)
    // The opposite sign has the meaning of `reverse`.
    const up = (countsAs === 'up') !== (reverse === true)
    const signed = reverse === true ? -(weight ?? 0) : (weight ?? 0)
    const contributions = countsAs === 'nothing' ? [] : [{ weight: signed, up }]
    if (weight === null && countsAs === 'nothing') return []
    const { fault, priority: effective } = effectivePriority(priority, contributions)
    const text = weight === null ? (fault ? 'FAULT' : 'BACKUP') : `${effective}`
    if (text === before) return []
    before = text
    return [{ at, text }]
  })
}

const NOTIFY = /^INSTANCE "[^"]+" (FAULT|BACKUP|\w+_PRIORITY) (\d+)$/

function expected({ expect: lines, end_us }: TimelineVector, { weight }: Tracker): Seen[] {
  return lines.flatMap(({ at_us: at, line }) => {
    const [, word = '', priority = ''] = NOTIFY.exec(typeof line === 'string' ? line : '') ?? []
    const wanted = weight === null ? ['FAULT', 'BACKUP'].includes(word) : word.endsWith('_PRIORITY')
    return wanted && at <= end_us ? [{ at, text: weight === null ? word : priority }] : []
  })
}

describe('the health of scripts in the vectors', () => {
  const { tolerance, vectors } = timelineVectors()
  const scripted = vectors.flatMap((vector) => {
    const [instance] = vector.config.instances
    const [tracker] = instance?.track ?? []
    const runs = vector.events.some(({ type }) => type === 'script_result')
    return runs && instance !== undefined && tracker !== undefined ? [{ vector, instance, tracker }] : []
  })

  test.each(scripted.map((each) => [each.vector.id, each.vector.title, each] as const))(
    'is FAULT and restores the priority as in vector %s %s',
    (_id, _title, each) => {
      const wanted = expected(each.vector, each.tracker)
      expect(wanted.length, 'what the vector expects of health').toBeGreaterThan(0)
      const seen = computed(each.vector, each.instance, each.tracker)
      expect(seen.map(({ text }) => text)).toEqual(wanted.map(({ text }) => text))
      const off = seen.map(({ at }, i) => Math.abs(at - (wanted[i]?.at ?? 0)))
      expect(Math.max(...off), 'us apart from the vector').toBeLessThanOrEqual(tolerance)
    },
  )

  test('is tested with every vector that has one script', () => {
    expect(scripted.length, 'vectors with one script').toBeGreaterThanOrEqual(11)
  })
})
