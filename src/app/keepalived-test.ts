/**
 * `keepalived -t`: whether a file is fit to be run, in our words and with keepalived's exit statuses, so that whoever
 * looks at the number alone goes on doing so. Decided here: which status a problem leads to (observed with 2.2.7), and
 * that advice which keepalived would not give does not fail its test. Refuses to know how the words are printed.
 */

import { advice } from '../config/advice/advice.ts'
import { MATCHES_NOTHING } from '../config/keepalived/text/reader.ts'
import { VALUE_REQUIRED } from '../config/keepalived/text/section.ts'
import { byPosition, formatProblem, isError, isProblem, type Problem } from '../config/problem.ts'
import { type AnyConfig, type KeepalivedReading, loadAny } from '../files/configuration-language.ts'
import { scriptProblems } from '../files/script-problem.ts'

export const TEST_EXIT = {
  ok: 0,
  /** A keyword without its value. */
  incomplete: 2,
  /** The file itself is not there, and that matters. */
  missing: 4,
  /** Something in it is wrong, or does not mean what it seems to. */
  faulty: 5,
  /** Scripts without enable_script_security. */
  insecure: 6,
} as const

export type TestAnswer = { readonly lines: readonly string[]; readonly exitCode: number }

export async function keepalivedTest(file: string, reading: KeepalivedReading): Promise<TestAnswer> {
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

/** Of those that keepalived has no word for; it warns of a password that is cut and of a list of peers that is empty. */
function adviceOf({ config, locate, warnings }: Read): readonly Problem[] {
  const idle = warnings.filter(({ path }) => config.virtualRouters.length === 0 && path === 'virtualRouters')
  const given = config.virtualRouters.flatMap((router, index) =>
    advice({ router, path: ['virtualRouters', index] }, locate).filter(isProblem),
  )
  return [...idle, ...given.filter(({ path }) => !/\.(authentication|transport)$/.test(path))]
}

/** keepalived calls it a violation, and so does whoever looks for the 6. */
function unguarded(file: string, { config, imported }: Read): readonly Problem[] {
  const runs = config.healthchecks.some((check) => check.kind === 'probe' && check.spec.probe.kind === 'exec')
  const isSafe = imported?.fates.some(({ keyword }) => /(^|\.)enable_script_security$/.test(keyword)) === true
  if (!runs || isSafe) return []
  const message =
    'Scripts are run without enable_script_security (they run as keepalived runs them, also those that others can change)'
  return [{ file, line: 0, column: 0, path: '', message, severity: 'error' }]
}
