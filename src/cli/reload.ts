/**
 * `holdfast reload`: the daemon reads its file again; what that changed, or what is wrong with the file, in lines. The
 * daemon decides and keeps what it had when it cannot; this file only asks and tells.
 */
import { formatProblem } from '../config/problem.ts'
import type { CommandResult } from './check.ts'
import { ask, refused, unreachable } from './control-client.ts'
import { EXIT } from './exit-code.ts'
import type { ReloadAnswer } from './live-configuration.ts'

/** Longer than the daemon gives two files to be read. */
const TIMEOUT = 30_000

export async function reloadCommand(socket: string, options: { json: boolean }): Promise<CommandResult> {
  try {
    const { status, body } = await ask(socket, { path: '/v1/reload', order: {}, within: TIMEOUT })
    if (status !== 200 && status !== 409 && status !== 422) return refused(`Cannot reload: ${body.trim()} (${status})`)
    const answer: ReloadAnswer = JSON.parse(body)
    const exitCode = answer.ok ? EXIT.ok : answer.fault === 'invalid' ? EXIT.configuration : EXIT.failure
    if (options.json) return { exitCode, stdout: body, stderr: '' }
    const text = reloadLines(answer)
      .map((line) => `${line}\n`)
      .join('')
    return answer.ok ? { exitCode, stdout: text, stderr: '' } : { exitCode, stdout: '', stderr: text }
  } catch (error) {
    return unreachable(socket, error)
  }
}

/** `way`: how it came, as the last line names it. */
export function reloadLines(answer: ReloadAnswer, way?: 'hand over' | 'handed over'): string[] {
  if (!answer.ok) {
    const { file, reason, problems } = answer
    return [
      ...problems.map(formatProblem),
      `holdfast: Cannot ${way ?? 'reload'} ${file}: ${reason}; the configuration in force is kept`,
    ]
  }
  const { file, hash, changes, unchanged, groupsChanged, checksChanged, restartOnly, warnings } = answer
  return [
    ...warnings.map(formatProblem),
    ...changes.map(({ router, change }) => `${router}: ${change}`),
    ...(groupsChanged ? ['sync groups: changed'] : []),
    ...(checksChanged.length > 0 ? [`health checks: ${checksChanged.join(', ')} changed`] : []),
    ...restartOnly.map((key) => `warning: ${key} has changed: it takes effect at the next start`),
    `${file}: ${way ?? 'reloaded'} (${hash}), ${unchanged} ${unchanged === 1 ? 'router' : 'routers'} unchanged`,
  ]
}
