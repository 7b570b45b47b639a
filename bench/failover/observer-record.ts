/**
 * The observations of a host without any neighbour entry, from its broadcast questions and all answers: how long two
 * nodes answered, how long none, and which announced when. This file decides that two answers to one question are two
 * holders, also with one MAC (FRR's virtual one). Pure. This file does not know which node a MAC belongs to.
 */
import { type Entry, macOfNumber } from './journal.ts'

type Round = { readonly at: number; readonly macs: string[] }
export type Sign = { readonly at: number; readonly mac: string }

/** Milliseconds at the end of the window. A node that answers then is assumed to continue. */
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

  /** Returns the ms of the window in which `wanted` accepts the number of answers. */
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

  /** Returns true if two nodes answered at the end of the window. */
  doubled(to: number): boolean {
    const last = this.#rounds.filter(({ at }) => at > to - LAST_ROUNDS_MS && at <= to)
    return last.length > 0 && last.filter(({ macs }) => macs.length > 1).length > last.length / 2
  }

  /** Returns the first question of the window that a MAC outside of `before` answered. */
  claimedBy(before: ReadonlySet<string>, from: number, to: number): number | undefined {
    return this.#rounds.find(({ at, macs }) => at >= from && at <= to && macs.some((mac) => !before.has(mac)))?.at
  }

  announced(from: number, to: number): readonly Sign[] {
    return this.#announcements.filter(({ at }) => at >= from && at <= to)
  }
}
