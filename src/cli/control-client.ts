/** Results of a command when the daemon cannot be reached or refuses a request. */
import { EXIT } from '../app/exit-code.ts'
import type { CommandResult } from './command.ts'

/** Likely cause of each error code of a connection to the daemon. */
const WHAT_IT_MEANS: Readonly<Record<string, string>> = {
  ENOENT: ' (the daemon does not run, or has another runDirectory: give its socket with --socket)',
  ECONNREFUSED: ' (the daemon has died, or is still starting)',
  EACCES: ' (only root and the user of the daemon have access)',
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

/** Returns output and exit status of a command whose request the daemon refused. */
export const refused = (message: string): CommandResult => ({
  exitCode: EXIT.failure,
  stdout: '',
  stderr: `holdfast: ${message}\n`,
})
