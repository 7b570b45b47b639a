/**
 * Describes three nodes, named a, b and c, as a Prometheus that scrapes them every 15 s has stored them, in promtool's
 * notation. All nodes are healthy and a is Active. A test case names what differs; every other series keeps its healthy
 * value. This file does not know the alerting rules.
 */

export const SCRAPE_S = 15
const PER_MINUTE = 60 / SCRAPE_S
export const NODES = ['a', 'b', 'c'] as const
export type Node = (typeof NODES)[number]
export const ADDRESS = '10.0.0.200'

/**
 * Minutes with one value of a series, to which `step` is added at each scrape. `gone`: no value (`stale` once, then
 * missing).
 */
export type Span = readonly [minutes: number, value: number | 'gone', step?: number | undefined]

const STATES = ['Initialize', 'Backup', 'Active', 'Leaving', 'Returning'] as const
export type State = (typeof STATES)[number]

/** Minutes in each state of the router, in order. `gone`: the node is not scraped. */
export type Course = readonly (readonly [minutes: number, state: State | 'gone'])[]

const samples = (minutes: number): number => Math.round(minutes * PER_MINUTE)

function spell([minutes, value, step]: Span): string {
  const more = samples(minutes) - 1
  if (value === 'gone') return more === 0 ? 'stale' : `stale _x${more}`
  return step === undefined ? `${value}x${more}` : `${value}+${step}x${more}`
}

export const series = (...spans: readonly Span[]): string => spans.map(spell).join(' ')

export class ScrapedCluster {
  readonly #minutes: number
  readonly #series = new Map<string, string>()

  constructor(minutes: number) {
    this.#minutes = minutes
    for (const node of NODES) {
      const always = (name: string, labels: string, value: number, step?: number) =>
        this.set(node, name, labels, [minutes, value, step])
      this.course(node, [minutes, node === 'a' ? 'Active' : 'Backup'])
      always('holdfast_vrrp_transitions_total', 'router="api",from="Initialize",to="Backup",reason="startup"', 1)
      always('holdfast_vrrp_duplicate_holder', `router="api",address="${ADDRESS}"`, 0)
      always('holdfast_vrrp_competing_answers_total', 'router="api"', 0)
      always('holdfast_vrrp_other_actives', 'router="api"', 0)
      always('holdfast_vrrp_cleanup_plans_executed_total', 'router="api"', 0)
      always('holdfast_vrrp_restorations_paused', 'router="api"', 0)
      always('holdfast_vrrp_advertisement_interval_seconds', 'router="api"', 1)
      always('holdfast_vrrp_advertisement_gap_ratio_count', 'router="api"', 0, 15)
      always('holdfast_vrrp_advertisement_gap_ratio_bucket', 'router="api",le="2.5"', 0, 15)
      // Another group of routers lives on the same LAN, so some advertisements have an unknown VRID.
      always('holdfast_vrrp_advertisements_discarded_total', 'interface="eth0",reason="vrid-unknown"', 0, 15)
      always('holdfast_engine_timer_lateness_seconds_count', '', 0, 150)
      always('holdfast_engine_timer_lateness_seconds_bucket', 'le="0.05"', 0, 150)
      always('holdfast_engine_timer_lateness_seconds_bucket', 'le="0.5"', 0, 150)
      always('holdfast_cleanup_plan_armed', '', 1)
      always('holdfast_config_reload_success', '', 1)
      always('holdfast_journal_failing', '', 0)
      always('holdfast_time_seconds', '', 0, SCRAPE_S)
      always('holdfast_healthcheck_up', 'check="readyz"', 1)
      always('holdfast_healthcheck_unknown', 'check="readyz"', 0)
      always('holdfast_healthcheck_adds', 'check="readyz",router="api"', 0)
      always('holdfast_healthcheck_since_timestamp_seconds', 'check="readyz"', 1_000)
      always('holdfast_healthcheck_results_total', 'check="readyz",reason="ok"', 0, 15)
    }
  }

  set(node: Node, name: string, labels: string, ...spans: readonly Span[]): this {
    const own = `job="holdfast",instance="${node}"`
    this.#series.set(`${name}{${labels === '' ? own : `${own},${labels}`}}`, series(...spans))
    return this
  }

  /**
   * Sets the series of a router's state, of its address, and of the scrape's success. The router has the address while
   * it is Active or leaves.
   */
  course(node: Node, ...course: Course): this {
    const spans = (value: (state: State) => number): Span[] =>
      course.map(([minutes, state]) => [minutes, state === 'gone' ? 'gone' : value(state)])
    for (const state of STATES) {
      const labels = `router="api",vrid="51",interface="eth0",state="${state}"`
      this.set(node, 'holdfast_vrrp_state', labels, ...spans((now) => (now === state ? 1 : 0)))
    }
    const has = (state: State) => (state === 'Active' || state === 'Leaving' ? 1 : 0)
    this.set(node, 'holdfast_vrrp_address_present', `router="api",address="${ADDRESS}"`, ...spans(has))
    return this.set(node, 'up', '', ...course.map(([minutes, state]): Span => [minutes, state === 'gone' ? 0 : 1]))
  }

  /**
   * Makes the check of a node fail for `minutes`, after `after` minutes. The weight of the check is then subtracted
   * from the priority.
   */
  checkFails(node: Node, after: number, minutes: number): this {
    const rest = this.#minutes - after - minutes
    const course = (before: number, meanwhile: number, then: number): Span[] => [
      [after, before],
      [minutes, meanwhile],
      ...(rest > 0 ? [[rest, then] as const] : []),
    ]
    const since = 'holdfast_healthcheck_since_timestamp_seconds'
    this.set(node, since, 'check="readyz"', ...course(1_000, 1_000 + after * 60, 1_000 + (after + minutes) * 60))
    this.set(node, 'holdfast_healthcheck_adds', 'check="readyz",router="api"', ...course(0, -60, 0))
    return this.set(node, 'holdfast_healthcheck_up', 'check="readyz"', ...course(1, 0, 1))
  }

  /** Ends the node after `after` minutes. All series of the node end, not only those of its routers. */
  dies(node: Node, after: number, state: State): this {
    this.course(node, [after, state], [this.#minutes - after, 'gone'])
    for (const [name, values] of this.#series) {
      if (!name.includes(`instance="${node}"`) || name.startsWith('up') || values.includes('stale')) continue
      const [, first = '0', step] = /^(\d+)(?:\+(\d+))?x/.exec(values) ?? []
      const spans: Span[] = [[after, Number(first), step === undefined ? undefined : Number(step)]]
      this.#series.set(name, series(...spans, [this.#minutes - after, 'gone']))
    }
    return this
  }

  get inputSeries(): readonly { readonly series: string; readonly values: string }[] {
    return [...this.#series].map(([name, values]) => ({ series: name, values }))
  }
}
