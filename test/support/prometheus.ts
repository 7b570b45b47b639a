/**
 * Runs a real Prometheus in the lab, with the configuration and the rules of deploy/prometheus. This file decides that
 * all times in both files are divided by one factor. With this factor, Prometheus scrapes every 3 s instead of every 15
 * s, and `for: 1m` takes 12 s. The rules are otherwise the shipped ones. This file does not know what the rules
 * contain.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { packageRoot } from '../../src/lab/installation.ts'
import type { Host, Lab } from '../../src/lab/lab.ts'
import { LoggedProcess } from '../../src/lab/logged-process.ts'
import { eventually } from '../../src/lab/wait.ts'

export const FASTER = 5
const UNITS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600 }
/** Age up to which Prometheus uses a stored value as the present value. */
const LOOKBACK = '5m'
const PORT = 9090

const SHIPPED = join(packageRoot(), 'deploy', 'prometheus')

export const scaled = (duration: string): string =>
  duration.replace(
    /\b(\d+)([smh])\b/g,
    (_, count, unit) => `${Math.round((count * 1_000 * (UNITS[unit] ?? 1)) / FASTER)}ms`,
  )

type Labels = Readonly<Record<string, string>>
export type Series = { readonly metric: Labels; readonly values: readonly (readonly [at: number, value: number])[] }
export type Alert = { readonly labels: Labels; readonly state: string; readonly annotations: Labels }

type Rule = { readonly expr: string; readonly for?: string }

/** Returns the shipped alerting rules with all times divided. */
function fasterRules(): unknown {
  const shipped: { groups: { name: string; rules: Rule[] }[] } = parse(
    readFileSync(join(SHIPPED, 'holdfast.rules.yml'), 'utf8'),
  )
  return {
    groups: shipped.groups.map(({ name, rules }) => ({
      name,
      rules: rules.map((rule) => ({
        ...rule,
        expr: scaled(rule.expr),
        ...(rule.for === undefined ? {} : { for: scaled(rule.for) }),
      })),
    })),
  }
}

function fasterConfiguration(targets: readonly string[]): unknown {
  const { global, rule_files, scrape_configs } = parse(readFileSync(join(SHIPPED, 'prometheus.yml'), 'utf8'))
  const [{ job_name, static_configs }] = scrape_configs
  return {
    global: Object.fromEntries(Object.entries(global).map(([key, value]) => [key, scaled(String(value))])),
    rule_files,
    scrape_configs: [{ job_name, static_configs: [{ ...static_configs[0], targets }] }],
  }
}

/** The place in which Prometheus runs: a lab of network namespaces, or a lab of containers. */
export type PrometheusSite = Pick<Lab, 'directory' | 'exec' | 'spawn'>

export class Prometheus {
  readonly #lab: PrometheusSite
  readonly #host: Host | string
  readonly #process: LoggedProcess

  /** Starts Prometheus. Resolves when Prometheus answers. `launcher` is the command that starts the program. */
  static async start(
    lab: PrometheusSite,
    host: Host | string,
    targets: readonly string[],
    launcher: readonly string[],
  ): Promise<Prometheus> {
    const prometheus = new Prometheus(lab, host, targets, launcher)
    await eventually('prometheus to answer', () => prometheus.#isReady(), {
      sight: () => prometheus.#process.lines.slice(-5),
      within: 30_000,
      every: 200,
    })
    return prometheus
  }

  private constructor(
    lab: PrometheusSite,
    host: Host | string,
    targets: readonly string[],
    launcher: readonly string[],
  ) {
    const folder = join(lab.directory, 'prometheus')
    mkdirSync(folder)
    writeFileSync(join(folder, 'prometheus.yml'), JSON.stringify(fasterConfiguration(targets)))
    writeFileSync(join(folder, 'holdfast.rules.yml'), JSON.stringify(fasterRules()))
    this.#lab = lab
    this.#host = host
    this.#process = new LoggedProcess(lab, host, [
      ...launcher,
      'prometheus',
      `--config.file=${join(folder, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${PORT}`,
      `--query.lookback-delta=${scaled(LOOKBACK)}`,
      '--log.level=warn',
    ])
  }

  /**
   * Returns the value of each series at the time `at` (seconds since the epoch; `undefined`: now). Throws if Prometheus
   * refuses the query.
   */
  query(expression: string, at?: number): readonly Series[] {
    const data = this.#ask('query', { query: expression, ...(at === undefined ? {} : { time: String(at) }) })
    if (data.resultType === 'matrix') return data.result.map(seriesOf)
    if (data.resultType !== 'vector') throw new Error(`Cannot read a ${data.resultType}: ${expression}`)
    return data.result.map(({ metric, value: [time, value] }: Sampled) => ({ metric, values: [[time, Number(value)]] }))
  }

  range(expression: string, from: number, to: number, step: number): readonly Series[] {
    const window = { start: String(from), end: String(to), step: String(step) }
    return this.#ask('query_range', { query: expression, ...window }).result.map(seriesOf)
  }

  /** Returns the alerts that are pending or firing in Prometheus. */
  alerts(): readonly Alert[] {
    return this.#ask('alerts', {}).alerts
  }

  /** Returns the names of the alerts that are firing in Prometheus. */
  firing(): readonly string[] {
    const names = this.alerts().flatMap(({ labels, state }) => (state === 'firing' ? (labels.alertname ?? []) : []))
    return [...new Set(names)].sort()
  }

  #isReady(): boolean {
    try {
      return this.#curl([`http://127.0.0.1:${PORT}/-/ready`]).includes('Ready')
    } catch {
      return false
    }
  }

  #ask(what: string, parameters: Labels) {
    const encoded = Object.entries(parameters).flatMap(([key, value]) => ['--data-urlencode', `${key}=${value}`])
    const answer = JSON.parse(this.#curl(['--get', ...encoded, `http://127.0.0.1:${PORT}/api/v1/${what}`]))
    if (answer.status !== 'success')
      throw new Error(`Prometheus refuses ${JSON.stringify(parameters)}: ${answer.error}`)
    return answer.data
  }

  #curl(argv: readonly string[]): string {
    return this.#lab.exec(this.#host, ['curl', '--silent', '--show-error', '--max-time', '10', ...argv])
  }
}

type Sampled = { readonly metric: Labels; readonly value: readonly [number, string] }
type Ranged = { readonly metric: Labels; readonly values: readonly (readonly [number, string])[] }
const seriesOf = ({ metric, values }: Ranged): Series => ({
  metric,
  values: values.map(([at, value]) => [at, Number(value)]),
})
