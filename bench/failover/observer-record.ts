/**
 * What a host without any neighbour entry saw, out of its questions to everybody and all answers: how long two answered,
 * how long nobody, and who announced itself when. Decides that two answers to one question are two owners, also with one
 * MAC (FRR's virtual one). Pure; refuses to know whose MAC is whose.
 */
import { type Entry, macOfNumber } from './journal.ts'

type Round = { readonly at: number; readonly macs: string[] }
export type Sign = { readonly at: number; readonly mac: string }

/** Of the end of the window: who answers then, is taken to go on. */
const LAST_ROUNDS_MS = 100

export class ObserverRecord {
  readonly #rounds: Round[] = []
  readonly #announcements: Sign[] = []

  take({ kind, value, at }: Entry): void {
    if (kind === 'asked') this.#rounds.push({ at, macs: [] })
    if (kind === 'claim') this.#rounds.at(-1)?.macs.push(macOfNumber(value))
    if (kind === 'announced') this.#announcements.push({ at, mac: macOfNumber(value) })
  }

  get asked(): number {
    return this.#rounds.length
  }

  /** ms of the window in which so many answered as `wanted` says. */
  #sum(from: number, to: number, wanted: (answers: number) => boolean): number {
    let sum = 0
    for (const [i, { at, macs }] of this.#rounds.entries()) {
      const until = Math.min(this.#rounds[i + 1]?.at ?? at, to)
      if (wanted(macs.length)) sum += Math.max(0, until - Math.max(at, from))
    }
    return sum
  }

  overlap(from: number, to: number): number {
    return this.#sum(from, to, (answers) => answers > 1)
  }

  silence(from: number, to: number): number {
    return this.#sum(from, to, (answers) => answers === 0)
  }

  /** Two answered at the end of the window. */
  doubled(to: number): boolean {
    const last = this.#rounds.filter(({ at }) => at > to - LAST_ROUNDS_MS && at <= to)
    return last.length > 0 && last.filter(({ macs }) => macs.length > 1).length > last.length / 2
  }

  /** The first question of the window that somebody answered whose MAC is not among `before`. */
  claimedBy(before: ReadonlySet<string>, from: number, to: number): number | undefined {
    return this.#rounds.find(({ at, macs }) => at >= from && at <= to && macs.some((mac) => !before.has(mac)))?.at
  }

  announced(from: number, to: number): readonly Sign[] {
    return this.#announcements.filter(({ at }) => at >= from && at <= to)
  }
}
