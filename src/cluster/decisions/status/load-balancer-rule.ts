/**
 * Whether the API's address is led to the node's own load balancer: both rules of HAProxy's monitor, as `nft -j` lists their
 * table. Judged by what a rule does (destination, port, where to), not by its comment. Refuses to run anything.
 */
import type { Address } from '../../../wire/address.ts'

export const REDIRECT_TABLE = 'ocp_nat'
/** For what arrives, and for what this node asks itself. */
const CHAINS = ['ocp_prerouting', 'ocp_output']

export type Redirect = { readonly vip: Address; readonly apiPort: number; readonly lbPort: number }

/** `listings`: what nft said of the table in each family that has it. Undefined: it said something else than a listing. */
export function redirectStands(listings: readonly string[], redirect: Redirect): boolean | undefined {
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
