/**
 * What tells a run that its time is over: what probes need of an AbortSignal, without the machinery of events that makes
 * one expensive (docs/adr/0040). Refuses to know why.
 */

/** An AbortSignal is one. */
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
