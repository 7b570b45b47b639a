/** Runs commands of the system to their end. */
import { execFileSync } from 'node:child_process'
import { defined } from '../base/defined.ts'
import { messageOf } from '../base/message-of.ts'

/** Returns what the command wrote to its standard error, or why it could not run. */
function reasonOf(error: unknown): string {
  if (error instanceof Error && 'stderr' in error && String(error.stderr).trim() !== '')
    return String(error.stderr).trim()
  return messageOf(error)
}

/** Returns the standard output of a command; throws with its standard error when the command fails. */
export function run(argv: readonly string[], input?: string): string {
  const [file = '', ...rest] = argv
  try {
    return execFileSync(file, rest, {
      encoding: 'utf8',
      stdio: ['pipe', 'pipe', 'pipe'],
      maxBuffer: 1 << 26,
      ...defined({ input }),
    })
  } catch (error) {
    throw new Error(`Cannot run "${argv.join(' ')}": ${reasonOf(error)}`, { cause: error })
  }
}
