/**
 * `holdfast configure`: hands a complete configuration to an engine that was started with --managed. Prints the
 * changes, or the problems of the configuration. The engine decides; if it refuses, it keeps the configuration in
 * force. The command only sends the text and prints the answer.
 */

import { readFileSync } from 'node:fs'
import type { HandOverAnswer } from '../app/configuration/reload-answer.ts'
import { EXIT } from '../app/exit-code.ts'
import { defined } from '../base/defined.ts'
import { type Answer, ask } from '../files/control-client.ts'
import type { CommandResult } from './command.ts'
import { refused, unreachable } from './control-client.ts'
import { reloadLines } from './reload.ts'

/** Timeout in milliseconds. The engine needs less time to read two texts and to write one. */
const TIMEOUT = 30_000
const STDIN = '-'

export type ConfigureOptions = {
  readonly socket: string
  readonly by: string
  readonly revision?: string | undefined
  readonly json: boolean
}

export async function configureCommand(file: string, options: ConfigureOptions): Promise<CommandResult> {
  const text = textOf(file)
  if (text instanceof Error) return refused(`Cannot read ${nameOf(file)}: ${text.message}`)
  try {
    const { status, body } = await handOver(options.socket, text, options)
    if (status !== 200 && status !== 409 && status !== 422)
      return refused(`Cannot hand over ${nameOf(file)}: ${body.trim()} (${status})`)
    const answer: HandOverAnswer = JSON.parse(body)
    const exitCode = answer.ok ? EXIT.ok : answer.fault === 'invalid' ? EXIT.configuration : EXIT.failure
    if (options.json) return { exitCode, stdout: body, stderr: '' }
    const output = lines(answer, nameOf(file)).map((line) => `${line}\n`)
    return answer.ok
      ? { exitCode, stdout: output.join(''), stderr: '' }
      : { exitCode, stdout: '', stderr: output.join('') }
  } catch (error) {
    return unreachable(options.socket, error)
  }
}

/**
 * Sends the configuration text to the engine. With status 200, 409 and 422 the answer is a HandOverAnswer as JSON,
 * otherwise plain text. Rejects with Error if the engine does not answer.
 */
export function handOver(
  socket: string,
  text: string,
  { by, revision }: { readonly by: string; readonly revision?: string | undefined },
): Promise<Answer> {
  const query = new URLSearchParams({ by, ...defined({ revision }) })
  return ask(socket, { path: `/v1/configuration?${query}`, text, within: TIMEOUT })
}

function lines(answer: HandOverAnswer, name: string): string[] {
  const known = (answer.ok ? answer.warnings : answer.problems).map((problem) => ({ ...problem, file: name }))
  if (!answer.ok) return reloadLines({ ...answer, file: name, problems: known }, 'hand over')
  const output = reloadLines({ ...answer, file: name, warnings: known }, 'handed over')
  return answer.kept
    ? output
    : [
        ...output,
        `warning: the configuration is in force but not stored, so a restart would lose it: ${answer.notKept ?? ''}`,
      ]
}

const nameOf = (file: string): string => (file === STDIN ? 'standard input' : file)

function textOf(file: string): string | Error {
  try {
    return readFileSync(file === STDIN ? 0 : file, 'utf8')
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}
