/**
 * The script vectors of statemachine-ext.json, as far as health decides them: when a router is in FAULT and what
 * priority its weights leave it. The whole timelines, with advertisements, belong to statemachine-ext.test.ts once a
 * router tracks checks. keepalived's own words are the vectors'.
 */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { effectivePriority } from '../../src/config/weights.ts'
import type { HealthRule } from '../../src/healthcheck/check.ts'
import { type Health, standingOf, startHealth, stepHealth } from '../../src/healthcheck/health.ts'
import { millis } from '../../src/wire/units.ts'
import { type TimelineInstance, type TimelineVector, timelineVectors } from './statemachine-vectors.ts'

const script = z.strictObject({
  interval_us: z.number(),
  rise: z.number(),
  fall: z.number(),
  init_fail: z.boolean().optional(),
  timeout_us: z.number().optional(),
})
const scriptResult = z.strictObject({
  at_us: z.number(),
  type: z.literal('script_result'),
  script: z.string(),
  result: z.enum(['ok', 'fail', 'hang']),
})

type Tracker = TimelineInstance['track'][number]
type Seen = { readonly at: number; readonly text: string }

/** Every tracked script from run to run; a hang is a failure when its timeout has passed, and takes its slots. */
function healthOf({ config, events, end_us }: TimelineVector, name: string): { at: number; health: Health }[] {
  const { interval_us, rise, fall, init_fail, timeout_us = interval_us } = script.parse(config.trackers.scripts?.[name])
  const unknownAfter = millis(60_000)
  const initial = init_fail === true ? 'down' : 'firstResult'
  const rule: HealthRule = { rise, fall, initial, onUnknown: 'hold', unknownAfter }
  let health = startHealth(rule, millis(0))
  const all = [{ at: 0, health }]
  let free = 0
  for (const each of events) {
    if (each.type !== 'script_result') continue
    const { at_us, script: of, result } = scriptResult.parse(each)
    if (of !== name || at_us < free) continue
    const at = result === 'hang' ? at_us + timeout_us : at_us
    free = at
    if (at > end_us) break
    health = stepHealth(health, result === 'ok' ? 'ok' : 'fail', rule, millis(at / 1000))[0]
    all.push({ at, health })
  }
  return all
}

/** FAULT and its end, or the priority, whenever it changes. */
function computed(vector: TimelineVector, { priority }: TimelineInstance, { name, weight, reverse }: Tracker): Seen[] {
  let before = weight === null ? undefined : `${priority}`
  return healthOf(vector, name).flatMap(({ at, health }) => {
    const standing = standingOf(health)
    // The other sign says what `reverse` says.
    const up = (standing === 'up') !== (reverse === true)
    const signed = reverse === true ? -(weight ?? 0) : (weight ?? 0)
    const contributions = standing === 'nothing' ? [] : [{ weight: signed, up }]
    if (weight === null && standing === 'nothing') return []
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

describe('script vectors', () => {
  const { tolerance, vectors } = timelineVectors()
  const scripted = vectors.flatMap((vector) => {
    const [instance] = vector.config.instances
    const [tracker] = instance?.track ?? []
    const runs = vector.events.some(({ type }) => type === 'script_result')
    return runs && instance !== undefined && tracker !== undefined ? [{ vector, instance, tracker }] : []
  })

  test.each(scripted.map((each) => [each.vector.id, each.vector.title, each] as const))(
    '%s %s',
    (_id, _title, each) => {
      const wanted = expected(each.vector, each.tracker)
      expect(wanted.length, 'what the vector expects of health').toBeGreaterThan(0)
      const seen = computed(each.vector, each.instance, each.tracker)
      expect(seen.map(({ text }) => text)).toEqual(wanted.map(({ text }) => text))
      const off = seen.map(({ at }, i) => Math.abs(at - (wanted[i]?.at ?? 0)))
      expect(Math.max(...off), 'us apart from the vector').toBeLessThanOrEqual(tolerance)
    },
  )

  test('none is left out', () => {
    expect(scripted.length, 'vectors with one script').toBeGreaterThanOrEqual(11)
  })
})
