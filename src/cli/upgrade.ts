/**
 * `holdfast upgrade`: orders the running engine to let the program on the disk take its place, and waits for the report of
 * the next engine. The engine decides whether that is possible, and answers only if it goes on. This file decides how long
 * the command waits, and the exit status by which install.sh chooses its next step.
 */

import { EXIT } from '../app/exit-code.ts'
import type { UpgradeRefusal } from '../app/upgrade.ts'
import { messageOf } from '../base/message-of.ts'
import type { Snapshot } from '../daemon/telemetry/snapshot.ts'
import type { EventOf, JournalEvent } from '../events/event.ts'
import { type Answer, ask } from '../files/control-client.ts'
import { newNames } from '../http/former-names.ts'
import type { CommandResult } from './command.ts'
import { refused, unreachable } from './control-client.ts'

/** Milliseconds for the dry run and the wait for rest: less than the idle limit of the control socket. */
const TIMEOUT = 28_000
const STATUS_TIMEOUT = 3_000
/** Milliseconds until the next engine answers. The next engine is ready after 0.2 s on a quiet machine. */
const LONGEST = 15_000
const LOOK_AGAIN = 50

const RESTART = 'the old engine goes on; a restart of the service replaces it, and moves its addresses to another node'

export async function upgradeCommand(socket: string): Promise<CommandResult> {
  let before: Running
  let answer: Answer | undefined
  try {
    before = await runningAt(socket)
    answer = await ask(socket, { path: '/v1/upgrade', order: {}, within: TIMEOUT }).catch(ended)
  } catch (error) {
    return unreachable(socket, error)
  }
  if (answer === undefined) return outcome(socket, before)
  const { body, status } = answer
  if (status === 404) return refused(`Cannot upgrade in place: the running version has no such command; ${RESTART}`)
  if (status !== 409) return refused(`Cannot upgrade: ${body.trim()} (${status})`)
  const { fault, reason }: UpgradeRefusal = JSON.parse(body)
  if (fault === 'impossible') return refused(`Cannot upgrade in place: ${reason}; ${RESTART}`)
  return { ...refused(`Cannot upgrade: the new program's ${reason}\nthe engine goes on`), exitCode: EXIT.rehearsal }
}

/** An engine that is replaced ends its connections without an answer. */
const ended = (error: unknown): undefined => {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code !== 'ECONNRESET' && code !== 'EPIPE') throw error
  return undefined
}

/** Process id of an engine, and the names of its routers that are Active. */
type Running = { readonly pid: number; readonly active: readonly string[] }

async function runningAt(socket: string): Promise<Running> {
  const { status, body } = await ask(socket, { path: '/v1/status', within: STATUS_TIMEOUT })
  if (status !== 200) throw new Error(`it answered ${status}: ${body.trim()}`)
  const { pid, routers }: Snapshot = JSON.parse(body, newNames)
  return { pid, active: routers.filter(({ state }) => state === 'Active').map(({ name }) => name) }
}

async function outcome(socket: string, before: Running): Promise<CommandResult> {
  let last = 'it does not answer'
  for (const until = performance.now() + LONGEST; performance.now() < until; ) {
    try {
      if ((await runningAt(socket)).pid !== before.pid) return report(before, await upgradeAt(socket))
    } catch (error) {
      last = messageOf(error)
    }
    await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN))
  }
  return refused(`the engine has ended, and no other one answers after ${LONGEST / 1000} s: ${last}`)
}

/** Returns the event with which the running engine reported the upgrade. Events of earlier engines do not count. */
async function upgradeAt(socket: string): Promise<EventOf<'engineUpgraded'> | undefined> {
  const { body } = await ask(socket, { path: '/v1/events', within: STATUS_TIMEOUT })
  const { events }: { events: readonly JournalEvent[] } = JSON.parse(body)
  const own = events.slice(events.findLastIndex(({ kind }) => kind === 'started') + 1)
  return own.find((event): event is EventOf<'engineUpgraded'> => event.kind === 'engineUpgraded')
}

function report({ active }: Running, event: EventOf<'engineUpgraded'> | undefined): CommandResult {
  if (event === undefined) return refused('the engine was started again, but not by this upgrade: see its log')
  const { from, routers, to, tookMs } = event
  const done = `Version ${to} replaced version ${from} within ${tookMs} ms`
  const released = active.filter((name) => !routers.includes(name))
  if (released.length > 0) {
    const text = `${done}, but released the addresses of ${released.join(', ')}: see its log`
    return { ...refused(text), exitCode: EXIT.warnings }
  }
  const kept = routers.length === 0 ? 'it had no address' : `${routers.join(', ')} kept the addresses`
  return { exitCode: EXIT.ok, stdout: `${done}: ${kept}\n`, stderr: '' }
}
