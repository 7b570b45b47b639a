/**
 * `holdfast yield`: hands the addresses to another node and waits until a node has taken them, or ends a yield. The
 * daemon decides whether a router may yield. Without a successor the router becomes Active again, and the command
 * fails.
 */

import { EXIT } from '../app/exit-code.ts'
import { refusedValue } from '../base/refused-value.ts'
import { formatDuration, parseDuration } from '../config/schema/duration.ts'
import type { RouterSnapshot, Snapshot } from '../daemon/telemetry/snapshot.ts'
import { type Answer, ask } from '../files/control-client.ts'
import { newNames } from '../http/former-names.ts'
import type { CommandResult } from './command.ts'
import { refused, unreachable } from './control-client.ts'

const TIMEOUT = 3_000
/**
 * Milliseconds that the command waits. A router releases its addresses within 10 s (docs/architecture.md, Protocol
 * decisions).
 */
const LONGEST = 12_000
const LOOK_AGAIN = 50

export type YieldOptions = {
  /** Name of the virtual router or sync group that yields; absent if the command is for several (`all`). */
  readonly router?: string | undefined
  /**
   * True: the command is for all routers that are Active on this node; with `cancel`, for all that yield on this node.
   */
  readonly all?: boolean
  readonly cancel?: boolean
  /** Duration of the yield as typed by the user. */
  readonly for: string
}

export async function yieldCommand(socket: string, options: YieldOptions): Promise<CommandResult> {
  const { all = false, cancel = false, router, for: time } = options
  const forMs = cancel ? 0 : parseDuration(time)
  if (forMs === undefined) return usage(refusedValue('--for', time, 'a duration: a number with a unit, such as 60s'))
  if (all && router !== undefined) return usage('give either the name of a router or sync group, or --all')
  if (!all && !cancel && router === undefined)
    return usage(
      refusedValue('name', undefined, 'that of a router or sync group; or --all for all that are Active here'),
    )
  try {
    const targets = router === undefined ? await everyTarget(socket, cancel) : [router]
    if (targets.length === 0)
      return refused(cancel ? 'no virtual router yields here' : 'no virtual router is Active here')
    const results: CommandResult[] = []
    // Every router and group is ordered to yield before the command waits for the first of them, because each needs
    // time to leave.
    const answers: Answer[] = []
    for (const target of targets)
      answers.push(await ask(socket, { path: '/v1/yield', order: { router: target, forMs }, within: TIMEOUT }))
    for (const [index, target] of targets.entries()) {
      const { body = '', status = 0 } = answers[index] ?? {}
      if (status !== 200) results.push(refused(body.trim()))
      else results.push(cancel ? success(`${target}: yield period ended`) : await outcome(socket, target, forMs))
    }
    return {
      exitCode: results.find(({ exitCode }) => exitCode !== EXIT.ok)?.exitCode ?? EXIT.ok,
      stdout: results.map(({ stdout }) => stdout).join(''),
      stderr: results.map(({ stderr }) => stderr).join(''),
    }
  } catch (error) {
    return unreachable(socket, error)
  }
}

const usage = (text: string): CommandResult => ({ exitCode: EXIT.usage, stdout: '', stderr: `holdfast: ${text}\n` })
const success = (text: string): CommandResult => ({ exitCode: EXIT.ok, stdout: `${text}\n`, stderr: '' })

/**
 * Returns the names of sync groups, and of routers without a group. Rejects with Error if the daemon does not answer.
 */
async function everyTarget(socket: string, yielding: boolean): Promise<readonly string[]> {
  const routers = (await routersAt(socket)).filter(({ state, yieldingUntil }) =>
    yielding ? yieldingUntil !== null : state === 'Active',
  )
  return [...new Set(routers.map(({ group, name }) => group ?? name))]
}

async function routersAt(socket: string): Promise<readonly RouterSnapshot[]> {
  const { status, body } = await ask(socket, { path: '/v1/status', within: TIMEOUT })
  if (status !== 200) throw new Error(`it answered ${status}: ${body.trim()}`)
  const { routers }: Snapshot = JSON.parse(body, newNames)
  return routers.filter(({ departing }) => !departing)
}

async function outcome(socket: string, target: string, forMs: number): Promise<CommandResult> {
  const began = `${target} yields for ${formatDuration(forMs)}`
  const routers = await settled(socket, target)
  const [first] = routers
  if (first === undefined) return refused(`${began}; the result is not known: the daemon does not answer`)
  const back = routers.find(({ state }) => state === 'Active')
  if (back !== undefined) return refused(`No other node took over: ${back.name} is Active again`)
  if (routers.some(({ state }) => state === 'Leaving'))
    return refused(`${began}, but after ${LONGEST / 1000} s the router is still in Leaving`)
  const { address } = routers.find(({ holder }) => holder.address !== null)?.holder ?? first.holder
  return success(`${began}: ${address === null ? 'no other node has been heard yet' : `${address} is Active now`}`)
}

/** Waits until no router of the target is Leaving. Returns their last known state. */
async function settled(socket: string, target: string): Promise<readonly RouterSnapshot[]> {
  let last: readonly RouterSnapshot[] = []
  for (const until = performance.now() + LONGEST; performance.now() < until; ) {
    try {
      last = (await routersAt(socket)).filter(({ group, name }) => name === target || group === target)
    } catch {
      return last
    }
    if (!last.some(({ state }) => state === 'Leaving')) return last
    await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN))
  }
  return last
}
