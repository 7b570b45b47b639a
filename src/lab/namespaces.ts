/**
 * Creates network namespaces whose names have one prefix, and starts processes in them. This file decides that no
 * namespace and no process is left after destroy(). Functions are synchronous, so that an exit handler can clean up. A
 * command that fails throws with its error text.
 */
import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { run } from './command.ts'
import { inside, namespaceOf, type Where } from './ip.ts'
import { namespacesStarting, removeNamespaces } from './leftovers.ts'

/** A place in which processes are started: a lab, or another network with hosts. */
export type Site = {
  spawn(where: Where, argv: readonly string[], options?: SpawnOptions): ChildProcess
  /** Folder in which the output of each process is stored; `undefined`: no output is stored. */
  readonly logs?: string | undefined
  /** Path of the holdfast program that is started here; absent: the program of this package. */
  readonly program?: string
}

export class Namespaces {
  /** Prefix of all namespace names, which no other lab on this machine has. */
  readonly prefix: string
  readonly #children = new Set<ChildProcess>()
  #added = 0

  constructor(prefix: string) {
    this.prefix = prefix
  }

  /** Returns the full name of a network namespace, which need not exist yet. */
  named(name: string): string {
    return `${this.prefix}-${name}`
  }

  /**
   * Creates a network namespace with the loopback interface only, in which duplicate address detection is off. Returns
   * its name.
   */
  add(): string {
    this.#added += 1
    const namespace = this.named(`${this.#added}`)
    run(['ip', 'netns', 'add', namespace])
    inside(namespace, ['sh', '-c', 'echo 0 >/proc/sys/net/ipv6/conf/default/accept_dad; ip link set lo up'])
    return namespace
  }

  /** Runs a command in the network namespace and returns its standard output. */
  exec(where: Where, argv: readonly string[], input?: string): string {
    return inside(where, argv, input)
  }

  /**
   * Starts a process in the network namespace, in a process group of its own. destroy() ends the process at the latest.
   */
  spawn(where: Where, argv: readonly string[], options: SpawnOptions = {}): ChildProcess {
    const [file = '', ...rest] = this.commandOn(where, argv)
    const child = spawn(file, rest, { stdio: ['ignore', 'pipe', 'pipe'], ...options, detached: true })
    this.#children.add(child)
    child.once('exit', () => this.#children.delete(child))
    child.once('error', () => this.#children.delete(child))
    return child
  }

  commandOn(where: Where, argv: readonly string[]): string[] {
    return ['ip', 'netns', 'exec', namespaceOf(where), ...argv]
  }

  /** Kills all processes and removes the network namespaces, and with them every cable. Idempotent. */
  destroy(): void {
    for (const child of this.#children) {
      try {
        if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
      } catch {
        // The process has already ended.
      }
    }
    this.#children.clear()
    removeNamespaces(namespacesStarting(`${this.prefix}-`))
  }
}
