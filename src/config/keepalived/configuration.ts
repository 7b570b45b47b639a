/**
 * Converts a keepalived file to a configuration, with the same schema and cross checks as for YAML. The whole file is
 * refused for a syntax error, for an instance at which keepalived would stop, and for an instance that cannot be in
 * FAULT. Any other error of an instance puts that instance in FAULT; the other instances run. No function reads the
 * disk: included files come from `source`.
 */
import { configFrom, type ParsedConfig } from '../configuration.ts'
import { byPosition, isError, type Problem } from '../problem.ts'
import { type ImportedDocument, importDocument } from './import/import.ts'
import { type Handling, imported } from './keywords/handling.ts'
import type { KeepalivedSource, SourceFile, Surroundings } from './source.ts'
import { parseKeepalived } from './text/parser.ts'
import { fieldsOf, inFault, itemsOf, locateIn, mapping, plain, type Written, written } from './written.ts'

export type KeepalivedDocument = ImportedDocument & {
  /** The configuration with every problem, including the warnings of the import. */
  readonly parsed: ParsedConfig
}

export function parseKeepalivedConfig(
  file: SourceFile,
  source: KeepalivedSource,
  surroundings: Surroundings,
): ParsedConfig {
  const read = readKeepalived(file, source, surroundings)
  return 'problems' in read ? read : read.parsed
}

/** Reads a keepalived file. Returns the configuration, and the imported document for printing. */
export function readKeepalived(
  file: SourceFile,
  source: KeepalivedSource,
  surroundings: Surroundings,
): KeepalivedDocument | { readonly problems: readonly Problem[] } {
  const { lines, problems } = parseKeepalived(file, source, surroundings)
  if (problems.some(isError)) return { problems: [...problems].sort(byPosition) }
  const first = importDocument(lines, file.file, surroundings)
  const { parsed, document, handlings, notes } = withoutBadRouters({
    ...first,
    warnings: [...problems, ...first.warnings],
  })
  return {
    document,
    handlings,
    notes,
    warnings: first.warnings,
    parsed: 'problems' in parsed ? parsed : { ...parsed, imported: imported(file.file, handlings) },
  }
}

/**
 * Replaces each instance that has an error by an instance in FAULT with the same interface and addresses. If an error
 * remains, the whole file is refused.
 */
function withoutBadRouters(found: ImportedDocument): ImportedDocument & { readonly parsed: ParsedConfig } {
  let { document, handlings, notes, warnings } = found
  const bare = new Set<Written>()
  for (;;) {
    const problems = [...warnings]
    const parsed = configFrom({ value: plain(document), locate: locateIn(document), problems, wellFormed: true })
    if (!('problems' in parsed)) return { document, handlings, notes, warnings, parsed }
    const wrong = wrongRouters(parsed.problems)
    const routers = itemsOf(fieldsOf(document).virtualRouters)
    const hopeless = routers.some((router, index) => wrong.has(index) && bare.has(router))
    if (hopeless) return { document, handlings, notes, warnings, parsed: { problems: withoutRepeats(parsed.problems) } }
    if (wrong.size === 0) return { document, handlings, notes, warnings, parsed }
    const kept = routers.map((router, index): Written => {
      const problem = wrong.get(index)
      if (problem === undefined) return router
      warnings = [...warnings, { ...problem, severity: 'warning' }]
      notes = [...notes, { ...problem, severity: 'warning' }]
      const { name, vrid, interface: device, addresses, version } = fieldsOf(router)
      const place = `${problem.file ?? ''}:${problem.line}: `
      const replaced = inFault(
        mapping(
          { name, vrid, interface: device, addresses, profile: written('keepalived', router.at), version },
          router.at,
        ),
        place + problem.message,
      )
      bare.add(replaced)
      handlings = refused(handlings, router, problem.message)
      return replaced
    })
    document = mapping({ ...fieldsOf(document), virtualRouters: written(kept, document.at) }, document.at)
  }
}

/** Removes each warning of the first check that the second check reports as an error. */
function withoutRepeats(problems: readonly Problem[]): readonly Problem[] {
  const errors = new Set(problems.filter(isError).map(({ file, line, message }) => `${file}:${line}:${message}`))
  return problems.filter(
    (problem) => isError(problem) || !errors.has(`${problem.file}:${problem.line}:${problem.message}`),
  )
}

/** Returns the first error of each virtual router that has errors, by the index of the router. */
function wrongRouters(problems: readonly Problem[]): ReadonlyMap<number, Problem> {
  const wrong = new Map<number, Problem>()
  for (const problem of problems.filter(isError)) {
    const [, index] = /^virtualRouters\[(\d+)\]/.exec(problem.path) ?? []
    if (index !== undefined && !wrong.has(Number(index))) wrong.set(Number(index), problem)
  }
  return wrong
}

const refused = (handlings: readonly Handling[], { at }: Written, message: string): readonly Handling[] =>
  handlings.map((handling) =>
    handling.keyword === 'vrrp_instance' &&
    handling.at.line === at.line &&
    handling.at.column === at.column &&
    handling.at.file === at.file
      ? { ...handling, kind: 'refused', message }
      : handling,
  )
