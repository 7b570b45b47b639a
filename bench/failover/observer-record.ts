/**
 * Derives what a host without a neighbour entry observed, from its broadcast questions (ARP or NDP) and all answers.
 * The figures are: how long two nodes answered, how long no node answered, and when each node announced. This file
 * decides that two answers to one question are two holders, even if both have one MAC address (FRR's virtual MAC).
 * Pure. This file does not know which node has which MAC address.
 */
import { type Entry, macOfNumber } from './journal.ts'

type Round = { readonly at: number; readonly macs: string[] }
export type Sign = { readonly at: number; readonly mac: string }

/** Milliseconds at the end of the window. A node that answers within them is assumed to continue to answer. */
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

  /** Returns the milliseconds of the window in which the function `wanted` accepts the number of answering nodes. */
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

  /** Returns the time of the first question in the window to which a MAC address outside of `before` answered. */
  claimedBy(before: ReadonlySet<string>, from: number, to: number): number | undefined {
    return this.#rounds.find(({ at, macs }) => at >= from && at <= to && macs.some((mac) => !before.has(mac)))?.at
  }

  announced(from: number, to: number): readonly Sign[] {
    return this.#announcements.filter(({ at }) => at >= from && at <= to)
  }
}
