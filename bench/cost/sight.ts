/**
 * The states of a node's virtual routers at one moment, by its own account. Decides what keepalived's log says of them, and
 * that a router which changed its state and came back has changed. Pure.
 */

/** Of a router: the state, how often it has changed so far, and why it last did. */
export type Standing = { readonly state: string; readonly changes: number; readonly why: string }
export type Sight = ReadonlyMap<string, Standing>

const STATES: Readonly<Record<string, string>> = { MASTER: 'Active', BACKUP: 'Backup' }

/** keepalived's words; any other state is none that is waited for. */
export function sightOfLog(lines: readonly string[]): Sight {
  const sight = new Map<string, Standing>()
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
 * What is wrong with a node whose routers should all be in one state; undefined: nothing. A takeover or two on a busy
 * machine cost little beside a minute; a group that has more than one for each router in ten seconds is not idle.
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
