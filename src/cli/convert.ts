/**
 * `holdfast convert FILE`: a keepalived file as YAML with the same configuration. What is wrong goes to standard error,
 * what was not carried over stands in comments of the YAML itself, where the next reader finds it. Returns what is to be
 * printed. This file does not know keywords.
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
  // Of this node, which may not be the one that will run it: nothing of that is in the YAML.
  const stderr = text(await scriptProblems(read.parsed.config, read.parsed.locate))
  return { exitCode: EXIT.ok, stdout: conversionText(file, read), stderr }
}
