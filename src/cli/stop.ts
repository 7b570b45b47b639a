/**
 * `holdfast stop`: stops the daemon as SIGTERM does. The command ends when the control socket has disappeared, because
 * the daemon closes that socket last. This file decides how long the command waits. The command never kills a process.
 */

import { EXIT } from '../app/exit-code.ts'
import { ask } from '../files/control-client.ts'
import { isAnswered } from '../files/private-socket.ts'
import type { CommandResult } from './command.ts'
import { refused, unreachable } from './control-client.ts'

const TIMEOUT = 3_000
/** Milliseconds that the command waits. A stop takes 10 s at most (docs/architecture.md, Protocol decisions). */
const LONGEST = 15_000
const LOOK_AGAIN = 50

export async function stopCommand(socket: string): Promise<CommandResult> {
  try {
    const { status, body } = await ask(socket, { path: '/v1/stop', order: {}, within: TIMEOUT })
    if (status !== 202) return refused(`Cannot stop: ${body.trim()} (${status})`)
  } catch (error) {
    return unreachable(socket, error)
  }
  for (const until = performance.now() + LONGEST; performance.now() < until; ) {
    if (!(await isAnswered(socket))) return { exitCode: EXIT.ok, stdout: 'holdfast has stopped\n', stderr: '' }
    await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN))
  }
  return refused(`The daemon was ordered to stop but still runs after ${LONGEST / 1000} s`)
}
