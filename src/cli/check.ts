/**
 * `holdfast check FILE`: every problem and every warning of a configuration, YAML or keepalived's, one line each, in
 * reading order, and what its health checks come to. Returns what is to be printed instead of printing it. With a node it also says what that
 * node makes of the file. Warnings do not fail: they are advice.
 */

import { addressFilesOf } from '../api/address-file.ts'
import { readText } from '../api/configuration-file.ts'
import { type AnyConfig, loadAny, looksLikeKeepalived } from '../api/configuration-language.ts'
import { scriptProblems } from '../api/script-problem.ts'
import type { NodeView } from '../config/node-view.ts'
import { byPosition, formatProblem, isError, type Problem } from '../config/problem.ts'
import { environmentProblems } from '../config/resolve.ts'
import { trackAdvice } from '../config/track-advice.ts'
import { EXIT } from './exit-code.ts'
import { presetReport, priorityReport } from './priority-report.ts'

export type CommandResult = { readonly exitCode: number; readonly stdout: string; readonly stderr: string }

export type CheckOptions = {
  readonly json?: boolean
  /** In keepalived's language, whatever it looks like. */
  readonly keepalived?: boolean
  /** Also check against the addresses and interfaces of a node. */
  readonly node?: NodeView
  /** What else is to be said of that node: it is not the file's fault, but `run` will stumble over it. */
  readonly beside?: readonly string[]
}

export async function checkCommand(file: string, options: CheckOptions = {}): Promise<CommandResult> {
  const parsed = loadWritten(file, options.keepalived === true)
  const node =
    options.node === undefined || !('config' in parsed)
      ? undefined
      : { ...options.node, files: addressFilesOf(parsed.config) }
  const problems: Problem[] = [...('problems' in parsed ? parsed.problems : parsed.warnings)]
  if ('config' in parsed && node !== undefined)
    problems.push(...environmentProblems(parsed.config, node, parsed.locate))
  const advice = 'config' in parsed ? trackAdvice(parsed.config, parsed.locate, node) : undefined
  const notes = 'config' in parsed ? presetReport(parsed.config) : []
  problems.push(...(advice?.warnings ?? []))
  if ('config' in parsed) problems.push(...(await scriptProblems(parsed.config, parsed.locate)))
  for (const message of options.beside ?? [])
    problems.push({ file, line: 0, column: 0, path: '', message, severity: 'warning' })
  // Positions of one file; those of the node's view may lie between the others.
  problems.sort(byPosition)

  const failed = problems.some(isError)
  const exitCode = failed ? EXIT.configuration : EXIT.ok
  const tables = advice?.tables ?? []
  if (options.json === true) {
    const effectivePriorities = tables.map(({ router, table }) => ({ router, ...table }))
    const answer = { ok: !failed, problems, effectivePriorities, notes }
    return { exitCode, stdout: `${JSON.stringify(answer, null, 2)}\n`, stderr: '' }
  }
  const lines = problems.map(formatProblem)
  if (!failed) lines.push(`${file}: ok${summary(problems.length)}`, ...priorityReport(tables), ...notes)
  const text = lines.map((line) => `${line}\n`).join('')
  return failed ? { exitCode, stdout: '', stderr: text } : { exitCode, stdout: text, stderr: '' }
}

/** In whichever language it is written. Read once: it may be a pipe. */
export function loadWritten(file: string, isKeepalived: boolean): AnyConfig {
  let text: string
  try {
    text = readText(file)
  } catch {
    return loadAny(file, undefined)
  }
  const reading = isKeepalived || looksLikeKeepalived(text) ? { configId: undefined, allFiles: true } : undefined
  return loadAny(file, reading, () => text)
}

const summary = (warnings: number): string =>
  warnings === 0 ? '' : `, ${warnings} ${warnings === 1 ? 'warning' : 'warnings'}`
