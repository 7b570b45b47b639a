/**
 * `keepalived -t`: tests a configuration file. The messages are holdfast's, the exit statuses keepalived's, because
 * scripts read only the status. This file decides the status of each problem (observed with 2.2.7), and that advice
 * which keepalived does not give fails no test.
 */

import { advice } from '../config/advice/advice.ts'
import { MATCHES_NOTHING } from '../config/keepalived/text/reader.ts'
import { VALUE_REQUIRED } from '../config/keepalived/text/section.ts'
import { byPosition, formatProblem, isError, isProblem, type Problem } from '../config/problem.ts'
import { type AnyConfig, type KeepalivedReading, loadAny } from '../files/configuration-language.ts'
import { scriptProblems } from '../files/script-problem.ts'

export const TEST_EXIT = {
  ok: 0,
  /** Exit status if a keyword has no value. */
  incomplete: 2,
  /** Exit status if the file does not exist, and the caller asked for an error in that case. */
  missing: 4,
  /** Exit status if the file has an error, or a keyword whose effect differs from keepalived's. */
  faulty: 5,
  /** Exit status if the file has scripts without enable_script_security. */
  insecure: 6,
} as const

export type TestResult = { readonly lines: readonly string[]; readonly exitCode: number }

/** Returns the problems as lines, and keepalived's exit status. */
export async function keepalivedTest(file: string, reading: KeepalivedReading): Promise<TestResult> {
  const loaded = loadAny(file, reading)
  if ('problems' in loaded) {
    const lines = loaded.problems.map(formatProblem)
    if (lines.some((line) => line.includes(VALUE_REQUIRED))) return { lines, exitCode: TEST_EXIT.incomplete }
    return { lines, exitCode: reading.allFiles && loaded.hash === '' ? TEST_EXIT.missing : TEST_EXIT.faulty }
  }
  const scripts = [...(await scriptProblems(loaded.config, loaded.locate)), ...unguarded(file, loaded)]
  const problems = [...loaded.warnings, ...scripts].sort(byPosition)
  const lines = problems.map(formatProblem)
  if (scripts.some(isError)) return { lines, exitCode: TEST_EXIT.insecure }
  const own = new Set(adviceOf(loaded).map(formatProblem))
  const counts = problems.some(
    (problem) => !own.has(formatProblem(problem)) && !problem.message.endsWith(MATCHES_NOTHING),
  )
  return { lines, exitCode: counts && !loaded.missing ? TEST_EXIT.faulty : TEST_EXIT.ok }
}

type Read = Exclude<AnyConfig, { readonly problems: readonly Problem[] }>

/**
 * Returns the warnings that keepalived does not give. keepalived does warn of a shortened password and of an empty peer
 * list.
 */
function adviceOf({ config, locate, warnings }: Read): readonly Problem[] {
  const idle = warnings.filter(({ path }) => config.virtualRouters.length === 0 && path === 'virtualRouters')
  const given = config.virtualRouters.flatMap((router, index) =>
    advice({ router, path: ['virtualRouters', index] }, locate).filter(isProblem),
  )
  return [...idle, ...given.filter(({ path }) => !/\.(authentication|transport)$/.test(path))]
}

/** Returns keepalived's security violation (status 6): scripts without enable_script_security. */
function unguarded(file: string, { config, imported }: Read): readonly Problem[] {
  const runs = config.healthchecks.some((check) => check.kind === 'probe' && check.spec.probe.kind === 'exec')
  const isSafe = imported?.handlings.some(({ keyword }) => /(^|\.)enable_script_security$/.test(keyword)) === true
  if (!runs || isSafe) return []
  const message =
    'Scripts are run without enable_script_security (they run as keepalived runs them, also those that others can change)'
  return [{ file, line: 0, column: 0, path: '', message, severity: 'error' }]
}
