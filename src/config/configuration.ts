/**
 * Turns a document into a configuration, or into all of its problems: those of the schema and those of the cross
 * checks, each with its position. No function throws. This file knows nothing about whether the text was YAML or a
 * keepalived file, its origin, and the node for which it is meant.
 */
import type { z } from 'zod'
import { advice } from './advice/advice.ts'
import type { Placed } from './advice/contradiction.ts'
import { crashProblems, crossCheck, listenProblems } from './advice/cross-check.ts'
import { type CheckSections, healthcheckProblems } from './advice/healthcheck-problem.ts'
import { groupProblems, type PlacedGroup } from './advice/sync-group.ts'
import { tooManyRouters } from './advice/vrid-space.ts'
import { nameOf } from './checks.ts'
import { type Config, configSchema, syncGroupSchema, virtualRouterSchema } from './config.ts'
import type { Imported } from './keepalived/keywords/handling.ts'
import {
  byPosition,
  isError,
  isNote,
  isProblem,
  type Locate,
  type Note,
  type Path,
  type Problem,
  problemAt,
} from './problem.ts'
import { healthcheckSchema } from './schema/healthcheck.ts'
import { checksOfPreset, PRESETS } from './schema/preset.ts'
import type { ReadDocument } from './text/document.ts'
import { schemaProblems } from './text/schema-problem.ts'

export type ParsedConfig =
  | {
      readonly config: Config
      readonly warnings: readonly Problem[]
      /** Notes for the reader of the configuration. A note asks for no action. */
      readonly notes: readonly Note[]
      readonly locate: Locate
      /** Handling of each keyword of a keepalived file; absent for YAML. */
      readonly imported?: Imported
    }
  /** Problems of a refused configuration, in reading order: at least one error, and also the warnings. */
  | { readonly problems: readonly Problem[] }

/** Checks a document and returns the configuration, or its problems. */
export function configFrom({ value, locate, problems: syntax, wellFormed }: ReadDocument): ParsedConfig {
  if (!wellFormed) return { problems: syntax }

  const parsed = configSchema.safeParse(value)
  // If the schema refuses the configuration, its well-formed entries are still cross-checked. By this, one run reports
  // all mistakes.
  const sections = parsed.success
    ? {
        routers: placed('virtualRouters', parsed.data.virtualRouters),
        groups: placed('syncGroups', parsed.data.syncGroups),
        checks: placed('healthchecks', parsed.data.healthchecks),
      }
    : {
        routers: wellFormedIn(value, 'virtualRouters', virtualRouterSchema),
        groups: wellFormedIn(value, 'syncGroups', syncGroupSchema),
        checks: wellFormedIn(value, 'healthchecks', healthcheckSchema),
      }
  const routers = sections.routers.map(({ entry, path }): Placed => ({ router: entry, path }))
  const groups = sections.groups.map(({ entry, path }): PlacedGroup => ({ group: entry, path }))
  const written = entriesOf(value, 'virtualRouters')
  const checks: CheckSections = {
    checks: sections.checks.map(({ entry, path }) => ({ check: entry, path })),
    tracking: [...sections.routers, ...sections.groups].map(({ entry, path }) => ({ ...entry, path })),
    // If the configuration was read completely, its presets are expanded. If the reading failed, the names of all
    // presets count as known.
    names: new Set([
      ...(parsed.success ? parsed.data.healthchecks : PRESETS.flatMap(checksOfPreset)).map(nameOf),
      ...namesOf(entriesOf(value, 'healthchecks')),
    ]),
    complete: parsed.success,
  }
  const problems = [
    ...syntax,
    ...(parsed.success
      ? [
          ...listenProblems(parsed.data.api.listen, parsed.data.api.public, locate),
          ...crashProblems(parsed.data, locate),
        ]
      : schemaProblems(parsed.error.issues, value, locate)),
    ...crossCheck(routers, locate),
    ...(parsed.success && parsed.data.virtualRouters.length === 0 && !syntax.some(isError)
      ? [nothingToDo(locate)]
      : []),
    ...tooManyRouters(written, locate),
    ...groupProblems(groups, routers, namesOf(written), locate),
    ...healthcheckProblems(checks, locate),
    ...routers.flatMap((each) => advice(each, locate)),
  ].sort(byPosition)
  const told = problems.filter(isProblem)
  if (!parsed.success || told.some(isError)) return { problems: told }
  return { config: parsed.data, warnings: told, notes: problems.filter(isNote), locate }
}

const nothingToDo = (locate: Locate): Problem =>
  problemAt(locate, ['virtualRouters'], 'warning', 'no virtual router is configured, so the daemon does nothing')

type Section<T> = readonly { readonly entry: T; readonly path: Path }[]

const placed = <T>(key: string, entries: readonly T[]): Section<T> =>
  entries.map((entry, index) => ({ entry, path: [key, index] }))

function wellFormedIn<T>(value: unknown, key: string, schema: z.ZodType<T>): Section<T> {
  return entriesOf(value, key).flatMap((raw, index) => {
    const entry = schema.safeParse(raw)
    return entry.success ? [{ entry: entry.data, path: [key, index] }] : []
  })
}

function entriesOf(value: unknown, key: string): readonly unknown[] {
  const raw: unknown = typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined
  return Array.isArray(raw) ? raw : []
}

function namesOf(entries: readonly unknown[]): ReadonlySet<string> {
  const names = entries.map((entry): unknown =>
    typeof entry === 'object' && entry !== null ? Reflect.get(entry, 'name') : undefined,
  )
  return new Set(names.filter((name) => typeof name === 'string'))
}
