/**
 * Derives what one client of many addresses observed: the answering node of each address, and for how long no node
 * answered. This file decides that only a sent probe can be unanswered. While the client itself sent no probe, no node
 * counts as silent. Pure. This file does not know how the client sends its probes.
 */

type Watched = { name: string; asked: number; answered: number; silentSince: number | undefined; silence: number }

export class FleetRecord {
  readonly #watched: readonly Watched[]

  constructor(count: number) {
    const unanswered = () => ({ name: '', asked: 0, answered: 0, silentSince: undefined, silence: 0 })
    this.#watched = Array.from({ length: count }, unanswered)
  }

  /** Records a sent probe. Returns the number of the probe, which `answer` takes. */
  ask(vip: number, at: number): number {
    const one = this.#watched[vip]
    if (one === undefined) return 0
    one.silentSince ??= at
    one.asked += 1
    return one.asked
  }

  /**
   * Records an answer. Returns true if another node answered than before. An answer to an older probe than the last
   * answered one changes nothing.
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

  /** Starts the measurement: times without an answer count from this call on. */
  begin(): void {
    for (const one of this.#watched) one.silence = 0
  }

  /** Returns the longest time without an answer at each address in ms, up to the time `at`. */
  end(at: number): readonly number[] {
    for (const one of this.#watched) this.#count(one, one.asked, at)
    return this.#watched.map(({ silence }) => Math.round(silence))
  }

  /** Counts the unanswered probes of one address, up to the probe `last`. */
  #count(one: Watched, last: number, at: number): void {
    if (last <= one.answered || one.silentSince === undefined) return
    one.silence = Math.max(one.silence, at - one.silentSince)
  }
}
