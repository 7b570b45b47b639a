/**
 * The engine's side of launchers: whoever asks for one gets it for a program that a check in force names, and for no
 * other. Decided here: that, and that none outlives the thread that asked. Refuses to know how a process is started.
 */
import { isDeepStrictEqual } from 'node:util'
import type { CheckSpec, ExecSpec } from '../healthcheck/check.ts'
import type { Refusal } from '../healthcheck/exec.ts'
import { type User, userNamed } from '../healthcheck/user.ts'

export const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

export type Program = {
  readonly argv: readonly string[]
  /** All of it: nothing is inherited. */
  readonly environment: Readonly<Record<string, string>>
  /** undefined: as the daemon. */
  readonly user: User | undefined
}

export type LauncherPort = {
  /** The caller's end of the channel stays with the caller. Throws Error with a `code`. */
  readonly start: (program: Program, channel: number, onEnd: () => void) => { end(): void }
  /** Nobody is to have it (any more). */
  readonly closeChannel: (channel: number) => void
}

export class Launchers {
  readonly #port: LauncherPort
  readonly #running = new Set<{ end(): void }>()

  constructor(port: LauncherPort) {
    this.#port = port
  }

  /** Takes the descriptor, whatever comes of it. `isWanted`: whether whoever asked is still there. */
  async launch(
    wanted: ExecSpec,
    channel: number,
    inForce: readonly CheckSpec[],
    isWanted: () => boolean = () => true,
  ): Promise<Refusal | undefined> {
    const [path] = wanted.argv
    const refuse = (reason: Refusal['reason'], detail: string): Refusal => ({ reason, detail })
    try {
      const known = inForce.some(({ probe }) => isDeepStrictEqual(probe, wanted))
      if (!known) return refuse('notPossible', `Cannot run ${path}: no check in force names it`)
      const user = wanted.user === undefined ? undefined : await userNamed(wanted.user)
      if (user === 'missing') return refuse('userNotPermitted', `There is no user "${wanted.user}" on this node`)
      // It would have the name of a thread that is gone, and nobody would end it with that.
      if (!isWanted()) return refuse('notPossible', `Cannot run ${path}: the thread that asked is gone`)
      const program = { argv: wanted.argv, environment: { PATH, ...wanted.environment }, user }
      const launcher = this.#port.start(program, channel, () => this.#running.delete(launcher))
      this.#running.add(launcher)
      return undefined
    } catch (error) {
      return refuse('notPossible', `Cannot run ${path}: ${error instanceof Error ? error.message : String(error)}`)
    } finally {
      this.#port.closeChannel(channel)
    }
  }

  /** The thread that had them is gone: so are their channels, as a rule. */
  endAll(): void {
    for (const launcher of this.#running) launcher.end()
    this.#running.clear()
  }
}
