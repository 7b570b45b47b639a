/**
 * Signals to a run of a check that its time is over. A Cutoff has the functions of AbortSignal that probes need,
 * without the cost of its event machinery (docs/adr/0040).
 */

/** The type of a cutoff. An AbortSignal has this type, too. */
export type Cutoff = {
  readonly aborted: boolean
  addEventListener(type: 'abort', listener: () => void, options: { readonly once: true }): void
  removeEventListener(type: 'abort', listener: () => void): void
}

export class RunCutoff implements Cutoff {
  readonly #listeners = new Set<() => void>()
  #aborted = false

  get aborted(): boolean {
    return this.#aborted
  }

  addEventListener(_type: 'abort', listener: () => void): void {
    this.#listeners.add(listener)
  }

  removeEventListener(_type: 'abort', listener: () => void): void {
    this.#listeners.delete(listener)
  }

  abort(): void {
    if (this.#aborted) return
    this.#aborted = true
    for (const listener of this.#listeners) listener()
    this.#listeners.clear()
  }
}
