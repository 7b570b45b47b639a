/**
 * A remark about a configuration, as a value: its position and its text. All remarks about a configuration are reported
 * together. An error keeps a configuration from being used, a warning asks the operator to act, and a note informs.
 * Only `holdfast check` shows notes.
 */

export type Severity = 'error' | 'warning'

/** Steps from the root of the configuration to one value. A number is an index in a list. */
export type Path = readonly (string | number)[]

/** Line and column in the configuration, from 1 as in editors; 0 if the problem belongs to no line. */
export type Position = { readonly file?: string; readonly line: number; readonly column: number }

/**
 * Returns the position of a path in the configuration text, or of the nearest part of that path that exists. `key` asks
 * for the position of the key, `value` for the position of the key's value.
 */
export type Locate = (path: Path, at?: 'key' | 'value') => Position

export type Problem = Position & {
  /** Path of the configuration key as text, such as `virtualRouters[0].vrid`. */
  readonly path: string
  readonly message: string
  readonly severity: Severity
}

/** A remark about a configuration that asks for no action. */
export type Note = Omit<Problem, 'severity'> & { readonly severity: 'note' }
export type Remark = Problem | Note

/** Returns line 0 and column 0; for configurations that were not read from a text. */
export const nowhere: Locate = () => ({ line: 0, column: 0 })

/** Returns the path of a configuration key as text, such as `virtualRouters[0].vrid`. */
export function formatPath(path: Path): string {
  return path.reduce<string>(
    (text, step) => (typeof step === 'number' ? `${text}[${step}]` : text === '' ? step : `${text}.${step}`),
    '',
  )
}

/** Returns a problem with the position of its path in the configuration text. */
export function problemAt(locate: Locate, path: Path, severity: Severity, message: string): Problem {
  return { ...locate(path), path: formatPath(path), message: oneLine(message), severity }
}

/** Returns a note with the position of its path in the configuration text. */
export function noteAt(locate: Locate, path: Path, message: string): Note {
  return { ...problemAt(locate, path, 'warning', message), severity: 'note' }
}

/** Returns a text as one line, whatever characters a key or a name contains. */
const oneLine = (text: string): string => text.replace(/[\p{Cc}\u2028\u2029]/gu, ' ')

/** Receives remarks about a key of a virtual router. */
export type Report = (severity: Severity, at: Path, message: string) => void

export const isNote = (remark: Remark): remark is Note => remark.severity === 'note'
export const isProblem = (remark: Remark): remark is Problem => remark.severity !== 'note'
export const isError = (problem: Remark): boolean => problem.severity === 'error'

/** Sorts remarks in reading order; remarks without a position come last. */
export function byPosition(a: Remark, b: Remark): number {
  const line = (problem: Remark) => (problem.line === 0 ? Number.MAX_SAFE_INTEGER : problem.line)
  return line(a) - line(b) || a.column - b.column
}

/**
 * Returns the text of a problem: `file:line:column: message`, a form that editors and CI logs turn into links. Warnings
 * and notes begin with their kind.
 */
export function formatProblem(problem: Remark): string {
  const place = [problem.file, ...(problem.line === 0 ? [] : [problem.line, problem.column])]
  const prefix = place.filter((part) => part !== undefined).join(':')
  const message = problem.severity === 'error' ? problem.message : `${problem.severity}: ${problem.message}`
  return prefix === '' ? message : `${prefix}: ${message}`
}
