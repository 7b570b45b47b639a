/**
 * The record with which the next engine adopts the addresses of the one before (docs/adr/0088), and its text. This file
 * decides only the format. A text of another form is no record: an engine of another version wrote it.
 */

/**
 * Number of the form of the text. The number changes if an engine with the old number would misunderstand the new text.
 */
const FORMAT = 1

/** An Active that leaves its advertisements to the guardian's clock. */
export type RouterRecord = {
  readonly name: string
  /** Name of the sync group; absent for a router without one. */
  readonly group?: string
  readonly unit: number
  readonly slot: number
  readonly generation: number
  /** Time since which the router is Active. */
  readonly since: number
  readonly interfaceName: string
  readonly interfaceIndex: number
  readonly mac: string
  readonly carrierChanges: number
  readonly source: string
  readonly priority: number
}

/** Result of a health check. `weight` is the number in the file, for a check of a file of weights only. */
export type CheckRecord = {
  readonly check: string
  readonly result: 'up' | 'down'
  readonly since: number
  /** Time of the last report before the record was written. */
  readonly heardAt: number
  readonly weight?: number
}

export type RestartRecord = {
  /** Version of the engine that wrote the record. */
  readonly version: string
  /** File and hash of the configuration in force. */
  readonly identity: string
  readonly routers: readonly RouterRecord[]
  readonly checks: readonly CheckRecord[]
}

type Form = Readonly<Record<string, 'string' | 'number' | 'optional string' | 'optional number'>>

const ROUTER: Form = {
  ...{ name: 'string', group: 'optional string', unit: 'number', slot: 'number', generation: 'number' },
  ...{ since: 'number', interfaceName: 'string', interfaceIndex: 'number', mac: 'string', carrierChanges: 'number' },
  ...{ source: 'string', priority: 'number' },
}
const CHECK: Form = { check: 'string', result: 'string', since: 'number', heardAt: 'number', weight: 'optional number' }

/** Returns the text by which a new process recognizes that it would read the same configuration. */
export const identityText = (file: string, hash: string): string => `${hash} ${file}`

export const writeRecord = (record: RestartRecord): string => JSON.stringify({ format: FORMAT, ...record })

/** Returns `undefined` if the text is no record. */
export function readRecord(text: string): RestartRecord | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return isRecord(value) ? value : undefined
  } catch {
    return undefined
  }
}

function isRecord(value: unknown): value is RestartRecord {
  if (!isObject(value) || value.format !== FORMAT) return false
  if (typeof value.identity !== 'string' || typeof value.version !== 'string') return false
  const { checks, routers } = value
  return isListOf(routers, ROUTER) && isListOf(checks, CHECK) && checks.every(({ result }) => isResult(result))
}

const isResult = (value: unknown): boolean => value === 'up' || value === 'down'

type Fields = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is Fields => typeof value === 'object' && value !== null

const isListOf = (value: unknown, form: Form): value is readonly Fields[] =>
  Array.isArray(value) && value.every((each: unknown) => isObject(each) && hasForm(each, form))

const hasForm = (value: Fields, form: Form): boolean =>
  Object.entries(form).every(([name, type]) => {
    const kind = typeof value[name]
    return kind === type || type === `optional ${kind}` || (kind === 'undefined' && type.startsWith('optional'))
  })
