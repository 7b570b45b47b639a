/** The schema of an entry of `healthchecks:`. The schema tests the keys and returns the health check. */
import * as z from 'zod'
import type { Check } from '../checks.ts'
import { checkFrom } from './healthcheck-defaults.ts'
import { healthcheckKeys } from './healthcheck-keys.ts'
import { kindProblems } from './healthcheck-kind.ts'

/**
 * The schema of health checks is created at its first use. Creating it takes as long as all other schemas together,
 * which would delay the start of the daemon.
 */
export const healthcheckSchema = z.lazy(() =>
  healthcheckKeys().transform((entry, context): Check => {
    const problems = kindProblems(entry)
    for (const { path, message, isWhole = false } of problems)
      context.issues.push({ code: 'custom', message, input: entry, path: [...path], params: { isWhole } })
    const check = problems.length > 0 ? undefined : checkFrom(entry)
    return check ?? z.NEVER
  }),
)
