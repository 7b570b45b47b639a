/**
 * Converts a parsed keepalived file to the same kind of document as a YAML file. Blocks are read in a fixed order, so
 * names may be used before they are defined. A check without a tracker is left out. This file knows nothing about the
 * grammar (parser.ts), and whether the document is a valid configuration (../configuration.ts).
 */

import type { Problem } from '../../problem.ts'
import type { Handling } from '../keywords/handling.ts'
import type { Surroundings } from '../source.ts'
import type { Line } from '../text/parser.ts'
import { ImportReport, Section } from '../text/section.ts'
import { inFault, mapping, type Written, written } from '../written.ts'
import { checkEntry, fileOf, processOf, scriptOf, type Tracked } from './import-check.ts'
import { globalsOf } from './import-global.ts'
import { groupOf } from './import-group.ts'
import { type Instance, instanceOf } from './import-instance.ts'
import type { Checks } from './import-track.ts'
import { ItemNames } from './item-name.ts'

export type ImportedDocument = {
  readonly document: Written
  readonly handlings: readonly Handling[]
  /** Warnings of the import that do not belong to one keyword. */
  readonly notes: readonly Problem[]
  /** All warnings of the import: those that belong to no keyword, and one for each keyword without a counterpart. */
  readonly warnings: readonly Problem[]
}

/** Returns the document, the handling of each keyword, and the warnings. */
export function importDocument(lines: readonly Line[], file: string, surroundings: Surroundings): ImportedDocument {
  const report = new ImportReport()
  const section = new Section('file', lines, report)
  const globals = globalsOf(section, report, surroundings)
  const found: readonly Tracked[] = [
    ...named(section, 'vrrp_script', report).map((line) => scriptOf(line, globals.scripts, report, surroundings)),
    ...[...named(section, 'track_file', report), ...named(section, 'vrrp_track_file', report)].map((line) =>
      fileOf(line, report),
    ),
    ...named(section, 'vrrp_track_process', report).map((line) => processOf(line, report)),
  ]
  const used = new Map<Tracked, string>()
  const checkNames = new ItemNames()
  const checks: Checks = {
    find: (kind, name) => found.find((check) => check.kind === kind && check.name === name),
    use: (check) => {
      const name = used.get(check) ?? checkNames.give(check.name, check.kind)
      used.set(check, name)
      return name
    },
  }
  const instances = instancesIn(section, report, (line, name) =>
    instanceOf(line, name, globals, checks, report, surroundings),
  )
  const groupNames = new ItemNames()
  const groups = named(section, 'vrrp_sync_group', report).map((line) =>
    groupOf(
      line,
      groupNames.give(line.words[1]?.text ?? '', 'group'),
      instances,
      checks,
      report,
      globals,
      surroundings,
    ),
  )
  for (const check of found)
    if (!used.has(check))
      report.change(check.line, 'noEffect', 'no instance tracks this check, so the check does not run')
  const reasons = new Map(groups.flatMap(({ members, refusal }) => members.map((member) => [member, refusal] as const)))
  const at = { file, line: 1, column: 1 }
  const list = (entries: readonly Written[]) =>
    entries.length === 0 ? undefined : written(entries, entries[0]?.at ?? at)
  const routers = [...instances.values()].flatMap(({ router, ...instance }) => {
    const reason = instance.refusal ?? reasons.get(instances.get(instance.word) ?? { ...instance, router })
    return router === undefined ? [] : [reason === undefined ? router : inFault(router, reason)]
  })
  const document = mapping(
    {
      healthchecks: list([...used].map(([check, name]) => checkEntry(name, check))),
      virtualRouters: written(routers, routers[0]?.at ?? at),
      syncGroups: list(groups.flatMap(({ entry }) => entry ?? [])),
    },
    at,
  )
  return { document, handlings: report.handlings, notes: report.notes, warnings: [...report.notes, ...report.warnings] }
}

/** Returns the imported instances, by their names in the keepalived file. */
function instancesIn(
  section: Section,
  report: ImportReport,
  read: (line: Line, name: string) => Instance,
): ReadonlyMap<string, Instance> {
  const names = new ItemNames()
  const instances = new Map<string, Instance>()
  for (const line of named(section, 'vrrp_instance', report)) {
    const word = line.words[1]?.text ?? ''
    const name = names.give(word, 'router')
    if (name !== word) report.warn(line.words[1]?.at ?? line.at, `"${word}" is called "${name}" in holdfast`)
    instances.set(word, read(line, name))
  }
  return instances
}

/** Returns the usable blocks of a keyword. keepalived skips a block without a name, and the second block of a name. */
function named(section: Section, keyword: string, report: ImportReport): readonly Line[] {
  const seen = new Set<string>()
  return section.all(keyword).filter((line) => {
    const name = line.words[1]?.text
    if (line.block !== undefined && name !== undefined && !seen.has(name)) {
      seen.add(name)
      return true
    }
    const why =
      line.block === undefined ? 'it has no block' : name === undefined ? 'it has no name' : 'the name is used already'
    report.change(line, 'noEffect', `${why}, so the block is skipped, as in keepalived`)
    report.warn(line.at, `Cannot use this ${keyword}: ${why}; the block is skipped, as in keepalived`)
    return false
  })
}
