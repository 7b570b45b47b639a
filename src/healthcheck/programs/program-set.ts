/**
 * Programs that one launcher may run, one at a time (docs/adr/0026): one program for an exec check, several programs
 * for the notifications of a router. A set has values only.
 */
import type { ExecSpec } from '../check.ts'

export type LaunchedArgv = readonly [program: string, ...rest: string[]]

export type ProgramSet = {
  /** `numbered`: each run appends a number from 0 to 255 to the arguments. */
  readonly programs: readonly { readonly argv: LaunchedArgv; readonly numbered: boolean }[]
  /** Environment variables of the programs besides PATH. */
  readonly environment: Readonly<Record<string, string>>
  /** User of the programs: a name in /etc/passwd or a number. `undefined`: the daemon's user. */
  readonly user: string | undefined
  /**
   * `keep`: the programs have the daemon's capabilities, if their user is the daemon's own or root (docs/adr/0026).
   * `undefined`: the programs have no capabilities.
   */
  readonly capabilities?: 'keep' | undefined
  /**
   * Handling of programs that other users can change. `run`: they are run. `skip`: they are not run, which is no
   * failure. `undefined`: they are not run, which is a failure.
   */
  readonly unsafe?: 'skip' | 'run' | undefined
  /**
   * True if child processes live on after the program has ended by itself. If the program is killed, its child
   * processes are killed, too.
   */
  readonly spare: boolean
}

/**
 * A requested run: position of the program in the set, and the number that the program gets as an argument;
 * `undefined`: no number.
 */
export type WantedRun = { readonly index: number; readonly number: number | undefined }

export const programSetOf = ({ argv, capabilities, environment, unsafe, user }: ExecSpec): ProgramSet => ({
  programs: [{ argv, numbered: false }],
  environment,
  user,
  capabilities,
  unsafe,
  spare: false,
})
