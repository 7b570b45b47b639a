/**
 * Derives the experience of one client from its probes and the replies: outage, lost probes, the answering node over
 * time, and how punctual the measuring program was. This file decides what an outage is, and which delay is the
 * measuring program's own. Pure. This file does not know where the records come from, nor what happened to the routers.
 */
import type { Entry } from './journal.ts'
import { spreadOf } from './statistics.ts'

type Probe = { readonly sentAt: number; readonly lateness: number; readonly error: number }
type Reply = { readonly at: number; readonly by: number; readonly sequence: number }

export type HolderNumber = { readonly at: number; readonly by: number }

/**
 * Punctuality of the measuring program (the gauge), in milliseconds. The figures for punctuality do not describe the
 * routers.
 */
export type Punctuality = {
  readonly fifo: boolean
  /** Median delay of a probe: from the time at which the probe was due to the time at which it was sent. */
  readonly lateP50Ms: number
  readonly lateP99Ms: number
  readonly lateMaxMs: number
  /** 99th percentile of the time between two probes. */
  readonly spacingP99Ms: number
  /** Median time from a probe to its reply, by the kernel's time stamps. */
  readonly roundTripP50Ms: number
  readonly roundTripP99Ms: number
  /** Number of due probes that were not sent, because the kernel did not schedule the measuring program. */
  readonly missedTicks: number
}

/** Milliseconds after which a reply to a probe no longer counts, as for most clients. */
const ANSWER_LIMIT = 1_000
/**
 * Milliseconds. A time without replies is no outage if it exceeds the measuring program's own delay by at most this
 * much.
 */
const EXPLAINED = 0.5

export class ClientRecord {
  #interval = 1
  #fifo = false
  readonly #probes: Probe[] = []
  /** First reply to each probe, in the order of their arrival. */
  readonly #replies: Reply[] = []
  readonly #answeredAt = new Map<number, number>()
  readonly #holders: HolderNumber[] = []
  #doubled = 0

  take({ kind, number, value, at, other }: Entry): void {
    if (kind === 'begin') {
      this.#interval = other
      this.#fifo = number === 1
    }
    if (kind === 'sent') this.#probes[value] = { sentAt: at, lateness: at - other, error: number }
    if (kind === 'reply') this.#takeReply({ at, by: number, sequence: value })
  }

  #takeReply(reply: Reply): void {
    if (this.#answeredAt.has(reply.sequence)) {
      this.#doubled += 1
      return
    }
    this.#answeredAt.set(reply.sequence, reply.at)
    this.#replies.push(reply)
    if (this.#holders.at(-1)?.by !== reply.by) this.#holders.push({ at: reply.at, by: reply.by })
  }

  get holders(): readonly HolderNumber[] {
    return this.#holders
  }

  /** Number of probes that two nodes answered. */
  get doubled(): number {
    return this.#doubled
  }

  /** Returns the number of the node that answered last before the time `at`; `undefined` if no node did. */
  holderAt(at: number): number | undefined {
    return this.#holders.findLast((holder) => holder.at <= at)?.by
  }

  #within(from: number, to: number): readonly (Probe & { readonly sequence: number })[] {
    const found: (Probe & { readonly sequence: number })[] = []
    for (const [sequence, probe] of this.#probes.entries())
      if (probe !== undefined && probe.sentAt >= from && probe.sentAt <= to) found.push({ ...probe, sequence })
    return found
  }

  sent(from: number, to: number): number {
    return this.#within(from, to).length
  }

  lost(from: number, to: number): number {
    return this.#within(from, to).filter(({ sequence, sentAt }) => {
      const answeredAt = this.#answeredAt.get(sequence)
      return answeredAt === undefined || answeredAt - sentAt > ANSWER_LIMIT
    }).length
  }

  /** Returns the longest time in ms between two probes around the span from `from` to `to`. */
  #longestSpacing(from: number, to: number): number {
    const around = this.#within(from - 2 * this.#interval, to)
    return around.reduce((longest, { sentAt }, i) => Math.max(longest, sentAt - (around[i - 1]?.sentAt ?? sentAt)), 0)
  }

  /**
   * Returns the longest time in ms between two replies, of all such times that overlap the window. An outage that has
   * not ended counts up to the end of the window.
   */
  outage(from: number, to: number): number {
    return this.#longestSilence(from, to).ms
  }

  /** Returns when the longest outage of the window began; `undefined` if there was none. */
  outageAt(from: number, to: number): number | undefined {
    return this.#longestSilence(from, to).at
  }

  #longestSilence(from: number, to: number): { readonly at: number | undefined; readonly ms: number } {
    const first = this.#replies.findLastIndex(({ at }) => at <= from)
    const times = this.#replies.slice(Math.max(0, first)).flatMap(({ at }) => (at <= to ? [at] : []))
    let longest = Math.min(this.#interval, to - from)
    let longestAt: number | undefined
    for (const [i, at] of times.entries()) {
      const until = times[i + 1] ?? to
      const silence = until - at
      if (silence <= longest || until <= from) continue
      if (silence > 1.5 * this.#interval && silence - this.#longestSpacing(at, until) < EXPLAINED) continue
      // The last reply of the window is followed by a reply after the window, unless an outage lasts to the end.
      if (times[i + 1] === undefined && silence < 3 * this.#interval) continue
      longest = silence
      if (silence > 1.5 * this.#interval) longestAt = at
    }
    return { at: longestAt, ms: longest }
  }

  /** Returns the first reply between the times `from` and `to` that a node other than `before` has sent. */
  movedFrom(before: number, from: number, to = Number.POSITIVE_INFINITY): HolderNumber | undefined {
    return this.#replies.find(({ at, by }) => at >= from && at <= to && by !== before)
  }

  /** Returns the time of the last reply of the node `by` up to the time `to`. */
  lastOf(by: number, to: number): number | undefined {
    return this.#replies.findLast((reply) => reply.by === by && reply.at <= to)?.at
  }

  /** Returns the time from which the node that answers at `to` has answered without a change. */
  settledAt(to: number): number | undefined {
    return this.#holders.findLast((holder) => holder.at <= to)?.at
  }

  punctuality(from: number, to: number): Punctuality {
    const probes = this.#within(from, to)
    const late = probes.map(({ lateness }) => lateness)
    const spacing = probes.slice(1).map(({ sentAt }, i) => sentAt - (probes[i]?.sentAt ?? sentAt))
    const trips = probes.flatMap(({ sequence, sentAt }) => {
      const answeredAt = this.#answeredAt.get(sequence)
      return answeredAt === undefined ? [] : [answeredAt - sentAt]
    })
    const span = (probes.at(-1)?.sentAt ?? 0) - (probes[0]?.sentAt ?? 0)
    const expected = Math.round(span / this.#interval) + 1
    return {
      fifo: this.#fifo,
      lateP50Ms: spreadOf(late).median,
      lateP99Ms: spreadOf(late).p99,
      lateMaxMs: spreadOf(late).max,
      spacingP99Ms: spreadOf(spacing).p99,
      roundTripP50Ms: spreadOf(trips).median,
      roundTripP99Ms: spreadOf(trips).p99,
      missedTicks: Math.max(0, expected - probes.length),
    }
  }
}
