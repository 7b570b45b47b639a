/**
 * The engine's side of launchers: whoever asks for one gets it for programs that the configuration in force names, and for
 * no others. Decided here: that, and that none outlives the thread that asked. Refuses to know how a process is started.
 */

import { isDeepStrictEqual } from 'node:util'
import { messageOf } from '../base/message-of.ts'
import type { Refusal } from '../healthcheck/programs/launched-programs.ts'
import type { ProgramSet } from '../healthcheck/programs/program-set.ts'
import { type User, userNamed } from '../healthcheck/programs/user.ts'

export const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

export type Programs = Pick<ProgramSet, 'programs' | 'spare' | 'capabilities'> & {
  /** All of it: nothing is inherited. */
  readonly environment: Readonly<Record<string, string>>
  /** undefined: as the daemon. */
  readonly user: User | undefined
}

export type LauncherPort = {
  /** The caller's end of the channel stays with the caller. Throws Error with a `code`. */
  readonly start: (programs: Programs, channel: number, onEnd: () => void) => { end(): void }
  /** Nobody is to have it (any more). */
  readonly closeChannel: (channel: number) => void
}

export class Launchers {
  readonly #port: LauncherPort
  readonly #running = new Set<{ end(): void }>()
  readonly #inForce = new Map<string, readonly ProgramSet[]>()

  constructor(port: LauncherPort) {
    this.#port = port
  }

  /** From now on these of `owner` may be asked for, instead of those before. */
  permit(owner: 'healthchecks' | 'notify', sets: readonly ProgramSet[]): void {
    this.#inForce.set(owner, sets)
  }

  /** Takes the descriptor, whatever comes of it. `isWanted`: whether whoever asked is still there. */
  async launch(
    wanted: ProgramSet,
    channel: number,
    isWanted: () => boolean = () => true,
  ): Promise<Refusal | undefined> {
    const path = wanted.programs[0]?.argv[0] ?? 'nothing'
    const refuse = (reason: Refusal['reason'], detail: string): Refusal => ({ reason, detail })
    try {
      const known = [...this.#inForce.values()].some((sets) => sets.some((set) => isDeepStrictEqual(set, wanted)))
      if (!known) return refuse('notPossible', `Cannot run ${path}: nothing in force names it`)
      const user = wanted.user === undefined ? undefined : await userNamed(wanted.user)
      if (user === 'missing') return refuse('userNotPermitted', `There is no user "${wanted.user}" on this node`)
      // It would have the name of a thread that is gone, and nobody would end it with that.
      if (!isWanted()) return refuse('notPossible', `Cannot run ${path}: the thread that asked is gone`)
      const programs = { ...wanted, environment: { PATH, ...wanted.environment }, user }
      const launcher = this.#port.start(programs, channel, () => this.#running.delete(launcher))
      this.#running.add(launcher)
      return undefined
    } catch (error) {
      return refuse('notPossible', `Cannot run ${path}: ${messageOf(error)}`)
    } finally {
      this.#port.closeChannel(channel)
    }
  }

  /** Whoever asked is gone: nobody is to have the descriptor. */
  discard(channel: number): void {
    this.#port.closeChannel(channel)
  }

  /** The thread that had them is gone: so are their channels, as a rule. */
  endAll(): void {
    for (const launcher of this.#running) launcher.end()
    this.#running.clear()
  }
}
