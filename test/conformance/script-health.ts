/**
 * Plays the scripts of a timeline from run to run, through src/healthcheck/health.ts, and returns the state of each
 * with its time. Knows the vectors' terms for a script, and not the routers that track it.
 */
import { z } from 'zod'
import type { HealthRule } from '../../src/healthcheck/check.ts'
import { type Health, startHealth, stepHealth } from '../../src/healthcheck/health.ts'
import { millis } from '../../src/wire/units.ts'
import type { TimelineVector } from './statemachine-vectors.ts'

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

/**
 * Returns the states of a script. The first run in the list is the start. A hanging run fails when its timeout has
 * passed, and takes the slots until then.
 */
export function healthOf(
  vector: TimelineVector,
  name: string,
): readonly { readonly at: number; readonly health: Health }[] {
  const { config, end_us, events } = vector
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
