/**
 * Programs that one launcher may run, one at a time (docs/adr/0026): of an exec check there is one, of the notifications
 * of a router there are some. Values only. Refuses to know when they are run.
 */
import type { ExecSpec } from '../check.ts'

export type LaunchedArgv = readonly [program: string, ...rest: string[]]

export type ProgramSet = {
  /** `numbered`: a number from 0 to 255, which comes with each run, is appended to the arguments. */
  readonly programs: readonly { readonly argv: LaunchedArgv; readonly numbered: boolean }[]
  /** Beside PATH. */
  readonly environment: Readonly<Record<string, string>>
  /** A name of /etc/passwd or a number; undefined: as the daemon. */
  readonly user: string | undefined
  /** `keep`: those of the daemon, where the user is its own or root (docs/adr/0026). undefined: none. */
  readonly capabilities?: 'keep' | undefined
  /** `run`: also what others can change; `skip`: that is no failure. undefined: it is one. */
  readonly unsafe?: 'skip' | 'run' | undefined
  /** What a program leaves behind when it ends by itself lives on; what is killed leaves nothing either way. */
  readonly spare: boolean
}

/** Which of the programs, and with which number. */
export type WantedRun = { readonly index: number; readonly number: number | undefined }

export const programSetOf = ({ argv, capabilities, environment, unsafe, user }: ExecSpec): ProgramSet => ({
  programs: [{ argv, numbered: false }],
  environment,
  user,
  capabilities,
  unsafe,
  spare: false,
})
