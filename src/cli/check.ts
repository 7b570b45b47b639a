/**
 * `holdfast check FILE…`: prints every problem, warning and note of YAML or keepalived configurations, one line each,
 * in reading order. `holdfast check` also prints the effective priorities that the health checks give. With a node
 * (`--node`), the file is checked against that node's interfaces and addresses. Returns the output instead of printing
 * it. Warnings fail with --strict only; notes never fail.
 */
import { readFileSync } from 'node:fs'
import { EXIT } from '../app/exit-code.ts'
import { trackAdvice } from '../config/advice/track-advice.ts'
import type { NodeView } from '../config/node-view.ts'
import { byPosition, formatProblem, isError, type Problem } from '../config/problem.ts'
import { environmentProblems } from '../config/resolve.ts'
import { addressFilesOf } from '../files/address-file.ts'
import { readText } from '../files/configuration-file.ts'
import { type AnyConfig, loadAny, looksLikeKeepalived } from '../files/configuration-language.ts'
import { scriptProblems } from '../files/script-problem.ts'
import type { CommandResult } from './command.ts'
import { presetReport, priorityReport } from './priority-report.ts'

export type CheckOptions = {
  readonly json?: boolean
  /** Reads the file as keepalived's configuration, even if the file does not look like one. */
  readonly keepalived?: boolean
  /** Node against whose addresses and interfaces the configuration is checked; `undefined`: no such check. */
  readonly node?: NodeView
  /** Returns the text of standard input, for the file name `-`. */
  readonly stdin?: () => string
  /** True if warnings count as failures (--strict). */
  readonly strict?: boolean
  /**
   * Warnings about the node. Warnings about the node are no fault of the configuration, but would affect
   * `holdfast run`.
   */
  readonly beside?: readonly string[]
}

export const STDIN = '-'

/** Returns the output for all files. With --json, several files give a list. */
export async function checkFiles(files: readonly string[], options: CheckOptions): Promise<CommandResult> {
  const answers: Checked[] = []
  for (const file of files) answers.push(await checked(file, options))
  const exitCode = answers.some(({ failed }) => failed) ? EXIT.configuration : EXIT.ok
  if (options.json === true) {
    const objects = answers.map(({ answer }) => answer)
    return { exitCode, stdout: `${JSON.stringify(files.length === 1 ? objects[0] : objects, null, 2)}\n`, stderr: '' }
  }
  const textOf = (failed: boolean) =>
    answers.flatMap((each) => (each.failed === failed ? each.lines.map((line) => `${line}\n`) : [])).join('')
  return { exitCode, stdout: textOf(false), stderr: textOf(true) }
}

export const checkCommand = (file: string, options: CheckOptions = {}): Promise<CommandResult> =>
  checkFiles([file], options)

type Checked = { readonly failed: boolean; readonly lines: readonly string[]; readonly answer: object }

async function checked(path: string, options: CheckOptions): Promise<Checked> {
  const file = nameOf(path)
  const parsed = loadWritten(path, options.keepalived === true, options.stdin)
  const node =
    options.node === undefined || !('config' in parsed)
      ? undefined
      : { ...options.node, files: addressFilesOf(parsed.config) }
  const problems: Problem[] = [...('problems' in parsed ? parsed.problems : parsed.warnings)]
  if ('config' in parsed && node !== undefined)
    problems.push(...environmentProblems(parsed.config, node, parsed.locate))
  const advice = 'config' in parsed ? trackAdvice(parsed.config, parsed.locate, node) : undefined
  problems.push(...(advice?.warnings ?? []))
  if ('config' in parsed) problems.push(...(await scriptProblems(parsed.config, parsed.locate)))
  for (const message of options.beside ?? [])
    problems.push({ file, line: 0, column: 0, path: '', message, severity: 'warning' })
  // The problems are sorted by position, because problems found on the node may lie between the others.
  problems.sort(byPosition)
  const lines =
    'config' in parsed ? [...parsed.notes, ...(advice?.notes ?? [])].sort(byPosition).map(formatProblem) : []
  const notes = [...lines, ...('config' in parsed ? presetReport(parsed.config) : [])]

  const warnings = problems.filter((problem) => !isError(problem)).length
  const wrong = problems.some(isError)
  const failed = wrong || (options.strict === true && warnings > 0)
  const tables = advice?.tables ?? []
  const effectivePriorities = tables.map(({ router, table }) => ({ router, ...table }))
  const answer = { file, ok: !failed, problems, effectivePriorities, notes }
  const summary = failed
    ? wrong
      ? []
      : [`${file}: ${count(warnings)}; --strict allows none`]
    : [`${file}: ok${warnings === 0 ? '' : `, ${count(warnings)}`}`, ...priorityReport(tables), ...notes]
  return { failed, lines: [...problems.map(formatProblem), ...summary], answer }
}

const nameOf = (file: string): string => (file === STDIN ? 'standard input' : file)

const standardInput = () => readFileSync(0, 'utf8')

/**
 * Loads a configuration file, in YAML or in keepalived's language. Reads the file only once, because it may be a pipe.
 */
export function loadWritten(file: string, isKeepalived: boolean, stdin = standardInput): AnyConfig {
  const name = nameOf(file)
  let text: string
  try {
    text = file === STDIN ? stdin() : readText(file)
  } catch {
    return loadAny(name, undefined)
  }
  const reading = isKeepalived || looksLikeKeepalived(text) ? { configId: undefined, allFiles: true } : undefined
  return loadAny(name, reading, () => text)
}

const count = (warnings: number): string => `${warnings} ${warnings === 1 ? 'warning' : 'warnings'}`
