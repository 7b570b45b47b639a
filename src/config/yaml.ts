/**
 * Text to configuration, or every problem at once: syntax, schema and cross checks, each with its place in the text.
 * Never throws. This file does not know where the text came from, nor the node it is meant for.
 */
import { advice } from './advice.ts'
import { type Config, configSchema, virtualRouterSchema } from './config.ts'
import { crossCheck, listenProblems, type Placed } from './cross-check.ts'
import { readDocument } from './document.ts'
import { byPosition, isError, type Locate, type Problem } from './problem.ts'
import { schemaProblems } from './schema-problem.ts'

export type ParsedConfig =
  | { readonly config: Config; readonly warnings: readonly Problem[]; readonly locate: Locate }
  /** At least one error; the warnings are among them, in reading order. */
  | { readonly problems: readonly Problem[] }

/** `file` is only what the problems are labelled with. */
export function parseConfig(text: string, file?: string): ParsedConfig {
  const { value, locate, problems: syntax, wellFormed } = readDocument(text, file)
  if (!wellFormed) return { problems: syntax }

  const parsed = configSchema.safeParse(value)
  const placed = parsed.success
    ? parsed.data.virtualRouters.map((router, index): Placed => ({ router, path: ['virtualRouters', index] }))
    : wellFormedRouters(value)
  const problems = [
    ...syntax,
    ...(parsed.success
      ? listenProblems(parsed.data.api.listen, parsed.data.api.public, locate)
      : schemaProblems(parsed.error.issues, value, locate)),
    ...crossCheck(placed, locate),
    ...placed.flatMap((each) => advice(each, locate)),
  ].sort(byPosition)
  if (parsed.success && !problems.some(isError)) return { config: parsed.data, warnings: problems, locate }
  return { problems }
}

/** So that the second mistake in a file does not wait for the first to be mended. */
function wellFormedRouters(value: unknown): Placed[] {
  const raw: unknown = typeof value === 'object' && value !== null ? Reflect.get(value, 'virtualRouters') : undefined
  if (!Array.isArray(raw)) return []
  return raw.flatMap((entry: unknown, index) => {
    const router = virtualRouterSchema.safeParse(entry)
    return router.success ? [{ router: router.data, path: ['virtualRouters', index] }] : []
  })
}
