/**
 * `holdfast yield ROUTER`: hands the addresses to another node and waits to see who took them. Whether it may is the
 * daemon's decision; this file only asks, watches, and tells. With no successor the router is Active again, and that is
 * a failure of the command.
 */
import { formatDuration, parseDuration } from '../config/duration.ts'
import type { RouterSnapshot, Snapshot } from '../daemon/snapshot.ts'
import type { CommandResult } from './check.ts'
import { type Answer, ask, refused, unreachable } from './control-client.ts'
import { EXIT } from './exit-code.ts'

const TIMEOUT = 3_000
/** Leaving takes 10 s at most (design.md §3). */
const LONGEST = 12_000
const LOOK_AGAIN = 50

export async function yieldCommand(socket: string, router: string, time: string): Promise<CommandResult> {
  const forMs = parseDuration(time)
  if (forMs === undefined) {
    const stderr = `holdfast: Cannot use "${time}" as a duration: a number with a unit wanted, such as 60s\n`
    return { exitCode: EXIT.usage, stdout: '', stderr }
  }
  let answer: Answer
  try {
    answer = await ask(socket, { path: '/v1/yield', order: { router, forMs }, within: TIMEOUT })
  } catch (error) {
    return unreachable(socket, error)
  }
  if (answer.status !== 200) return refused(answer.body.trim())
  const outcome = await outcomeOf(socket, router)
  const began = `${router} yields for ${formatDuration(forMs)}`
  if (outcome === undefined) return refused(`${began}; what came of it is not known: the daemon does not answer`)
  const { state, owner } = outcome
  if (state === 'Active') return refused(`Nobody took over: ${router} is Active again`)
  if (state === 'Leaving') return refused(`${began}, but after ${LONGEST / 1000} s it is still leaving`)
  const who = owner.address === null ? 'nobody has been heard yet' : `${owner.address} is Active now`
  return { exitCode: EXIT.ok, stdout: `${began}: ${who}\n`, stderr: '' }
}

/** The router when it has left, or has come back, or the last that was seen of it. */
async function outcomeOf(socket: string, name: string): Promise<RouterSnapshot | undefined> {
  let last: RouterSnapshot | undefined
  for (const until = performance.now() + LONGEST; performance.now() < until; ) {
    try {
      const { status, body } = await ask(socket, { path: '/v1/status', within: TIMEOUT })
      if (status !== 200) return last
      const snapshot: Snapshot = JSON.parse(body)
      last = snapshot.routers.find((router) => router.name === name && !router.departing)
    } catch {
      return last
    }
    if (last?.state !== 'Leaving') return last
    await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN))
  }
  return last
}
