/**
 * A remark about a configuration, as a value: its place, and what to do about it. All of them are reported at once.
 * An error keeps a configuration from being used; a warning asks for an act of the operator; a note informs, and is shown
 * by `holdfast check` alone. This file does not know what was checked.
 */

export type Severity = 'error' | 'warning'

/** Steps from the root of the configuration to one value; a number is a position in a list. */
export type Path = readonly (string | number)[]

/** 1-based, as editors count; 0 where there is no text to point at. */
export type Position = { readonly file?: string; readonly line: number; readonly column: number }

/** Where a path, or the nearest part of it that exists, is written. `key` points at the name, `value` behind it. */
export type Locate = (path: Path, at?: 'key' | 'value') => Position

export type Problem = Position & {
  /** For people and for JSON output: `virtualRouters[0].vrid`. */
  readonly path: string
  readonly message: string
  readonly severity: Severity
}

/** Information that asks for nothing. */
export type Note = Omit<Problem, 'severity'> & { readonly severity: 'note' }
export type Remark = Problem | Note

/** For configurations that were not read from a text. */
export const nowhere: Locate = () => ({ line: 0, column: 0 })

export function formatPath(path: Path): string {
  return path.reduce<string>(
    (text, step) => (typeof step === 'number' ? `${text}[${step}]` : text === '' ? step : `${text}.${step}`),
    '',
  )
}

export function problemAt(locate: Locate, path: Path, severity: Severity, message: string): Problem {
  return { ...locate(path), path: formatPath(path), message: oneLine(message), severity }
}

export function noteAt(locate: Locate, path: Path, message: string): Note {
  return { ...problemAt(locate, path, 'warning', message), severity: 'note' }
}

/** Whatever a key or a name may hold: a problem is a line, wherever it is told. */
const oneLine = (text: string): string => text.replace(/[\p{Cc}\u2028\u2029]/gu, ' ')

/** Takes what is to be reported about a key of a virtual router. */
export type Report = (severity: Severity, at: Path, message: string) => void

export const isNote = (remark: Remark): remark is Note => remark.severity === 'note'
export const isProblem = (remark: Remark): remark is Problem => remark.severity !== 'note'
export const isError = (problem: Remark): boolean => problem.severity === 'error'

/** Reading order; what has no position comes last. */
export function byPosition(a: Remark, b: Remark): number {
  const line = (problem: Remark) => (problem.line === 0 ? Number.MAX_SAFE_INTEGER : problem.line)
  return line(a) - line(b) || a.column - b.column
}

/** `file:line:column: message`, the form that editors and CI logs make clickable; warnings and notes say so. */
export function formatProblem(problem: Remark): string {
  const place = [problem.file, ...(problem.line === 0 ? [] : [problem.line, problem.column])]
  const prefix = place.filter((part) => part !== undefined).join(':')
  const message = problem.severity === 'error' ? problem.message : `${problem.severity}: ${problem.message}`
  return prefix === '' ? message : `${prefix}: ${message}`
}
