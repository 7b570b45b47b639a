/**
 * `holdfast reload`: makes the daemon read its file again, and prints the changes or the problems of the file. The
 * daemon decides; if it refuses, it keeps the configuration in force. The command only sends the request and prints the
 * answer.
 */

import type { ReloadAnswer } from '../app/configuration/reload-answer.ts'
import { EXIT } from '../app/exit-code.ts'
import { formatProblem } from '../config/problem.ts'
import { changesText, groupsText, isUnder, ownTexts, type ValueChange } from '../config/value-diff.ts'
import { ask } from '../files/control-client.ts'
import type { CommandResult } from './command.ts'
import { refused, unreachable } from './control-client.ts'

/** Timeout in milliseconds. The daemon needs less time to read two files. */
const TIMEOUT = 30_000

/** Options of `holdfast reload`. `dryRun`: only report what would change. */
export type ReloadOptions = { readonly json: boolean; readonly dryRun?: boolean }

export async function reloadCommand(socket: string, options: ReloadOptions): Promise<CommandResult> {
  try {
    const { status, body } = await ask(socket, {
      path: options.dryRun === true ? '/v1/reload/dry-run' : '/v1/reload',
      order: {},
      within: TIMEOUT,
    })
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

/**
 * Returns the lines that the command prints for an answer. `way` is the verb of the last line if the configuration was
 * handed over.
 */
export function reloadLines(answer: ReloadAnswer, way?: 'hand over' | 'handed over'): string[] {
  if (!answer.ok) {
    const { file, reason, problems } = answer
    return [
      ...problems.map(formatProblem),
      `holdfast: Cannot ${way ?? 'reload'} ${file}: ${reason}; the configuration in force is kept`,
    ]
  }
  const { file, hash, changes, unchanged, groupsChanged, checksChanged, restartOnly, values, warnings } = answer
  return [
    ...warnings.map(formatProblem),
    ...changes.map(({ router, change }) => `${router}: ${change}${changesText(values, 'virtualRouters', router)}`),
    ...(groupsChanged ? [`sync groups: changed${groupsText(values)}`] : []),
    ...checksChanged.map((name) => `health check ${name}: changed${changesText(values, 'healthchecks', name)}`),
    ...ownTexts(values, restartOnly),
    ...restartOnly.map(
      (key) => `warning: ${key} has changed${valuesOf(values, key)}: it takes effect at the next start`,
    ),
    `${file}: ${answer.dryRun === true ? 'would be reloaded' : (way ?? 'reloaded')} (${hash}), ${unchanged} ${unchanged === 1 ? 'router' : 'routers'} unchanged`,
  ]
}

function valuesOf(values: readonly ValueChange[], path: string): string {
  const own = values.filter(({ section, key }) => section === null && isUnder(key, path))
  const [one] = own
  return own.length !== 1 || one === undefined || one.from === null ? '' : ` (${one.from} → ${one.to})`
}
