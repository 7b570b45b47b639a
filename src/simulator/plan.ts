/**
 * Reads a scenario that a person has written (docs/simulate.md): nodes with their configurations, and faults with their
 * times. The text of a scenario becomes a value, or a list of all its problems with their positions. This file decides
 * the keys and names of a scenario, and the values that each kind of fault needs. Pure: the caller reads the
 * configuration files.
 */

import * as z from 'zod'
import { defined } from '../base/defined.ts'
import { type Locate, type Problem, problemAt } from '../config/problem.ts'
import { parseDuration } from '../config/schema/duration.ts'
import { duration, itemName, list, networkAddress, oneOf, section, whole } from '../config/schema/field.ts'
import { type ReadDocument, readDocument } from '../config/text/document.ts'
import { schemaProblems } from '../config/text/schema-problem.ts'
import { type DaemonKind, FAULT_KINDS, type Fault, type FaultKind } from './scenario.ts'

const HOUR = 3_600_000
const OF_THE_LAN: ReadonlySet<FaultKind> = new Set(['loss', 'delay', 'duplicates'])
/** Kinds of faults without a duration. */
const MOMENTARY: ReadonlySet<FaultKind> = new Set(['clock step', 'VIP deleted'])

const nodeSchema = section(
  {
    name: itemName(),
    daemon: oneOf('holdfast', 'keepalived').optional(),
    address: networkAddress().optional(),
    addresses: list(networkAddress(), 'a list of addresses').optional(),
    configuration: z.union([z.string(), z.record(z.string(), z.unknown())], {
      error: 'the name of a file, or a configuration',
    }),
    startsAt: duration(0, HOUR).optional(),
    drift: whole(-1_000, 1_000).optional(),
  },
  'a mapping with name, address and configuration',
)
const faultSchema = section(
  {
    at: duration(0, HOUR),
    kind: oneOf(...FAULT_KINDS),
    for: duration(0, HOUR).optional(),
    node: itemName().optional(),
    amount: z.union([z.string(), z.number()], { error: 'a share, a duration or a priority' }).optional(),
    checks: list(itemName(), 'a list of names of checks').optional(),
  },
  'a mapping with at and kind',
)
const planSchema = section(
  {
    version: z.literal(1, { error: '1, the only version of this format' }).default(1),
    nodes: list(nodeSchema, 'a list of nodes').min(1, { error: 'at least one node' }),
    faults: list(faultSchema, 'a list of faults').optional(),
    duration: duration(1, 24 * HOUR).optional(),
    seed: whole(0, 2 ** 31 - 1).optional(),
    lateness: duration(0, 1_000).optional(),
    expect: section({ outage: duration(0, HOUR) }, 'a mapping with outage').optional(),
  },
  'a mapping with nodes and faults',
)

export type PlannedNode = {
  readonly name: string
  /**
   * Daemon of the node. `keepalived` stands for a model of keepalived; `configuration` then names a keepalived file.
   */
  readonly daemon: DaemonKind
  /** The node's own addresses with their prefix lengths. */
  readonly addresses: readonly string[]
  readonly startsAt: number
  /** Parts per million by which the node's clock is fast. */
  readonly drift: number
  /** Name of the node's configuration file, or the content of a configuration file as a value. */
  readonly configuration: string | Readonly<Record<string, unknown>>
}

export type Plan = {
  readonly nodes: readonly PlannedNode[]
  readonly faults: readonly Fault[]
  /** Duration of the simulation in milliseconds; `undefined`: until the last fault can have no more effect. */
  readonly ms: number | undefined
  readonly seed: number
  readonly lateness: number
  /** Longest time in ms for which the service may be unreachable; `undefined`: no limit. */
  readonly outage: number | undefined
}

export type ReadPlan = { readonly plan: Plan; readonly locate: Locate } | { readonly problems: readonly Problem[] }

export function readPlan(text: string, file: string): ReadPlan {
  const document = readDocument(text, file)
  const { locate, problems: syntax, value, wellFormed } = document
  if (!wellFormed || syntax.length > 0) return { problems: syntax }
  const parsed = planSchema.safeParse(value)
  const vocabulary = { schema: () => z.toJSONSchema(planSchema, { io: 'input' }), nameOf: () => undefined }
  if (!parsed.success) return { problems: schemaProblems(parsed.error.issues, value, locate, vocabulary) }
  return checked(parsed.data, document)
}

type Written = z.output<typeof planSchema>

function checked(written: Written, { locate }: ReadDocument): ReadPlan {
  const problems: Problem[] = []
  const names = new Set<string>()
  const keepalived = new Set(written.nodes.filter(({ daemon }) => daemon === 'keepalived').map(({ name }) => name))
  for (const [i, { address, addresses, configuration, daemon, name }] of written.nodes.entries()) {
    const refuse = (key: string, message: string) =>
      problems.push(problemAt(locate, ['nodes', i, key], 'error', `nodes[${i}].${key}: ${message}`))
    if (names.has(name)) refuse('name', `"${name}" is used twice, expected another name`)
    names.add(name)
    if ((address === undefined) === (addresses === undefined))
      refuse('address', 'expected either "address" or "addresses"')
    if (daemon === 'keepalived' && typeof configuration !== 'string')
      refuse('configuration', `keepalived on ${name} cannot run a holdfast document, expected the name of its file`)
    for (const each of [...(addresses ?? []), ...(address === undefined ? [] : [address])])
      if (each.prefixLength === undefined)
        refuse('address', `${each.address} has no prefix length, expected an address like 10.0.0.1/24`)
  }
  const faults = (written.faults ?? []).map((fault, i): Fault => {
    const reading = faultFrom(fault, names, keepalived)
    for (const [key, message] of reading.problems)
      problems.push(problemAt(locate, ['faults', i, key], 'error', `faults[${i}].${key}: ${message}`))
    return reading.fault
  })
  if (problems.length > 0) return { problems }
  const nodes = written.nodes.map(({ address, addresses, daemon = 'holdfast', ...node }) => ({
    ...{ name: node.name, daemon, configuration: node.configuration },
    ...{ drift: node.drift ?? 0, startsAt: node.startsAt ?? 0 },
    addresses: [...(addresses ?? []), ...(address === undefined ? [] : [address])].map(
      (each) => `${each.address}/${each.prefixLength}`,
    ),
  }))
  const { lateness = 1, seed = 1 } = written
  return { plan: { nodes, faults, ms: written.duration, seed, lateness, outage: written.expect?.outage }, locate }
}

type FaultReading = { readonly fault: Fault; readonly problems: readonly (readonly [string, string])[] }

function faultFrom(
  { amount, at, checks, for: lasts, kind, node }: NonNullable<Written['faults']>[number],
  names: ReadonlySet<string>,
  keepalived: ReadonlySet<string>,
): FaultReading {
  const problems: [string, string][] = []
  if (OF_THE_LAN.has(kind) && node !== undefined)
    problems.push(['node', `"${kind}" concerns the whole LAN, expected no node`])
  if (!OF_THE_LAN.has(kind) && (node === undefined || !names.has(node))) {
    const wrong = node === undefined ? 'required' : `there is no node "${node}"`
    problems.push(['node', `${wrong}, expected one of ${[...names].join(', ')}`])
  }
  if (kind === 'yield' && node !== undefined && keepalived.has(node))
    problems.push(['kind', `keepalived on ${node} cannot yield, expected another fault`])
  if (checks !== undefined && kind !== 'service down')
    problems.push(['checks', `"${kind}" has no checks, expected "service down"`])
  if (MOMENTARY.has(kind) && lasts !== undefined)
    problems.push(['for', `"${kind}" has no duration, because it is over immediately`])
  if (!MOMENTARY.has(kind) && lasts === undefined) problems.push(['for', `required for "${kind}", a duration like 10s`])
  const value = amountFrom(kind, amount)
  if (typeof value === 'string') problems.push(['amount', value])
  const fault = {
    ...{ at, kind, ms: lasts ?? 0 },
    ...defined({ node, checks }),
    ...(typeof value === 'number' ? { amount: value } : {}),
  }
  return { fault, problems }
}

/**
 * Returns the amount of a fault (its key `amount`) in the unit of the simulation. Returns an error text for a wrong
 * value, and `undefined` for a kind of fault without an amount.
 */
function amountFrom(kind: FaultKind, amount: string | number | undefined): number | string | undefined {
  const text = String(amount ?? '')
  const refuse = (accepted: string) =>
    amount === undefined ? `required for "${kind}", ${accepted}` : `cannot use "${text}", expected ${accepted}`
  switch (kind) {
    case 'loss':
    case 'duplicates': {
      const [, digits] = /^(\d{1,3}(?:\.\d+)?)%$/.exec(text) ?? []
      const share = Number(digits) / 100
      return share > 0 && share <= 1 ? share : refuse('a share like 20%')
    }
    case 'delay':
      return parseDuration(text) ?? refuse('a duration like 20ms')
    case 'clock step': {
      const value = parseDuration(text.replace(/^[+-]/, ''))
      return value === undefined ? refuse('a duration like 1h or -90s') : text.startsWith('-') ? -value : value
    }
    case 'demoted': {
      const priority = Number(text)
      return Number.isInteger(priority) && priority >= 1 && priority <= 254
        ? priority
        : refuse('a priority from 1 to 254')
    }
    default:
      return amount === undefined ? undefined : `"${kind}" has no amount`
  }
}
