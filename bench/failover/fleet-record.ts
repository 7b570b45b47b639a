/**
 * The observations of one client of many addresses: the answering node of each, and for how long none answered. This
 * file decides that only a probe can be unanswered. While the client itself did not ask, no node was silent. Pure. This
 * file does not know how the client asks.
 */

type Watched = { name: string; asked: number; answered: number; silentSince: number | undefined; silence: number }

export class FleetRecord {
  readonly #watched: readonly Watched[]

  constructor(count: number) {
    const unanswered = () => ({ name: '', asked: 0, answered: 0, silentSince: undefined, silence: 0 })
    this.#watched = Array.from({ length: count }, unanswered)
  }

  /** Returns the number of the probe, for answered(). */
  ask(vip: number, at: number): number {
    const one = this.#watched[vip]
    if (one === undefined) return 0
    one.silentSince ??= at
    one.asked += 1
    return one.asked
  }

  /**
   * Returns true for another node than before. An answer to a probe that is older than the last answered one changes
   * nothing.
   */
  answer(vip: number, probe: number, name: string, at: number): boolean {
    const one = this.#watched[vip]
    if (one === undefined || probe <= one.answered) return false
    this.#count(one, probe - 1, at)
    one.answered = probe
    one.silentSince = probe === one.asked ? undefined : at
    const moved = one.name !== name
    one.name = name
    return moved
  }

  /** Silences count from now. */
  begin(): void {
    for (const one of this.#watched) one.silence = 0
  }

  /** Returns the longest silence at each address, up to `at`. */
  end(at: number): readonly number[] {
    for (const one of this.#watched) this.#count(one, one.asked, at)
    return this.#watched.map(({ silence }) => Math.round(silence))
  }

  /** Counts the unanswered probes up to `last`. */
  #count(one: Watched, last: number, at: number): void {
    if (last <= one.answered || one.silentSince === undefined) return
    one.silence = Math.max(one.silence, at - one.silentSince)
  }
}
