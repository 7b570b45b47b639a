/**
 * Tests whether traffic to the API's address goes to the node's own load balancer: both rules of HAProxy's monitor, as
 * `nft -j` lists their table. A rule is recognised by its effect (destination, port, target), not by its comment. This
 * file runs no program.
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
  return CHAINS.every((chain) => rules.flat().some((rule) => rule?.chain === chain && leads(rule.expr, redirect)))
}

type Rule = { readonly chain: unknown; readonly expr: readonly unknown[] }

function rulesIn(text: string): readonly Rule[] | undefined {
  let listing: unknown
  try {
    listing = JSON.parse(text)
  } catch {
    return undefined
  }
  const items = field(listing, 'nftables')
  if (!Array.isArray(items)) return undefined
  return items.flatMap((item: unknown) => {
    const rule = field(item, 'rule')
    const expr = field(rule, 'expr')
    return Array.isArray(expr) ? [{ chain: field(rule, 'chain'), expr }] : []
  })
}

function leads(expr: readonly unknown[], { vip, apiPort, lbPort }: Redirect): boolean {
  const matches = (name: string, wanted: string | number) =>
    expr.some((each) => {
      const match = field(each, 'match')
      const left = field(field(match, 'left'), 'payload')
      return field(left, 'field') === name && field(match, 'op') === '==' && field(match, 'right') === wanted
    })
  const target = expr.some((each) =>
    [field(each, 'dnat'), field(each, 'redirect')].some((to) => field(to, 'port') === lbPort),
  )
  return matches('daddr', vip) && matches('dport', apiPort) && target
}

const field = (value: unknown, key: string): unknown =>
  typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined
