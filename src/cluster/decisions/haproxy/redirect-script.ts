/**
 * Writes the nft commands that add, confirm and remove the redirect of the API to HAProxy. An nft script is one
 * transaction of the kernel: all or nothing. This file decides the rules, which are those of upstream's monitor; with a
 * lifetime, a rule also needs its VIP in a set whose elements expire. Rules of other programs are never removed.
 */
import type { Address } from '../../../wire/address.ts'
import { REDIRECT_TABLE } from '../status/load-balancer-rule.ts'
import {
  CONFIRMED_SET,
  REDIRECT_CHAINS,
  REDIRECT_COMMENT,
  type RedirectChain,
  type RedirectTable,
  type TableFamily,
  tableOf,
} from './redirect-table.ts'

export type RedirectPlan = {
  readonly family: TableFamily
  /** VIPs of the API in this family. */
  readonly vips: readonly Address[]
  readonly apiPort: number
  readonly lbPort: number
  /** Seconds after which a rule ends unless it is confirmed; `undefined`: never. */
  readonly lifetime: number | undefined
}

const CHAINS: readonly RedirectChain[] = ['ocp_prerouting', 'ocp_output']

/** Returns the commands that replace the rules in `found` by those of the plan. */
export function installScript(plan: RedirectPlan, found: RedirectTable): string {
  const table = tableOf(plan.family)
  const chains = CHAINS.map(
    (chain) => `add chain ${table} ${chain} { type nat hook ${REDIRECT_CHAINS[chain]} priority -100; policy accept; }`,
  )
  const rules = plan.vips.flatMap((vip) =>
    CHAINS.map((chain) => `insert rule ${table} ${chain} ${ruleOf(plan, chain, vip)}`),
  )
  return [`add table ${table}`, ...chains, ...deletions(plan.family, found), ...setOf(plan, found), ...rules].join('\n')
}

/** Returns the commands that let the rules of the plan live on; empty if they live for ever. */
export function confirmScript(plan: RedirectPlan): string {
  const { family, vips, lifetime } = plan
  if (lifetime === undefined) return ''
  const elements = vips.map((vip) => `${vip} timeout ${lifetime}s`).join(', ')
  const set = `${tableOf(family)} ${CONFIRMED_SET}`
  // Adding an element that exists does not change its timeout.
  return [`flush set ${set}`, `add element ${set} { ${elements} }`].join('\n')
}

/** Returns the commands that remove the rules in `found`; empty if there are none. */
export const removeScript = (family: TableFamily, found: RedirectTable): string => deletions(family, found).join('\n')

/**
 * Returns the commands that remove the monitor's chains, set and table after its rules; empty if others use the table.
 * If a chain still has rules, nft refuses all commands.
 */
export function tidyScript(family: TableFamily, { exists, others, unusable, hasSet }: RedirectTable): string {
  if (!exists || unusable.length > 0 || others.length > 0) return ''
  const table = tableOf(family)
  // Adding a chain that exists changes nothing. Removing a chain that does not exist is refused.
  const chains = CHAINS.flatMap((chain) => [`add chain ${table} ${chain}`, `delete chain ${table} ${chain}`])
  return [...chains, ...(hasSet ? [`delete set ${table} ${CONFIRMED_SET}`] : []), `delete table ${table}`].join('\n')
}

function setOf(plan: RedirectPlan, { hasSet }: RedirectTable): readonly string[] {
  // The deletions before have removed the rules that use the set.
  if (plan.lifetime === undefined) return hasSet ? [`delete set ${tableOf(plan.family)} ${CONFIRMED_SET}`] : []
  const type = plan.family === 'ip' ? 'ipv4_addr' : 'ipv6_addr'
  return [`add set ${tableOf(plan.family)} ${CONFIRMED_SET} { type ${type}; flags timeout; }`, confirmScript(plan)]
}

function ruleOf({ family, apiPort, lbPort, lifetime }: RedirectPlan, chain: RedirectChain, vip: Address): string {
  const confirmed = lifetime === undefined ? '' : ` ${family} daddr @${CONFIRMED_SET}`
  const target = family === 'ip' ? `${vip}:${lbPort}` : `[${vip}]:${lbPort}`
  const act = chain === 'ocp_output' ? `oifname "lo" redirect to :${lbPort}` : `dnat to ${target}`
  return `${family} daddr ${vip}${confirmed} tcp dport ${apiPort} ${act} comment "${REDIRECT_COMMENT}"`
}

const deletions = (family: TableFamily, { rules }: RedirectTable): readonly string[] =>
  rules.map(({ chain, handle }) => `delete rule ${family} ${REDIRECT_TABLE} ${chain} handle ${handle}`)
