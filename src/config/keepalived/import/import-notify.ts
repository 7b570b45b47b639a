/**
 * Converts the keywords notify_* of an instance or a group to notify programs. A program that keepalived would not find
 * is ignored. A single user runs all programs of a block. This file knows nothing about when the programs run, and
 * their arguments.
 */

import type { Surroundings } from '../source.ts'
import { commandWordsOf } from '../text/lexer.ts'
import type { Line } from '../text/parser.ts'
import type { Section } from '../text/section.ts'
import { mapping, type Written, written } from '../written.ts'
import { type CheckDefaults, capabilitiesOf, programOf, unsafeOf } from './import-check.ts'

const KEYS = {
  active: 'notify_master',
  backup: 'notify_backup',
  fault: 'notify_fault',
  stop: 'notify_stop',
  change: 'notify',
} as const

/** Returns the key `notify`, or `undefined` if the block has no usable notify program. */
export function notifyOf(
  section: Section,
  defaults: CheckDefaults,
  { programPath }: Surroundings,
): Written | undefined {
  const program = (keyword: string): { readonly line: Line; readonly argv: Written } | undefined => {
    // keepalived uses the first line of a repeated notify keyword.
    const [line, ...others] = section.all(keyword)
    for (const other of others) section.report.change(other, 'noEffect', `already set on line ${line?.at.line}`)
    const argv = line && programOf(line, programPath)
    if (line !== undefined && argv === undefined) section.ignore(line, 'a program that exists, with closed quotes')
    return line && argv && { line, argv }
  }
  const programs = {
    active: program(KEYS.active),
    backup: program(KEYS.backup),
    fault: program(KEYS.fault),
    stop: program(KEYS.stop),
    change: program(KEYS.change),
  }
  const found = Object.values(programs).filter((each) => each !== undefined)
  const [first] = found
  if (first === undefined) return undefined
  const users = found.map(({ line }) => commandWordsOf(line.text)?.[2])
  const user = users[0]
  for (const [index, { line }] of found.entries())
    if (users[index] !== user)
      section.report.change(line, 'notSupported', 'it runs as the user of the first notify program of this block')
  const runsAs = user === undefined ? defaults.user : written(user, first.line.at)
  return mapping(
    {
      active: programs.active?.argv,
      backup: programs.backup?.argv,
      fault: programs.fault?.argv,
      stop: programs.stop?.argv,
      change: programs.change?.argv,
      user: runsAs,
      capabilities: capabilitiesOf(runsAs, first.line),
      unsafe: unsafeOf(runsAs, defaults.security, first.line),
    },
    first.line.at,
  )
}
