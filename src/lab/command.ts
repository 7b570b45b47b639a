/** Runs commands of the operating system and waits for their end. */
import { execFileSync } from 'node:child_process'
import { defined } from '../base/defined.ts'
import { messageOf } from '../base/message-of.ts'

/** Returns why a command failed: the text of its standard error, or the reason why it could not be started. */
function reasonOf(error: unknown): string {
  if (error instanceof Error && 'stderr' in error && String(error.stderr).trim() !== '')
    return String(error.stderr).trim()
  return messageOf(error)
}

/** Runs a command and returns its standard output. Throws with its standard error if the command fails. */
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
