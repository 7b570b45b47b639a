/** Sends queries to the lab's Prometheus from this machine. This file does not know which values are expected. */
import { eventually } from '../../src/lab/wait.ts'
import type { Project } from './project.ts'

type Sample = { readonly metric: Readonly<Record<string, string>>; readonly value: readonly [number, string] }

export class PrometheusView {
  readonly #base: string

  static async of(project: Project): Promise<PrometheusView> {
    const published = await project.docker(
      ['inspect', '--format', '{{(index (index .NetworkSettings.Ports "9090/tcp") 0).HostPort}}'],
      ['prometheus'],
    )
    return new PrometheusView(`http://127.0.0.1:${published.trim()}`)
  }

  private constructor(base: string) {
    this.#base = base
  }

  async #ask(path: string, parameters: Readonly<Record<string, string>> = {}) {
    const response = await fetch(`${this.#base}/api/v1/${path}?${new URLSearchParams(parameters)}`)
    const answer = JSON.parse(await response.text())
    if (answer.status !== 'success') throw new Error(`Prometheus refuses ${path}: ${answer.error}`)
    return answer.data
  }

  /**
   * Returns the time series that match the expression, with their values at the time `at` (seconds since the epoch).
   */
  async query(expression: string, at = Date.now() / 1_000): Promise<readonly Sample[]> {
    return (await this.#ask('query', { query: expression, time: `${at}` })).result
  }

  /** Returns the number of routers whose last scrape by Prometheus succeeded. */
  async up(): Promise<number> {
    return (await this.query('up == 1')).length
  }

  async allUp(wanted: number): Promise<void> {
    const up = () => this.up().catch(() => 0)
    const isUp = async () => (await up()) === wanted
    await eventually(`Prometheus to scrape ${wanted} routers`, isUp, { sight: up, within: 60_000, every: 250 })
  }

  /**
   * Returns the number of alerting and recording rules that Prometheus has loaded, without the rules that Prometheus
   * could not evaluate.
   */
  async rules(): Promise<number> {
    const { groups }: { groups: { rules: { health: string }[] }[] } = await this.#ask('rules')
    return groups.flatMap(({ rules }) => rules).filter(({ health }) => health !== 'err').length
  }

  /** Returns the names of the routers that were Active in IPv4 and IPv6 at the time `at` (seconds since the epoch). */
  async actives(at: number): Promise<readonly string[]> {
    const found = await this.query('count by (instance) (holdfast_vrrp_state{state="Active"} == 1) == 2', at)
    return found.map(({ metric }) => (metric.instance ?? '').replace(/:.*/, ''))
  }
}
