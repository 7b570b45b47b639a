/**
 * Lists the keys whose values differ between two configurations, as text for people: `priority 150 → 110`. Values that
 * may be secrets are left out. The effect of a difference is decided in diff.ts.
 */
import { type Check, nameOf } from './checks.ts'
import type { Config } from './config.ts'
import { formatDuration } from './schema/duration.ts'
import { isDurationKey, isSecret } from './text/schema-problem.ts'

export type ValueChange = {
  /** Section of the changed key; `null` for a key at the top of the configuration. */
  readonly section: 'virtualRouters' | 'syncGroups' | 'healthchecks' | null
  /** Name of the router, group or check with the changed key; `null` for a key at the top of the configuration. */
  readonly name: string | null
  /** Path of the changed key in its section, such as `announce.refresh`. */
  readonly key: string
  /** Old value of the key, and in `to` the new one. `from` and `to` are `null` if they may be secrets. */
  readonly from: string | null
  readonly to: string | null
}

type Entry = { readonly name: string }
type Keys = Readonly<Record<string, unknown>>

const LONGEST = 60

/**
 * Returns the differences in the configuration itself, and in routers, groups and checks that both configurations have.
 */
export function valueChanges(old: Config, next: Config): readonly ValueChange[] {
  const { virtualRouters: _, syncGroups: __, healthchecks: ___, ...before } = old
  const { virtualRouters: ____, syncGroups: _____, healthchecks: ______, ...after } = next
  return [
    ...changesIn({ section: null, name: null }, before, after),
    ...inBoth('virtualRouters', old.virtualRouters, next.virtualRouters),
    ...inBoth('syncGroups', old.syncGroups, next.syncGroups),
    ...inBoth('healthchecks', old.healthchecks.map(written), next.healthchecks.map(written)),
  ]
}

function inBoth(section: ValueChange['section'], old: readonly Entry[], next: readonly Entry[]): ValueChange[] {
  const before = new Map(old.map((entry) => [entry.name, entry]))
  return next.flatMap((entry) => {
    const then = before.get(entry.name)
    return then === undefined ? [] : changesIn({ section, name: entry.name }, then, entry)
  })
}

type EntryName = Pick<ValueChange, 'section' | 'name'>

function changesIn(entry: EntryName, before: Keys, after: Keys, above: readonly string[] = []): ValueChange[] {
  return [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((key): ValueChange[] => {
    const [then, now] = [before[key], after[key]]
    if (JSON.stringify(then) === JSON.stringify(now)) return []
    const path = [...above, key]
    if (isMapping(then) && isMapping(now)) return changesIn(entry, then, now, path)
    const hidden = isSecret([...(entry.section === null ? [] : [entry.section]), ...path])
    const [from, to] = hidden ? [null, null] : [shown(key, then), shown(key, now)]
    return [{ ...entry, key: path.join('.'), from, to }]
  })
}

const isMapping = (value: unknown): value is Keys =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function shown(key: string, value: unknown): string {
  const text = textOf(key, value)
  return text.length > LONGEST ? `${text.slice(0, LONGEST - 3)}...` : text
}

function textOf(key: string, value: unknown): string {
  if (value === undefined) return 'default'
  if (Array.isArray(value)) return `[${value.map((each) => textOf(key, each)).join(', ')}]`
  if (typeof value === 'number' && isDurationKey(key)) return formatDuration(value)
  if (!isMapping(value)) return String(value)
  const { address, healthcheck, host, interface: link, port, prefixLength, priority, weight } = value
  if (healthcheck !== undefined || (link !== undefined && address === undefined))
    return `${healthcheck ?? link} ${weight}`
  if (host !== undefined) return `${host} ${port}`
  if (address === undefined) return Object.keys(value).join(', ')
  return `${address}${prefixLength === undefined ? '' : `/${prefixLength}`}${priority === undefined ? '' : ` (${priority})`}`
}

/** Returns a health check with its keys as in the configuration file. */
function written(check: Check): Entry & Keys {
  const name = nameOf(check)
  if (check.kind === 'combination') return { name, [check.mode]: check.members }
  const { cadence, probe, rule, timeout } = check.spec
  const common = { name, timeout, ...cadence, ...rule }
  if (probe.kind === 'http') {
    const { kind: _, url, ...rest } = probe
    return { ...common, ...rest, http: url }
  }
  if (probe.kind === 'tcp') {
    const { kind: _, host, port, ...rest } = probe
    return { ...common, ...rest, tcp: `${host} ${port}` }
  }
  if (probe.kind === 'exec') {
    const { kind: _, argv, ...rest } = probe
    return { ...common, ...rest, exec: argv }
  }
  if (probe.kind === 'file') {
    const { kind: _, path, ...rest } = probe
    return { ...common, ...rest, file: path }
  }
  const { kind: _, name: process, ...rest } = probe
  return { ...common, ...rest, process }
}

/** Returns the text of a changed value, such as `priority 150 → 110`; only the key if the values may be secrets. */
export const changeText = ({ from, key, to }: ValueChange): string =>
  from === null ? `${key} changed` : `${key} ${from} → ${to}`

/** Returns the changes of a router, group or check in brackets; an empty text if nothing changed. */
export function changesText(values: readonly ValueChange[], section: ValueChange['section'], name: string): string {
  const own = values.filter((value) => value.section === section && value.name === name)
  return own.length === 0 ? '' : ` (${own.map(changeText).join(', ')})`
}

/** Returns the changes of all sync groups in brackets: `(web: members [a] → [a, b])`. */
export function groupsText(values: readonly ValueChange[]): string {
  const own = values.filter(({ section }) => section === 'syncGroups')
  return own.length === 0 ? '' : ` (${own.map((value) => `${value.name}: ${changeText(value)}`).join(', ')})`
}

/**
 * Returns the changes of keys that belong to no router, group or check, such as `log.level info → debug`. The keys in
 * `except` are left out.
 */
export const ownTexts = (values: readonly ValueChange[], except: readonly string[]): string[] =>
  values
    .filter(({ section, key }) => section === null && !except.some((path) => isUnder(key, path)))
    .map((value) => changeText(value))

/** Tells whether a configuration key is `path`, or a key inside `path`. */
export const isUnder = (key: string, path: string): boolean => key === path || key.startsWith(`${path}.`)
