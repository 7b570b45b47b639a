/**
 * Runs the effects of one turn, of all routers together: in rounds, the first order of every router, then the second
 * one, and in a round one syscall for all advertisements of a segment and one for all address steps. So the order
 * inside one router stays the list of the core, and in a takeover of many all advertisements go before all addresses.
 * Refuses to know what an order is for; an outcome goes back to whoever gave the order.
 */
import type { Millis } from '../wire/units.ts'
import type { AddressOutcome, AddressStep, Datagram, SendOutcome } from './ports.ts'

/** Where datagrams go out; one batch for each of them and round. */
export type Sender = { send(datagrams: readonly Datagram[]): readonly SendOutcome[] }

/** Where questions go out that nobody waits for. */
export type Asker = { ask(questions: readonly Uint8Array[]): void }

type Part<I, O> = {
  readonly items: readonly I[]
  /** One outcome for each item, in order. */
  readonly done: (outcomes: readonly O[], now: Millis) => void
}
type SendAct = { readonly kind: 'send'; readonly sender: Sender } & Part<Datagram, SendOutcome>
type AskAct = { readonly kind: 'ask'; readonly asker: Asker; readonly items: readonly Uint8Array[] }
type ApplyAct = { readonly kind: 'apply' } & Part<AddressStep, AddressOutcome>

/** What is to be done, for the runner to do together with what others want done. */
export type Act = SendAct | ApplyAct | AskAct

/** Asked when its turn has come, because what an order means depends on what the kernel has by then; undefined: done. */
export type Order = (now: Millis) => Act | undefined

export class EffectRunner {
  readonly #apply: (steps: readonly AddressStep[]) => readonly AddressOutcome[]
  /** By owner, in the order in which they first wanted something. */
  readonly #orders = new Map<object, Order[]>()
  readonly #afterwards = new Set<() => void>()
  readonly #tellings: (() => void)[] = []
  readonly #afterSending = new Set<() => void>()
  #running = false

  constructor(apply: (steps: readonly AddressStep[]) => readonly AddressOutcome[]) {
    this.#apply = apply
  }

  /** Nothing waits to be done. */
  get idle(): boolean {
    return this.#orders.size === 0 && this.#afterwards.size === 0
  }

  /** Behind what the owner wanted before. */
  add(owner: object, orders: readonly Order[]): void {
    if (orders.length === 0) return
    const before = this.#orders.get(owner)
    if (before === undefined) this.#orders.set(owner, [...orders])
    else before.push(...orders)
  }

  /** Once, when nothing is left to do. */
  afterwards(settle: () => void): void {
    this.#afterwards.add(settle)
  }

  /** What only has to be told, to the log and the journal: no announcement of 255 routers waits for their lines. */
  tellLater(tell: () => void): void {
    this.#tellings.push(tell)
  }

  /** When the announcements of the turn are out. */
  tell(): void {
    for (const tell of this.#tellings.splice(0)) tell()
  }

  /** Once, when what is sent in this round has been sent, and before what takes longer. Only from `done` of a sending. */
  afterSending(settle: () => void): void {
    this.#afterSending.add(settle)
  }

  /** Until nothing is left: outcomes may give new orders. Called from inside, it leaves that to the one at work. */
  run(now: Millis): void {
    if (this.#running) return
    this.#running = true
    while (this.#orders.size > 0 || this.#afterwards.size > 0) {
      while (this.#orders.size > 0) this.#round(now)
      const settling = [...this.#afterwards]
      this.#afterwards.clear()
      for (const settle of settling) settle()
    }
    this.#running = false
  }

  #round(now: Millis): void {
    const acts = this.#take(now)
    const [only] = acts
    // An Active of one router, again and again.
    if (only === undefined || acts.length === 1) {
      if (only !== undefined && only.kind !== 'apply') this.#runAlone(only, now)
      this.#settleSending()
      if (only?.kind === 'apply') share([only], now, this.#apply)
      return
    }
    const asks = new Map<Asker, Uint8Array[]>()
    const sends = new Map<Sender, SendAct[]>()
    const applies: ApplyAct[] = []
    for (const act of acts) {
      if (act.kind === 'apply') applies.push(act)
      else if (act.kind === 'send') sends.set(act.sender, [...(sends.get(act.sender) ?? []), act])
      else asks.set(act.asker, [...(asks.get(act.asker) ?? []), ...act.items])
    }
    for (const [asker, questions] of asks) if (questions.length > 0) asker.ask(questions)
    for (const [sender, acts] of sends) {
      share(acts, now, (all) => sender.send(all))
    }
    this.#settleSending()
    share(applies, now, this.#apply)
  }

  #runAlone(act: SendAct | AskAct, now: Millis): void {
    if (act.kind === 'send') act.done(act.items.length === 0 ? [] : act.sender.send(act.items), now)
    else if (act.items.length > 0) act.asker.ask(act.items)
  }

  #settleSending(): void {
    if (this.#afterSending.size === 0) return
    for (const settle of this.#afterSending) settle()
    this.#afterSending.clear()
  }

  /** The next act of every owner. Orders that are done by being asked are as good as their round. */
  #take(now: Millis): readonly Act[] {
    const acts: Act[] = []
    for (const [owner, orders] of this.#orders) {
      const act = orders.shift()?.(now)
      if (act !== undefined) acts.push(act)
      if (orders.length === 0) this.#orders.delete(owner)
    }
    return acts
  }
}

/** One call for all; everybody gets the outcomes of his own part. */
function share<I, O>(parts: readonly Part<I, O>[], now: Millis, call: (all: readonly I[]) => readonly O[]): void {
  const all = parts.flatMap(({ items }) => items)
  const outcomes = all.length === 0 ? [] : call(all)
  let from = 0
  for (const { items, done } of parts) {
    done(outcomes.slice(from, from + items.length), now)
    from += items.length
  }
}
