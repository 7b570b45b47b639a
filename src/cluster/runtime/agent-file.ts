/**
 * Reads the nodes that the agent of this node stores, for a monitor with `--nodes-from`. This file decides that a monitor watches
 * the nodes itself while the agent has stored none, for example because this node has no agent (docs/adr/0103).
 */

/** Milliseconds without a file of the agent until the monitor watches the nodes. After a boot the agent needs some seconds. */
const WITHOUT_FILE = 30_000

export type AgentFileOptions<T> = {
  /** Returns the stored nodes; `undefined` without a file, or the reason why the file cannot be used. */
  readonly read: () => T | string | undefined
  /** Watches the nodes of the cluster until `signal` is aborted. */
  readonly watch: (signal: AbortSignal) => void
  readonly now: () => number
}

export class AgentFile<T> {
  readonly #options: AgentFileOptions<T>
  /** Monotonic time since which the file does not exist. */
  #missingSince: number | undefined
  #watch: AbortController | undefined

  constructor(options: AgentFileOptions<T>) {
    this.#options = options
  }

  /** Reads the file, and begins or ends the watch of the nodes. */
  look(): T | string | undefined {
    const { now, read, watch } = this.#options
    const stored = read()
    if (stored !== undefined) {
      this.end()
      return stored
    }
    this.#missingSince ??= now()
    if (this.#watch !== undefined || now() - this.#missingSince < WITHOUT_FILE) return undefined
    this.#watch = new AbortController()
    watch(this.#watch.signal)
    return undefined
  }

  end(): void {
    this.#missingSince = undefined
    this.#watch?.abort()
    this.#watch = undefined
  }
}
