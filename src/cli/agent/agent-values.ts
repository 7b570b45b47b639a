/**
 * Reads the values of the agent's flags and environment variables one by one, and collects wrong values. This file
 * decides the accepted values of each flag and variable. Rules about two flags together are in agent-flags.ts.
 */

import { isAbsolute } from 'node:path'
import { defined } from '../../base/defined.ts'
import { refusedValue } from '../../base/refused-value.ts'
import type { AgentSettings, PrintForm } from '../../cluster/decisions/agent-settings.ts'
import { type CloudBalancers, cloudBalancers } from '../../cluster/decisions/dns/cloud-balancers.ts'
import { parseAddress } from '../../wire/address.ts'
import type { Given } from './agent-flag-list.ts'

export type AgentEnvironment = Readonly<Record<string, string | undefined>>

const LOG_FORMATS = ['json', 'text', 'journald'] as const
const FORMS: readonly PrintForm[] = ['yaml', 'keepalived', 'both']
const SHORTEST = 100
const LONGEST = 3_600_000
const UNIT: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 }

/** Reads the values of the command line, and collects the problems of these values. */
export class AgentValues {
  readonly problems: string[] = []
  readonly #given: readonly Given[]

  constructor(given: readonly Given[]) {
    this.#given = given
  }

  problem(text: string): void {
    this.problems.push(text)
  }

  all(long: string): readonly string[] {
    return this.#given.flatMap(({ flag, value }) => (flag.long === long && value !== undefined ? [value] : []))
  }

  /** Returns the last value of a flag; if a flag is repeated, the last value counts. */
  last(long: string): string | undefined {
    return this.all(long).at(-1)
  }

  has(long: string): boolean {
    return this.#given.some(({ flag }) => flag.long === long)
  }

  /** Returns the VIPs of a service from the command line. `--api-vips` counts before the older `--api-vip`. */
  vips(service: 'api' | 'ingress', notes: string[]): readonly string[] {
    const list = this.list(`${service}-vips`)
    const single = this.last(`${service}-vip`) || undefined
    if (single === undefined) return list
    if (list.length === 0) return [single]
    if (!list.includes(single)) notes.push(`--${service}-vip ${single} is ignored, because --${service}-vips is given`)
    return list
  }

  /** Returns the values of a flag that are separated by commas. */
  list(long: string): readonly string[] {
    return this.all(long).flatMap((text) => (text === '' ? [] : text.split(',').map((one) => one.trim())))
  }

  /** Returns the load balancers of a cloud from the command line; empty on a platform with VIPs. */
  cloud(platform: string): readonly CloudBalancers[] {
    const { balancers, problems } = cloudBalancers(platform, {
      'cloud-ext-lb-ips': this.list('cloud-ext-lb-ips'),
      'cloud-int-lb-ips': this.list('cloud-int-lb-ips'),
      'cloud-ingress-lb-ips': this.list('cloud-ingress-lb-ips'),
    })
    for (const problem of problems) this.problem(problem)
    return balancers
  }

  address(long: string): void {
    const text = this.last(long)
    if (text !== undefined && parseAddress(text) === undefined)
      this.problem(refusedValue(`--${long}`, text, 'an IP address'))
  }

  whole(long: string, least: number, most: number): number | undefined {
    const text = this.last(long)
    if (text === undefined) return undefined
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
    if (value >= least && value <= most) return value
    this.problem(refusedValue(`--${long}`, text, `an integer from ${least} to ${most}`))
    return undefined
  }

  /** Returns a duration in milliseconds, written as in Go: 10s, 1m30s, 500ms. */
  duration(long: string): number | undefined {
    const text = this.last(long)
    if (text === undefined) return undefined
    const parts = /^(?:\d{1,7}(?:\.\d{1,3})?(?:ms|s|m|h))+$/.test(text) ? [...text.matchAll(/([\d.]+)(ms|s|m|h)/g)] : []
    const value = parts.reduce((sum, [, amount, unit]) => sum + Number(amount) * (UNIT[unit ?? ''] ?? Number.NaN), 0)
    if (parts.length > 0 && value >= SHORTEST && value <= LONGEST) return Math.round(value)
    this.problem(refusedValue(`--${long}`, text, 'a duration from 100ms to 1h, such as 10s'))
    return undefined
  }

  path(text: string | undefined, what: string): string | undefined {
    if (text !== undefined && !isAbsolute(text)) this.problem(refusedValue(what, text, 'an absolute path'))
    return text
  }

  listen(): AgentSettings['listen'] {
    const text = this.last('listen')
    if (text === undefined) return undefined
    const [, host = '', port = ''] =
      /^(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/.exec(text)?.filter((part) => part !== undefined) ?? []
    if (parseAddress(host) !== undefined && Number(port) >= 1 && Number(port) <= 65_535)
      return { host, port: Number(port) }
    this.problem(refusedValue('--listen', text, 'ADDRESS:PORT, such as 127.0.0.1:9656'))
    return undefined
  }

  clusterName(): string | undefined {
    const text = this.last('name')
    if (text !== undefined && !/^[a-z0-9](?:[a-z0-9.-]{0,51}[a-z0-9])?$/.test(text))
      this.problem(refusedValue('--name', text, 'the name of the cluster, up to 53 letters, digits, "-" and "."'))
    return text
  }

  vrids(): AgentSettings['vrids'] {
    const api = this.whole('api-vrid', 1, 255)
    const ingress = this.whole('ingress-vrid', 1, 255)
    if (api !== undefined && api === ingress) this.problem(`API and ingress cannot both have VRID ${api}`)
    return defined({ api, ingress })
  }

  yesOrNo(environment: AgentEnvironment, name: string, unsaid = false): boolean {
    const text = (environment[name] ?? '').toLowerCase()
    if (!['', 'yes', 'no', 'true', 'false'].includes(text))
      this.problem(refusedValue(`environment variable ${name}`, environment[name], 'yes or no'))
    return text === '' ? unsaid : text === 'yes' || text === 'true'
  }

  logFormat(): AgentSettings['logFormat'] {
    const text = this.last('log-format')
    if (text === undefined) return this.has('json') ? 'json' : undefined
    const format = LOG_FORMATS.find((each) => each === text)
    if (format === undefined) this.problem(refusedValue('--log-format', text, 'json, text or journald'))
    return format
  }

  form(): PrintForm | undefined {
    if (!this.has('print')) return undefined
    const text = this.last('print')
    const form = FORMS.find((each) => each === (text ?? 'both'))
    if (form === undefined) this.problem(refusedValue('--print', text, 'yaml, keepalived or both'))
    return form
  }
}
