/**
 * Logs the results of health checks: one line for each change, with the result of the last run and the effect on the
 * routers that track the check. This file decides the text of the lines, and the limit for an unstable check. The last
 * line always shows the present result. This file knows nothing about how priorities are added up.
 */

import { checkEffectText } from '../../events/check-effect-text.ts'
import { probeReasonText } from '../../events/check-reason-text.ts'
import type { CheckResult } from '../../healthcheck/health.ts'
import { LOG } from '../../log/log.ts'
import { atOtherLevel } from '../../log/log-event.ts'
import type { Millis } from '../../wire/units.ts'
import type { Recorder } from '../telemetry/recorder.ts'
import { RATES, TokenBucket } from '../telemetry/token-bucket.ts'
import type { CheckChange } from './check-board.ts'

/**
 * Effect of a check on a router that tracks the check: a change of the router's priority, or a fault if the tracker has
 * no weight.
 */
export type CheckEffect =
  | { readonly router: string; readonly adds: number }
  | { readonly router: string; readonly fault: boolean }

type Told = {
  result: CheckResult
  readonly bucket: TokenBucket
  silent: number
  latest: CheckChange
}

export class CheckLog {
  readonly #recorder: Recorder
  readonly #effects: (check: string) => readonly CheckEffect[]
  readonly #told = new Map<string, Told>()

  constructor(recorder: Recorder, effects: (check: string) => readonly CheckEffect[]) {
    this.#recorder = recorder
    this.#effects = effects
  }

  tell(changes: readonly CheckChange[], now: Millis): void {
    for (const change of changes) {
      if (change.from.result === change.to.result) continue
      const before = this.#told.get(change.name)
      const bucket = before?.bucket ?? new TokenBucket(RATES.healthcheck)
      const told = before ?? { result: change.from.result, bucket, silent: 0, latest: change }
      told.latest = change
      this.#told.set(change.name, told)
      if (told.bucket.has(now)) this.#line(told, now)
      else told.silent++
    }
  }

  /** Logs the present result of each check whose last log line shows another result, if the limit allows a line. */
  catchUp(now: Millis): void {
    for (const told of this.#told.values()) {
      if (told.silent > 0 && told.bucket.has(now)) this.#line(told, now)
    }
  }

  /** Forgets checks that no longer exist. */
  keep(names: ReadonlySet<string>): void {
    for (const name of this.#told.keys()) if (!names.has(name)) this.#told.delete(name)
  }

  #line(told: Told, now: Millis): void {
    const { latest, silent } = told
    const { failed, name, report, to } = latest
    const last = report?.last
    const from = told.result
    told.result = to.result
    told.silent = 0
    told.bucket.spend(now)
    const effects = this.#effects(name)
    this.#recorder.chronicle.record({
      ...{ kind: 'checkChanged', check: name, from, to: to.result, effects: [...effects] },
      ...(last === undefined ? {} : { reason: last.reason, detail: last.detail, latencyMs: rounded(last.latency) }),
      ...(failed === undefined ? {} : { failed: [...failed] }),
      ...(silent > 1 ? { suppressed: silent - 1 } : {}),
    })
    const change = { from, to: to.result }
    const does = effects.map((effect) => checkEffectText(effect, change))
    const unsaid = silent > 1 ? `, after ${silent - 1} changes that were not logged` : ''
    this.#recorder.log(
      atOtherLevel(LOG.checkChanged, to.countsAs !== 'up'),
      `healthcheck ${name}: ${[resultText(latest, from, now), ...(does.length === 0 ? [] : [does.join(', ')])].join('; ')}${unsaid}`,
      {
        check: name,
        from,
        to: to.result,
        since: new Date(Date.now() - now + to.since).toISOString(),
        effects,
        ...(last === undefined ? {} : { reason: last.reason, latencyMs: rounded(last.latency) }),
        ...(silent > 1 ? { suppressed: silent - 1 } : {}),
      },
    )
  }
}

/**
 * Returns the text about a result: `first result: down (exit status is not 0: it ended with 7)`, `up → down: no result in time (…)`,
 * `no result for 13 s, still counted as up`.
 */
function resultText({ report, to }: CheckChange, from: CheckResult, now: Millis): string {
  const last = report?.last
  if (to.result === 'unknown') {
    const since = last === undefined ? '' : ` for ${Math.round((now - last.at) / 1_000)} s`
    return `no result${since}${to.countsAs === 'nothing' ? '' : `, still counted as ${to.countsAs}`}`
  }
  const detail = last === undefined || last.ok ? '' : last.detail
  if (from === 'undecided')
    return `first result: ${to.result}${last === undefined ? '' : ` (${[probeReasonText(last.reason), ...(detail === '' ? [] : [detail])].join(': ')})`}`
  // Log lines of this check were suppressed, and the check has the result of the last line again.
  const path = from === to.result ? `${to.result} again` : `${from} → ${to.result}`
  return `${path}${last === undefined ? '' : `: ${probeReasonText(last.reason)}${detail === '' ? '' : ` (${detail})`}`}`
}

const rounded = (ms: number) => Math.round(ms * 100) / 100
