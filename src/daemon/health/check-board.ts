/**
 * The engine's memory of all health checks: the last result of each check, the time until which it counts, and the
 * results of combinations. This file decides which results changed. If the engine itself was late, it reads waiting
 * reports before a result becomes too old. This file knows nothing about threads, weights and routers. The time is an
 * argument.
 */
import { type Check, nameOf } from '../../config/checks.ts'
import type { CheckSpec, HealthRule } from '../../healthcheck/check.ts'
import type { Formerly } from '../../healthcheck/check-message.ts'
import type { CheckReport } from '../../healthcheck/check-report.ts'
import { combined, type Known } from '../../healthcheck/combination.ts'
import { doubtAt, type HeldHealth, hearReport, heldAt, startHeld } from '../../healthcheck/held-health.ts'
import { type Millis, plus } from '../../wire/units.ts'

/** Result of a health check. `weight` is the number in the file, for a check of a file of weights only. */
export type CheckState = Known & { readonly weight: number | undefined; readonly since: Millis }

export type CheckChange = {
  readonly name: string
  readonly from: CheckState
  readonly to: CheckState
  /** Last report of the check worker about this health check; `undefined` before the first report. */
  readonly report: CheckReport | undefined
  /** With a combination that is down: its checks that are down. */
  readonly failed?: readonly string[]
}

/** Result of a check, with the time of the last report. */
export type Kept = Formerly & { readonly heardAt: Millis }

type Probe = { readonly spec: CheckSpec; held: HeldHealth; state: CheckState }
type Combination = { readonly mode: 'all' | 'any'; readonly members: readonly string[]; state: CheckState }

/** Milliseconds. If the engine is later than this, it was not running, so reports of checks wait to be read. */
const LATE = 100

export class CheckBoard {
  readonly #probes = new Map<string, Probe>()
  /** Combinations of checks, by name; each combination comes after its members. */
  #combinations = new Map<string, Combination>()
  #doubtAt: Millis | undefined
  #readUntil: Millis | undefined

  /** Sets the health checks. A check keeps its result if its name stays, or if only its name changes. */
  set(checks: readonly Check[], now: Millis): void {
    const before = new Map(this.#probes)
    const names = new Set(checks.map(nameOf))
    const renamed = new Map(
      [...before].flatMap(([name, probe]) => (names.has(name) ? [] : [[asked(probe.spec), probe] as const])),
    )
    const combinations = new Map<string, Combination>()
    this.#probes.clear()
    for (const check of checks) {
      if (check.kind === 'probe') {
        const { spec } = check
        const known = before.get(spec.name) ?? renamed.get(asked(spec))
        const held = known?.held ?? startHeld(now)
        this.#probes.set(spec.name, { spec, held, state: stateOf(spec, held, known?.state, now) })
      } else {
        const { name, mode, members } = check
        const state = this.#combinations.get(name)?.state ?? UNDECIDED(now)
        combinations.set(name, { mode, members, state })
      }
    }
    this.#combinations = combinations
    this.#combine(now)
    this.#rearm()
  }

  /**
   * Adopts the results of the engine before. An adopted result counts as long as a result that this engine received, at
   * `heardAt`. The caller must set the checks first.
   */
  restore(results: readonly Kept[], now: Millis): void {
    for (const { check, heardAt, result, since, weight } of results) {
      const probe = this.#probes.get(check)
      if (probe === undefined) continue
      const seen = { last: undefined, watched: false, runs: 1, results: {}, skipped: 0 }
      probe.held = { report: { check, result, countsAs: result, since, weight, ...seen }, heardAt }
      probe.state = stateOf(probe.spec, probe.held, undefined, now)
    }
    this.#combine(now)
    this.#rearm()
  }

  /** Handles reports of the check worker. Returns the changed checks and combinations. */
  hear(reports: readonly CheckReport[], now: Millis): readonly CheckChange[] {
    const changes = reports.flatMap((report) => {
      const probe = this.#probes.get(report.check)
      if (probe === undefined) return []
      probe.held = hearReport(probe.held, report, now)
      return settle(report.check, probe, now)
    })
    this.#rearm()
    return this.#withCombinations(changes, now)
  }

  /** Time of the next call of doubt(); `undefined` if no result can become too old. */
  get doubtAt(): Millis | undefined {
    return this.#readUntil ?? this.#doubtAt
  }

  /** Ends results of checks without a recent report. Returns the changed checks and combinations. */
  doubt(now: Millis): readonly CheckChange[] {
    const readUntil = this.#readUntil
    if (readUntil !== undefined && now < readUntil) return []
    this.#readUntil = undefined
    if (this.#doubtAt === undefined || now < this.#doubtAt) return []
    if (readUntil === undefined && now - this.#doubtAt > LATE) {
      this.#readUntil = plus(now, LATE)
      return []
    }
    const changes = [...this.#probes].flatMap(([name, probe]) => settle(name, probe, now))
    this.#rearm()
    return this.#withCombinations(changes, now)
  }

  /** Returns the state of the health check with this name; `undefined` if no check has this name. */
  of(name: string): CheckState | undefined {
    return (this.#probes.get(name) ?? this.#combinations.get(name))?.state
  }

  /** Returns a function that gives the state of each check as if these probes were down, or up. */
  assuming(countsAs: 'up' | 'down', probes: ReadonlySet<string>): (name: string) => CheckState | undefined {
    const find = (name: string): CheckState | undefined => {
      const state = this.of(name)
      if (state === undefined) return undefined
      if (probes.has(name)) return { ...state, result: countsAs, countsAs }
      const combination = this.#combinations.get(name)
      if (combination === undefined) return state
      return {
        ...state,
        ...combined(
          combination.mode,
          combination.members.flatMap((member) => find(member) ?? []),
        ),
      }
    }
    return find
  }

  /** Returns the probes behind a name: the check itself, or the members of the combination. */
  probesOf(name: string): readonly string[] {
    const members = this.#combinations.get(name)?.members
    return members === undefined
      ? this.#probes.has(name)
        ? [name]
        : []
      : members.flatMap((each) => this.probesOf(each))
  }

  get probes(): ReadonlyMap<
    string,
    { readonly spec: CheckSpec; readonly held: HeldHealth; readonly state: CheckState }
  > {
    return this.#probes
  }

  get combinations(): ReadonlyMap<string, Readonly<Combination>> {
    return this.#combinations
  }

  get specs(): readonly CheckSpec[] {
    return [...this.#probes.values()].map(({ spec }) => spec)
  }

  /**
   * Returns the results with which a new check worker continues. With these results, the start of a worker changes no
   * result.
   */
  formerly(): readonly Formerly[] {
    return this.kept().map(({ heardAt: _, ...each }) => each)
  }

  /** Returns the results that count, for the engine that continues with them. */
  kept(): readonly Kept[] {
    return [...this.#probes].flatMap(([check, { held, state }]): Kept[] => {
      const { since, countsAs, weight } = state
      return countsAs === 'nothing' ? [] : [{ check, result: countsAs, since, weight, heardAt: held.heardAt }]
    })
  }

  #withCombinations(changes: readonly CheckChange[], now: Millis): readonly CheckChange[] {
    return changes.length === 0 ? changes : [...changes, ...this.#combine(now)]
  }

  #combine(now: Millis): readonly CheckChange[] {
    return [...this.#combinations].flatMap(([name, combination]) => {
      const { mode, members, state: from } = combination
      const known = combined(
        mode,
        members.flatMap((member) => this.of(member) ?? []),
      )
      if (known.result === from.result && known.countsAs === from.countsAs) return []
      combination.state = { ...known, weight: undefined, since: now }
      const failed = this.probesOf(name).filter((probe) => this.of(probe)?.countsAs === 'down')
      return [
        { name, from, to: combination.state, report: undefined, ...(known.countsAs === 'down' ? { failed } : {}) },
      ]
    })
  }

  #rearm(): void {
    let nearest: Millis | undefined
    for (const { spec, held, state } of this.#probes.values()) {
      if (state.result === 'unknown') continue
      const at = doubtAt(held, spec.rule)
      if (nearest === undefined || at < nearest) nearest = at
    }
    this.#doubtAt = nearest
  }
}

/** Returns all settings of a check except its name, as text for a comparison. */
const asked = (spec: CheckSpec): string => JSON.stringify({ ...spec, name: undefined })

const UNDECIDED = (now: Millis): CheckState => ({
  result: 'undecided',
  countsAs: 'nothing',
  weight: undefined,
  since: now,
})

function settle(name: string, probe: Probe, now: Millis): readonly CheckChange[] {
  const from = probe.state
  const to = stateOf(probe.spec, probe.held, from, now)
  probe.state = to
  if (from.result === to.result && from.countsAs === to.countsAs && from.weight === to.weight) return []
  return [{ name, from, to, report: probe.held.report }]
}

function stateOf(spec: CheckSpec, held: HeldHealth, before: CheckState | undefined, now: Millis): CheckState {
  const { rule, probe } = spec
  const known = held.report === undefined ? atFirst(held, rule, now) : heldAt(held, rule, now)
  const since = known.result === held.report?.result ? held.report.since : now
  const weight = probe.kind === 'file' && probe.content === 'weight' ? (held.report?.weight ?? 0) : undefined
  return { ...known, weight, since: known.result === before?.result ? before.since : since }
}

/** Returns the state of a check before the first report of the thread, in which `initial` counts. */
function atFirst(held: HeldHealth, rule: HealthRule, now: Millis): Known {
  const known = heldAt(held, rule, now)
  const { initial } = rule
  if (initial === 'firstResult') return known
  if (known.result === 'undecided') return { result: initial, countsAs: initial }
  return known.countsAs === 'nothing' ? { result: known.result, countsAs: initial } : known
}
