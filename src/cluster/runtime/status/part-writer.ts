/**
 * Writes the fields of one field manager to the API, and writes them again after a failure, or if another client has
 * overwritten them. This file decides how long a failed write waits.
 */
import type { Written } from './status-api.ts'

/** Delays in milliseconds after a failed write; they double up to the longest, and half of each is random. */
const RETRY = { first: 250, longest: 30_000 }
/** Delays for writes of fields that were refused, or that another client keeps overwriting. */
const PATIENT = { first: 1_000, longest: 60_000 }
const FORGIVEN_AFTER = 300_000

/**
 * Writes the fields that belong to one field manager (server-side apply). A single write runs at a time, and each write
 * has the latest state.
 */
export class PartWriter {
  readonly #write: (body: string) => Promise<Written>
  readonly #random: () => number
  #wanted: string | undefined
  /** JSON of the status fields that the API accepted last from this agent; `undefined` if it accepted none. */
  #applied: string | undefined
  #isWriting = false
  #timer: NodeJS.Timeout | undefined
  #failures = 0
  #isMissing = false
  #overwritten = 0
  #overwrittenAt = 0

  constructor(write: (body: string) => Promise<Written>, random: () => number = Math.random) {
    this.#write = write
    this.#random = random
  }

  /**
   * Sets the fields to write. Tells whether another client has overwritten the fields, so that they must be written
   * again.
   */
  want(body: string, isThere: boolean): boolean {
    if (body !== this.#wanted) {
      this.#wanted = body
      // After a failure, the new state waits like the old one, because the reason of the failure may still exist.
      if (this.#failures === 0 && !this.#isWriting) this.#pump(0)
      return false
    }
    if (this.#isWriting || this.#timer !== undefined || body !== this.#applied || isThere) return false
    const now = performance.now()
    if (now - this.#overwrittenAt > FORGIVEN_AFTER) this.#overwritten = 0
    this.#overwrittenAt = now
    this.#pump(this.#pause(PATIENT, this.#overwritten++))
    return true
  }

  /** Reports that the HostedNetServices object exists now, so a write that found no object is tried again. */
  found(): void {
    if (this.#isMissing && this.#timer !== undefined) this.#pump(0)
    this.#isMissing = false
  }

  /** Stops writing these fields, because another node writes them now. */
  forget(): void {
    this.#wanted = undefined
    this.#applied = undefined
    this.#failures = 0
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  end(): void {
    this.forget()
  }

  #pause({ first, longest }: typeof RETRY, times: number): number {
    const full = Math.min(longest, first * 2 ** Math.min(times, 16))
    return full / 2 + (full / 2) * this.#random()
  }

  #pump(after: number): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (after <= 0) return void this.#run()
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      void this.#run()
    }, after)
    this.#timer.unref()
  }

  async #run(): Promise<void> {
    const body = this.#wanted
    if (body === undefined || this.#isWriting) return
    this.#isWriting = true
    const written = await this.#write(body)
    this.#isWriting = false
    this.#isMissing = written.kind === 'missing'
    if (written.kind === 'done') {
      this.#failures = 0
      this.#applied = body
    } else {
      this.#failures++
    }
    if (this.#wanted === undefined) return
    if (written.kind !== 'done')
      return this.#pump(
        this.#pause(['refused', 'missing'].includes(written.kind) ? PATIENT : RETRY, this.#failures - 1),
      )
    if (this.#wanted !== body) this.#pump(0)
  }
}
