/**
 * Represents the states of a node's virtual routers at one moment, as the daemon reports them. This file decides how
 * the states are read from keepalived's log. A router that changed its state and changed back counts as changed. Pure.
 */

/** State of a virtual router, number of its state changes so far, and reason of its last change. */
export type RouterState = { readonly state: string; readonly changes: number; readonly why: string }
export type Sight = ReadonlyMap<string, RouterState>

const STATES: Readonly<Record<string, string>> = { MASTER: 'Active', BACKUP: 'Backup' }

/**
 * Returns the states of the routers, from the lines of keepalived's log. Lines about other states than Backup, Active
 * and fault are ignored.
 */
export function sightOfLog(lines: readonly string[]): Sight {
  const sight = new Map<string, RouterState>()
  for (const text of lines) {
    const [, router, word = ''] = /\((\w+)\) Entering (\w+) STATE/.exec(text) ?? []
    if (router === undefined) continue
    const changes = (sight.get(router)?.changes ?? 0) + 1
    sight.set(router, { state: STATES[word] ?? 'Initialize', changes, why: word })
  }
  return sight
}

export const changesIn = (sight: Sight): number => [...sight.values()].reduce((sum, { changes }) => sum + changes, 0)

/**
 * Returns what is wrong with a node whose routers should all be in one state; `undefined` if nothing is wrong. A small
 * number of takeovers on a busy machine cost little in a minute. A group is not idle if it has more than one takeover
 * for each router in ten seconds.
 */
export function troubleIn(
  role: string,
  routers: number,
  now: Sight,
  before: Sight,
  seconds: number,
): string | undefined {
  if (now.size === 0 || before.size === 0) return `${role} gave no account of itself`
  const [other, ...others] = [...now.values()].filter(({ state }) => state !== role)
  const away = others.length + (other === undefined ? 0 : 1) + routers - now.size
  if (away > 0) return `${away} of ${routers} not ${role} where they should be (${other?.state ?? 'missing'})`
  const changes = changesIn(now) - changesIn(before)
  if (changes <= (routers * seconds) / 10) return undefined
  return `unstable, ${changes} changes of state where ${role} should stay (last by ${[...now.values()][0]?.why})`
}
