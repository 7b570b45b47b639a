/**
 * A keepalived file to configuration, by the same schema and the same cross checks as YAML. Decided here: a syntax
 * error refuses the file, and what is wrong with one instance is the problem of that instance: it does not run, the
 * others do. This file does not know the disk: other files come from `source`.
 */
import { configFrom, type ParsedConfig } from '../configuration.ts'
import { byPosition, isError, type Problem } from '../problem.ts'
import { imported } from './fate.ts'
import { importDocument } from './import.ts'
import { parseKeepalived } from './parser.ts'
import type { KeepalivedSource, SourceFile, Surroundings } from './source.ts'
import { locateIn, plain } from './written.ts'

export function parseKeepalivedConfig(
  file: SourceFile,
  source: KeepalivedSource,
  surroundings: Surroundings,
): ParsedConfig {
  const parsed = parseKeepalived(file, source, surroundings)
  if (parsed.problems.some(isError)) return { problems: [...parsed.problems].sort(byPosition) }
  const { document, fates, warnings } = importDocument(parsed.lines, file.file, surroundings)
  const problems: readonly Problem[] = [...parsed.problems, ...warnings]
  const result = configFrom({ value: plain(document), locate: locateIn(document), problems, wellFormed: true })
  return 'problems' in result ? result : { ...result, imported: imported(file.file, fates) }
}
