/**
 * Judges how late the timers are, which interval that allows, and whether the clocks are reliable. PURE. This file
 * knows nothing about how time was measured.
 */
import { defined } from '../base/defined.ts'
import type { Finding } from './finding.ts'
import { asMillis, SAFETY, type Spread, smallestInterval, spreadOf } from './interval.ts'
import {
  isUnmeasured,
  type MachineState,
  type Measured,
  type PlannedRouter,
  type TimerRun,
  type Timers,
} from './measurement.ts'

/**
 * Largest change between wall clock and monotonic clock, in milliseconds, with which the kernel's receive times are
 * used (ground rule 2: a waiting packet counts).
 */
const STEP = 1
/** Milliseconds between the takeovers of equal routers (docs/architecture.md, Stagger). */
const STAGGER = 3
/**
 * Advertisement interval in milliseconds that should work on every machine. If it does not, doctor warns even without a
 * configuration.
 */
const USUAL_INTERVAL = 1_000

export type Recommendation = {
  /** Smallest safe interval in milliseconds; `null` if no interval of the protocol is long enough. */
  readonly intervalMs: number | null
  readonly worstMs: number
  readonly samples: number
}
/** Recommended intervals; `null` if the lateness could not be measured. */
export type Recommendations = {
  readonly ordinary: Recommendation | null
  readonly realtime: Recommendation | null
}

const isRun = (run: Timers['ordinary']): run is TimerRun => !isUnmeasured(run)
const isRealtime = ({ policy }: TimerRun): boolean => policy === 'SCHED_RR' || policy === 'SCHED_FIFO'

export function recommend({ ordinary, realtime }: Timers): Recommendations {
  const of = (run: Timers['ordinary']): Recommendation | null => {
    if (!isRun(run) || run.lateness.length === 0) return null
    const { max, samples } = spreadOf(run.lateness)
    const interval = smallestInterval(max)
    return { intervalMs: interval === undefined ? null : asMillis(interval), worstMs: max, samples }
  }
  return { ordinary: of(ordinary), realtime: isRun(realtime) && isRealtime(realtime) ? of(realtime) : null }
}

export function timerFindings({ machine, routers, timers }: Measured): readonly Finding[] {
  const recommended = recommend(timers)
  return [
    lateness('without --realtime', timers.ordinary),
    ...(isRun(timers.realtime) ? [lateness('with --realtime', timers.realtime)] : []),
    ...smallest(recommended, machine, routers.length > 0),
    ...routers.flatMap((router) => intervalOf(router, recommended, machine)),
    ...staggerOf(routers, timers),
    realtimeOf(timers.realtime, machine),
    ...clockOf(timers),
  ]
}

const ms = (value: number): string => `${value < 10 ? value.toFixed(2) : value.toFixed(0)} ms`
const spreadText = ({ max, p50, p99, samples }: Spread): string =>
  `p50 ${ms(p50)}, p99 ${ms(p99)}, worst ${ms(max)} of ${samples}`

function lateness(how: string, run: Timers['ordinary']): Finding {
  if (isUnmeasured(run))
    return { check: 'timers', level: 'warning', about: how, found: `not measured: ${run.unmeasured}` }
  if (run.lateness.length === 0) {
    const found = 'no timer fired during the measurement: an ordinary process gets no CPU time'
    return { check: 'timers', level: 'error', about: how, found, advice: 'Find out what keeps the CPUs busy' }
  }
  return { check: 'timers', level: 'ok', about: how, found: `late by ${spreadText(spreadOf(run.lateness))}` }
}

const intervalText = ({ intervalMs }: Recommendation): string =>
  intervalMs === null ? 'none, the limit of VRRP is 40.95 s' : `${intervalMs} ms`

/** Returns the recommended interval with its reason, and what would allow a shorter interval. */
function smallest(
  { ordinary, realtime }: Recommendations,
  machine: MachineState,
  configured: boolean,
): readonly Finding[] {
  // With a configuration, the configured interval is judged instead.
  const usual =
    configured || [ordinary, realtime].some((given) => given?.intervalMs != null && given.intervalMs <= USUAL_INTERVAL)
  const one = (how: string, given: Recommendation, other: Recommendation | null): Finding => {
    const { intervalMs, worstMs } = given
    const found =
      `smallest safe advertisement interval: ${intervalText(given)}, ${SAFETY} x the worst lateness ` +
      `(${ms(worstMs)}), which leaves room for one lost advertisement`
    const lower =
      other?.intervalMs != null && (intervalMs === null || other.intervalMs < intervalMs)
        ? `--realtime lowers it to ${other.intervalMs} ms`
        : intervalMs !== null && intervalMs <= 10
          ? undefined
          : lowered(machine)
    return {
      check: 'interval',
      level: usual ? 'ok' : 'warning',
      about: how,
      found,
      ...defined({ advice: lower }),
    }
  }
  return [
    ...(ordinary === null ? [] : [one('without --realtime', ordinary, realtime)]),
    ...(realtime === null ? [] : [one('with --realtime', realtime, null)]),
  ]
}

function lowered({ mayRealtime, processors, stolenShare = 0, throttled = 0 }: MachineState): string {
  if (throttled > 0) return 'A CPU limit of its cgroup stopped this process; without the limit timers are less late'
  if (stolenShare > 0.01)
    return `The hypervisor ran other machines for ${(100 * stolenShare).toFixed(0)} % of the time: ask for reserved CPUs`
  if (!mayRealtime) return 'Real-time priority lowers it: give the daemon CAP_SYS_NICE and start it with --realtime'
  return `Less load, or more than ${processors} CPUs, lowers the smallest safe interval`
}

/** Compares the configured interval with the smallest safe interval of the machine. */
function intervalOf(
  { intervalMs, name, version }: PlannedRouter,
  { ordinary, realtime }: Recommendations,
  machine: MachineState,
): readonly Finding[] {
  if (ordinary === null) return []
  const fits = ({ worstMs }: Recommendation) => {
    const least = smallestInterval(worstMs, version)
    return least !== undefined && asMillis(least) <= intervalMs
  }
  const about = name
  if (fits(ordinary)) {
    const found = `${intervalMs} ms is ${times(intervalMs / ordinary.worstMs)} the worst lateness (${ms(ordinary.worstMs)})`
    return [{ check: 'interval', level: 'ok', about, found }]
  }
  if (realtime !== null && fits(realtime)) {
    const runs = machine.processes.some(
      ({ policy, vrrp }) => vrrp && (policy === 'SCHED_RR' || policy === 'SCHED_FIFO'),
    )
    const found = `${intervalMs} ms is safe with --realtime only (worst lateness ${ms(realtime.worstMs)}, without it ${ms(ordinary.worstMs)})`
    if (runs) return [{ check: 'interval', level: 'ok', about, found: `${found}, which the running daemon has` }]
    return [{ check: 'interval', level: 'warning', about, found, advice: 'Start the daemon with --realtime' }]
  }
  const best = realtime ?? ordinary
  const overdue = best.worstMs >= intervalMs
  const found = `${intervalMs} ms is ${times(intervalMs / best.worstMs)} the worst lateness (${ms(best.worstMs)}): ${
    overdue
      ? 'with one lost advertisement, a Backup takes over from a healthy Active'
      : `${SAFETY} times are needed for busier hours`
  }`
  const advice = `Set advertisementInterval to ${intervalText(best)} or more on all its routers${
    best === realtime ? ' and use --realtime' : `; ${lowered(machine).replace(/^./, (first) => first.toLowerCase())}`
  }`
  return [{ check: 'interval', level: overdue ? 'error' : 'warning', about, found, advice }]
}

const times = (share: number): string =>
  `${Number.isFinite(share) ? share.toFixed(share < 10 ? 1 : 0) : 'far more than 100'} x`

/**
 * Judges whether timers are too late for the 3 ms that keep equal routers apart. With such late timers, two equal
 * routers may become Active together.
 */
function staggerOf(routers: readonly PlannedRouter[], { ordinary, realtime }: Timers): readonly Finding[] {
  if (!routers.some(({ peers }) => peers.length > 1)) return []
  const run = isRun(realtime) && isRealtime(realtime) ? realtime : ordinary
  if (isUnmeasured(run)) return []
  const { p99 } = spreadOf(run.lateness)
  if (p99 <= STAGGER) return []
  const found = `1 % of the timers are more than ${ms(p99)} late, but only ${STAGGER} ms separate routers of equal priority: two may take over together, and one then steps down`
  return [
    {
      check: 'timers',
      level: 'note',
      about: 'equal priorities',
      found,
      advice: 'Give the routers different priorities',
    },
  ]
}

function realtimeOf(run: Timers['realtime'], { mayRealtime }: MachineState): Finding {
  if (isUnmeasured(run)) return { check: 'realtime', level: 'note', found: `not tried: ${run.unmeasured}` }
  if (isRealtime(run)) {
    return { check: 'realtime', level: 'ok', found: `--realtime gets ${run.policy}, priority ${run.priority}` }
  }
  const found = `--realtime gets ${run.policy}: ${mayRealtime ? 'the kernel refuses it here' : 'CAP_SYS_NICE is missing, and RLIMIT_RTPRIO allows none'}`
  const advice = 'Below 100 ms add CAP_SYS_NICE (docs/privileges.md); above 100 ms the daemon does not need it'
  return { check: 'realtime', level: 'note', found, advice }
}

function clockOf({ ordinary, realtime }: Timers): readonly Finding[] {
  const run = isRun(ordinary) ? ordinary : isRun(realtime) ? realtime : undefined
  if (run === undefined || run.offsets.length < 2) return []
  const changes = run.offsets.slice(1).map((offset, i) => offset - (run.offsets[i] ?? offset))
  const steps = changes.filter((change) => Math.abs(change) > STEP)
  const drift = (run.offsets.at(-1) ?? 0) - (run.offsets[0] ?? 0)
  if (steps.length === 0) {
    return [
      {
        check: 'clock',
        level: 'ok',
        found: `CLOCK_REALTIME and CLOCK_MONOTONIC advanced together (difference ${drift.toFixed(3)} ms)`,
      },
    ]
  }
  const largest = steps.reduce((most, step) => (Math.abs(step) > Math.abs(most) ? step : most), 0)
  return [
    {
      check: 'clock',
      level: 'warning',
      found: `the wall clock was stepped ${steps.length === 1 ? 'once' : `${steps.length} times`}, by ${ms(Math.abs(largest))} ${largest < 0 ? 'back' : 'forward'} at most: elections use CLOCK_MONOTONIC and are not affected, but around a step the kernel's receive times are not used`,
      advice: 'Let one time service slew the clock (chrony without makestep after the start)',
    },
  ]
}
