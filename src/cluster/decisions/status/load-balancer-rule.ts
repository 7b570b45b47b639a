/**
 * Tests whether traffic to the API's address goes to the node's own load balancer: both rules of HAProxy's monitor, as
 * `nft -j` lists their table. A rule is recognised by its effect (destination, port, target), not by its comment. A rule
 * that asks for an element of a set has an effect only while the set has the element. This file runs no program.
 */
import type { Address } from '../../../wire/address.ts'

export const REDIRECT_TABLE = 'ocp_nat'
/** Chains for incoming traffic, and for traffic from this node. */
const CHAINS = ['ocp_prerouting', 'ocp_output']

export type Redirect = { readonly vip: Address; readonly apiPort: number; readonly lbPort: number }

/**
 * Tells whether both rules of the load balancer exist. `listings`: output of `nft list table` for each family that has
 * the table. `undefined` if a text is not such output.
 */
export function redirectExists(listings: readonly string[], redirect: Redirect): boolean | undefined {
  const rules = listings.map(rulesIn)
  if (rules.includes(undefined)) return undefined
  return CHAINS.every((chain) => rules.flat().some((rule) => rule?.chain === chain && leads(rule, redirect)))
}

type Sets = ReadonlyMap<string, readonly unknown[]>
type Rule = { readonly chain: unknown; readonly expr: readonly unknown[]; readonly sets: Sets }

function rulesIn(text: string): readonly Rule[] | undefined {
  let listing: unknown
  try {
    listing = JSON.parse(text)
  } catch {
    return undefined
  }
  const items = field(listing, 'nftables')
  if (!Array.isArray(items)) return undefined
  const sets: Sets = new Map(items.flatMap((item: unknown) => setIn(field(item, 'set'))))
  return items.flatMap((item: unknown) => {
    const rule = field(item, 'rule')
    const expr = field(rule, 'expr')
    return Array.isArray(expr) ? [{ chain: field(rule, 'chain'), expr, sets }] : []
  })
}

/** Returns a set with its elements. nft does not list an element whose time is over. */
function setIn(set: unknown): [string, readonly unknown[]][] {
  if (set === undefined) return []
  const elements = field(set, 'elem')
  const values = Array.isArray(elements)
    ? elements.map((element: unknown) => field(field(element, 'elem'), 'val') ?? element)
    : []
  return [[String(field(set, 'name')), values]]
}

function leads({ expr, sets }: Rule, { vip, apiPort, lbPort }: Redirect): boolean {
  const wantedOf = (name: string): readonly unknown[] =>
    expr.flatMap((each) => {
      const match = field(each, 'match')
      const left = field(field(match, 'left'), 'payload')
      return field(left, 'field') === name && field(match, 'op') === '==' ? [field(match, 'right')] : []
    })
  const isMet = (asked: unknown, value: string | number): boolean =>
    typeof asked === 'string' && asked.startsWith('@')
      ? sets.get(asked.slice(1))?.includes(value) === true
      : asked === value
  const matches = (name: string, value: string | number) => {
    const asked = wantedOf(name)
    return asked.length > 0 && asked.every((each) => isMet(each, value))
  }
  const target = expr.some((each) =>
    [field(each, 'dnat'), field(each, 'redirect')].some((to) => field(to, 'port') === lbPort),
  )
  return matches('daddr', vip) && matches('dport', apiPort) && target
}

const field = (value: unknown, key: string): unknown =>
  typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined
