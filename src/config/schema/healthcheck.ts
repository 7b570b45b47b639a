/** An entry of `healthchecks:` as a schema: keys, what goes with what, and the check that comes out of it. */
import * as z from 'zod'
import type { Check } from '../checks.ts'
import { checkFrom } from './healthcheck-defaults.ts'
import { healthcheckKeys } from './healthcheck-keys.ts'
import { kindProblems } from './healthcheck-kind.ts'

/** Made when there is a check to read: making it takes as long as all other schemas together, and a start waits for it. */
export const healthcheckSchema = z.lazy(() =>
  healthcheckKeys().transform((entry, context): Check => {
    const problems = kindProblems(entry)
    for (const { path, message, isWhole = false } of problems)
      context.issues.push({ code: 'custom', message, input: entry, path: [...path], params: { isWhole } })
    const check = problems.length > 0 ? undefined : checkFrom(entry)
    return check ?? z.NEVER
  }),
)
