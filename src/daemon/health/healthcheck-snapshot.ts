/**
 * Builds the snapshots of health checks: JSON values for `holdfast status`, API and metrics. This file decides which
 * facts of a check may be shown. A URL may contain a password, an argument a token, and a header a key; none of these
 * is shown. This file knows nothing about the reader.
 */
import type { ProbeSpec } from '../../healthcheck/check.ts'
import type { CheckReport } from '../../healthcheck/check-report.ts'
import type { CheckResult, CountsAs } from '../../healthcheck/health.ts'
import type { Reason } from '../../healthcheck/probe-result.ts'
import type { Millis } from '../../wire/units.ts'
import type { Router } from '../router/router.ts'
import type { CheckBoard, CheckState } from './check-board.ts'

export type HealthcheckSnapshot = {
  readonly name: string
  readonly kind: ProbeSpec['kind'] | 'all' | 'any'
  /** Target of the health check as text; for a combination its members. */
  readonly target: string
  readonly result: CheckResult
  /** Result as which the check counts. An unknown check may still count as before. */
  readonly countsAs: CountsAs
  /** Time since which the check has its result (ISO 8601). */
  readonly since: string
  /** Last run of the health check; `null` if no run has ended, or for a combination. */
  readonly last: {
    readonly at: string
    readonly ok: boolean
    readonly reason: Reason
    /**
     * Text for people about the last run. The text may contain output of a server or a program, so readers without
     * authorization never see it.
     */
    readonly detail?: string
    readonly latencyMs: number
  } | null
  /** Content of a file of weights; `null` for other checks. */
  readonly weight: number | null
  /** True if events of the kernel report a change of the target; false if only the regular runs notice a change. */
  readonly watched: boolean
  readonly runs: number
  readonly skipped: number
  readonly results: Readonly<Partial<Record<Reason, number>>>
  /** Milliseconds since the last report of the check worker; `null` before the first report. */
  readonly heardMsAgo: number | null
  /** Names of the combinations of which the check is a member. */
  readonly partOf: readonly string[]
  /** Routers that track the check, and the present effect of the check on each. */
  readonly routers: readonly {
    readonly router: string
    /** Present contribution of the check to the priority of this router. */
    readonly adds: number
    /** True if the router tracks the check without a weight: it is in fault while the check is down. */
    readonly required: boolean
    /** Fault that the check causes in this router; `null` if the check causes no fault. */
    readonly fault: string | null
  }[]
}

/**
 * Converts times of results to the wall clock, with the same text in each snapshot. A time computed from two clocks
 * varies by a millisecond, and a reader would see changes. If the wall clock was set, the text changes.
 */
export class WallClock {
  readonly #known = new Map<string, { readonly since: Millis; readonly at: number }>()

  at(check: string, since: Millis, wall: number): string {
    const fresh = wall + since
    const known = this.#known.get(check)
    const holds = known !== undefined && known.since === since && Math.abs(known.at - fresh) < CLOCK_SET
    if (!holds) this.#known.set(check, { since, at: fresh })
    return new Date(holds ? known.at : fresh).toISOString()
  }

  /** Forgets checks that no longer exist. */
  keep(names: ReadonlySet<string>): void {
    for (const name of this.#known.keys()) if (!names.has(name)) this.#known.delete(name)
  }
}

/**
 * Milliseconds by which the two clocks may drift apart. A larger difference means that the wall clock was set; NTP
 * normally changes less.
 */
const CLOCK_SET = 1_000

export function healthcheckSnapshots(
  board: CheckBoard,
  routers: readonly Router[],
  now: Millis,
  clock: WallClock,
): readonly HealthcheckSnapshot[] {
  const wall = Date.now() - now
  clock.keep(new Set([...board.probes.keys(), ...board.combinations.keys()]))
  const effects = effectsOf(routers)
  const common = (name: string, { result, countsAs, since }: CheckState) => ({
    name,
    result,
    countsAs,
    since: clock.at(name, since, wall),
    partOf: [...board.combinations].flatMap(([other, { members }]) => (members.includes(name) ? [other] : [])),
    routers: effects.get(name) ?? [],
  })
  const probes = [...board.probes].map(([name, { spec, held, state }]): HealthcheckSnapshot => {
    const { report } = held
    return {
      ...common(name, state),
      kind: spec.probe.kind,
      target: targetOf(spec.probe),
      last: lastOf(report, wall),
      weight: state.weight ?? null,
      watched: report?.watched ?? false,
      runs: report?.runs ?? 0,
      skipped: report?.skipped ?? 0,
      results: report?.results ?? {},
      heardMsAgo: report === undefined ? null : Math.round(now - held.heardAt),
    }
  })
  const combinations = [...board.combinations].map(
    ([name, { mode, members, state }]): HealthcheckSnapshot => ({
      ...common(name, state),
      kind: mode,
      target: members.join(', '),
      last: null,
      weight: null,
      watched: false,
      runs: 0,
      skipped: 0,
      results: {},
      heardMsAgo: null,
    }),
  )
  return [...probes, ...combinations]
}

function lastOf(report: CheckReport | undefined, wall: number): HealthcheckSnapshot['last'] {
  if (report?.last === undefined) return null
  const { at, ok, reason, detail, latency } = report.last
  return { at: new Date(wall + at).toISOString(), ok, reason, detail, latencyMs: Math.round(latency * 100) / 100 }
}

type Effects = HealthcheckSnapshot['routers']

/** Returns the effects of each health check on the routers. */
function effectsOf(routers: readonly Router[]): ReadonlyMap<string, Effects> {
  const all = new Map<string, Effects[number][]>()
  for (const { name: router, priority, faults } of routers) {
    const { parts, faults: possible } = priority.tracking
    const own = new Map<string, Effects[number]>()
    for (const { kind, name, adds } of parts) {
      if (kind === 'healthcheck') own.set(name, { router, adds, required: false, fault: null })
    }
    for (const { fault } of possible) {
      const [, check] = /^healthcheck(?:Down|Undecided):(.+)$/.exec(fault) ?? []
      if (check === undefined) continue
      const known = own.get(check) ?? { router, adds: 0, required: true, fault: null }
      own.set(check, faults.has(fault) ? { ...known, fault } : known)
    }
    for (const [check, effect] of own) all.set(check, [...(all.get(check) ?? []), effect])
  }
  return all
}

function targetOf(probe: ProbeSpec): string {
  switch (probe.kind) {
    case 'http':
      return `${withoutSecrets(probe.url)}${probe.unixSocket === undefined ? '' : ` at ${probe.unixSocket}`}`
    case 'tcp':
      return `${probe.host.includes(':') ? `[${probe.host}]` : probe.host}:${probe.port}`
    case 'exec':
      return probe.argv[0]
    case 'file':
      return probe.path
    case 'process':
      return probe.count === 1 ? probe.name : `${probe.count} × ${probe.name}`
  }
}

/** Returns a URL without user, password and query. */
function withoutSecrets(url: string): string {
  if (!URL.canParse(url)) return 'no URL'
  const { protocol, host, pathname } = new URL(url)
  return `${protocol}//${host}${pathname}`
}
