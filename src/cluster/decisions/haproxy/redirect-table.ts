/**
 * Reads the nftables table of the API's redirect, as `nft -j` lists it. This file decides which rules belong to a monitor
 * of HAProxy (by their comment, as upstream's monitor does), and whether the table has content of other programs.
 */
import { REDIRECT_TABLE } from '../status/load-balancer-rule.ts'

export const REDIRECT_COMMENT = 'OCP_API_LB_REDIRECT'
/** Set of the VIPs whose redirect is confirmed. The elements of the set expire, so that rules without a monitor end. */
export const CONFIRMED_SET = 'ocp_api_confirmed'

export const REDIRECT_CHAINS = { ocp_prerouting: 'prerouting', ocp_output: 'output' } as const
export type RedirectChain = keyof typeof REDIRECT_CHAINS
const PRIORITY = -100

export type TableRule = { readonly chain: RedirectChain; readonly handle: number }

export type RedirectTable = {
  /** False if the table does not exist. */
  readonly exists: boolean
  /** Rules of a monitor. */
  readonly rules: readonly TableRule[]
  /** Rules, chains and sets of other programs, as text. */
  readonly others: readonly string[]
  /** Chains with a name of the monitor's but another hook: no rule can be added. */
  readonly unusable: readonly string[]
  readonly hasSet: boolean
}

export const NO_TABLE: RedirectTable = { exists: false, rules: [], others: [], unusable: [], hasSet: false }

/** Reads a listing of the table; `undefined` if the text is not such a listing. */
export function readRedirectTable(listing: string): RedirectTable | undefined {
  const items = itemsIn(listing)
  if (items === undefined) return undefined
  const rules: TableRule[] = []
  const others: string[] = []
  const unusable: string[] = []
  let hasSet = false
  for (const item of items) {
    const [rule, chain, set] = [field(item, 'rule'), field(item, 'chain'), field(item, 'set') ?? field(item, 'map')]
    if (rule !== undefined) {
      const read = ruleIn(rule)
      if (typeof read === 'string') others.push(read)
      else rules.push(read)
    } else if (chain !== undefined) {
      const name = String(field(chain, 'name'))
      if (!isRedirectChain(name)) others.push(`chain ${name}`)
      else if (!isAsExpected(name, chain)) unusable.push(name)
    } else if (set !== undefined) {
      const name = String(field(set, 'name'))
      if (name === CONFIRMED_SET) hasSet = true
      else others.push(`set ${name}`)
    }
  }
  return { exists: true, rules, others, unusable, hasSet }
}

function ruleIn(rule: unknown): TableRule | string {
  const chain = String(field(rule, 'chain'))
  const handle = field(rule, 'handle')
  const isOurs = field(rule, 'comment') === REDIRECT_COMMENT && typeof handle === 'number' && isRedirectChain(chain)
  return isOurs ? { chain, handle } : `rule ${String(handle)} of chain ${chain}`
}

const isRedirectChain = (name: string): name is RedirectChain => Object.hasOwn(REDIRECT_CHAINS, name)

const isAsExpected = (name: RedirectChain, chain: unknown): boolean =>
  field(chain, 'type') === 'nat' && field(chain, 'hook') === REDIRECT_CHAINS[name] && field(chain, 'prio') === PRIORITY

function itemsIn(listing: string): readonly unknown[] | undefined {
  try {
    const items = field(JSON.parse(listing), 'nftables')
    return Array.isArray(items) ? items : undefined
  } catch {
    return undefined
  }
}

const field = (value: unknown, key: string): unknown =>
  typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined

/** Family of a table as nft names it: `ip` or `ip6`. */
export type TableFamily = 'ip' | 'ip6'
export const tableOf = (family: TableFamily): string => `${family} ${REDIRECT_TABLE}`
