/** What a command prints, and with which exit status it ends, when the daemon cannot be reached or refuses. */
import { EXIT } from '../app/exit-code.ts'
import type { CommandResult } from './command.ts'

/** For who is asked to understand it at night. */
const WHAT_IT_MEANS: Readonly<Record<string, string>> = {
  ENOENT: ' (it does not run, or has another runDirectory: --socket)',
  ECONNREFUSED: ' (it has died, or starts just now)',
  EACCES: ' (only root and the user of the daemon may ask)',
  ETIMEDOUT: ' (the process is running but not responding: frozen or no CPU)',
}

export function unreachable(socket: string, error: unknown): CommandResult {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const why = error instanceof Error ? `${error.message}${WHAT_IT_MEANS[code] ?? ''}` : String(error)
  return {
    exitCode: EXIT.unreachable,
    stdout: '',
    stderr: `holdfast: Cannot reach the daemon at ${socket}: ${why}\n`,
  }
}

/** The daemon is there and says no. */
export const refused = (message: string): CommandResult => ({
  exitCode: EXIT.failure,
  stdout: '',
  stderr: `holdfast: ${message}\n`,
})
