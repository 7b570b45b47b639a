/**
 * Defines the properties of a log line besides its text: a stable code for programs, the level, the fields, and for
 * docs/log-events.md the meaning and the advice. This file does not know any event. Pure.
 */

export type LogLevel = 'debug' | 'info' | 'warn' | 'error'

type Definition<Field extends string> = {
  readonly level: LogLevel
  /** Second level of the event, for the case that `means` names; absent: the event has one level. */
  readonly or?: LogLevel
  /** Fields that a line of the event may have. */
  readonly fields: readonly Field[]
  readonly means: string
  /** Advice for the operator; absent = there is nothing to do. */
  readonly act?: string
}

/** An event of the log. `code` is the value of the field `event`, which never changes. */
export type LogEvent<Field extends string = string> = Definition<Field> & { readonly code: string }

/** Returns the events of a table, each with its key as code. */
export function logEvents<Field extends string>() {
  return <const Names extends Field, const T extends Readonly<Record<string, Definition<Names>>>>(table: T) =>
    Object.fromEntries(Object.entries(table).map(([code, definition]) => [code, { ...definition, code }])) as {
      readonly [Code in keyof T]: Omit<T[Code], 'level'> & { readonly code: Code; readonly level: LogLevel }
    }
}

/** Returns the event with its other level if `isOther` is true. */
export const atOtherLevel = <E extends LogEvent & { readonly or: LogLevel }>(event: E, isOther: boolean): E =>
  isOther ? { ...event, level: event.or } : event
