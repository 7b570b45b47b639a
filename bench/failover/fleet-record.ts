/**
 * What one client of many addresses saw: who answers at which, and for how long nobody did. Decides that only a probe can go
 * unanswered: in the time in which the client itself did not ask, nobody was silent. Pure; refuses to know how it asks.
 */

type Watched = { name: string; asked: number; answered: number; silentSince: number | undefined; silence: number }

export class FleetRecord {
  readonly #watched: readonly Watched[]

  constructor(count: number) {
    const nobody = () => ({ name: '', asked: 0, answered: 0, silentSince: undefined, silence: 0 })
    this.#watched = Array.from({ length: count }, nobody)
  }

  /** The number of the probe, for answered(). */
  ask(vip: number, at: number): number {
    const one = this.#watched[vip]
    if (one === undefined) return 0
    one.silentSince ??= at
    one.asked += 1
    return one.asked
  }

  /** True: somebody else than before. An answer to an older probe than the last that was answered says nothing new. */
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

  /** Silences count from here. */
  begin(): void {
    for (const one of this.#watched) one.silence = 0
  }

  /** The longest silence at each address, up to `at`. */
  end(at: number): readonly number[] {
    for (const one of this.#watched) this.#count(one, one.asked, at)
    return this.#watched.map(({ silence }) => Math.round(silence))
  }

  /** Probes up to `last` were not answered, if there are any. */
  #count(one: Watched, last: number, at: number): void {
    if (last <= one.answered || one.silentSince === undefined) return
    one.silence = Math.max(one.silence, at - one.silentSince)
  }
}
