/**
 * Starts and ends launchers in the engine. A launcher is started only for programs of the configuration in force, and
 * ends at the latest with the worker thread that asked for it. This file knows nothing about how a process is started.
 */

import { isDeepStrictEqual } from 'node:util'
import { messageOf } from '../base/message-of.ts'
import type { Refusal } from '../healthcheck/programs/launched-programs.ts'
import type { ProgramSet } from '../healthcheck/programs/program-set.ts'
import { type User, userNamed } from '../healthcheck/programs/user.ts'

export const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

export type Programs = Pick<ProgramSet, 'programs' | 'spare' | 'capabilities'> & {
  /** The complete environment of the program: no variable is inherited. */
  readonly environment: Readonly<Record<string, string>>
  /** User that runs the program; `undefined`: the user of the daemon. */
  readonly user: User | undefined
}

export type LauncherPort = {
  /** Starts a launcher. The caller keeps its end of the channel. Throws Error with a `code`. */
  readonly start: (programs: Programs, channel: number, onEnd: () => void) => { end(): void }
  /** Closes a channel to a launcher that no process needs. */
  readonly closeChannel: (channel: number) => void
}

export class Launchers {
  readonly #port: LauncherPort
  readonly #running = new Set<{ end(): void }>()
  readonly #inForce = new Map<string, readonly ProgramSet[]>()

  constructor(port: LauncherPort) {
    this.#port = port
  }

  /** Sets the programs of `purpose` that may be started. */
  permit(purpose: 'healthchecks' | 'notify', sets: readonly ProgramSet[]): void {
    this.#inForce.set(purpose, sets)
  }

  /**
   * Starts a launcher. Closes the engine's copy of the channel in every case. `isWanted` tells whether the worker
   * thread that asked still runs.
   */
  async launch(
    wanted: ProgramSet,
    channel: number,
    isWanted: () => boolean = () => true,
  ): Promise<Refusal | undefined> {
    const path = wanted.programs[0]?.argv[0] ?? 'nothing'
    const refuse = (reason: Refusal['reason'], detail: string): Refusal => ({ reason, detail })
    try {
      const known = [...this.#inForce.values()].some((sets) => sets.some((set) => isDeepStrictEqual(set, wanted)))
      if (!known) return refuse('notPossible', `Cannot run ${path}: the configuration in force does not name it`)
      const user = wanted.user === undefined ? undefined : await userNamed(wanted.user)
      if (user === 'missing') return refuse('userNotPermitted', `There is no user "${wanted.user}" on this node`)
      // If the worker thread has ended, no thread would stop the launcher (the process that runs programs).
      if (!isWanted()) return refuse('notPossible', `Cannot run ${path}: the thread that asked has ended`)
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

  /** Closes the channel of a worker thread that has ended. */
  discard(channel: number): void {
    this.#port.closeChannel(channel)
  }

  /** Ends the launchers of a worker thread that has ended. Most of their channels are closed already. */
  endAll(): void {
    for (const launcher of this.#running) launcher.end()
    this.#running.clear()
  }
}
