/**
 * `holdfast convert FILE`: prints a keepalived file as YAML with the same configuration. Problems go to standard error.
 * keepalived keywords without a counterpart become comments in the YAML. Returns the output instead of printing it.
 */

import { EXIT } from '../app/exit-code.ts'
import { conversionText } from '../config/keepalived/conversion.ts'
import { formatProblem, type Problem } from '../config/problem.ts'
import { readKeepalivedFile } from '../files/keepalived-file.ts'
import { surroundingsHere } from '../files/keepalived-source.ts'
import { scriptProblems } from '../files/script-problem.ts'
import type { CommandResult } from './command.ts'

export async function convertCommand(file: string, configId?: string): Promise<CommandResult> {
  const read = readKeepalivedFile(file, surroundingsHere(configId))
  const problems = 'problems' in read ? read.problems : 'problems' in read.parsed ? read.parsed.problems : []
  const text = (found: readonly Problem[]) => found.map((problem) => `${formatProblem(problem)}\n`).join('')
  if ('problems' in read || 'problems' in read.parsed)
    return { exitCode: EXIT.configuration, stdout: '', stderr: text(problems) }
  // Problems of scripts concern this node, and another node may run the configuration. For this reason problems of
  // scripts go to standard error, not into the YAML.
  const stderr = text(await scriptProblems(read.parsed.config, read.parsed.locate))
  return { exitCode: EXIT.ok, stdout: conversionText(file, read), stderr }
}
