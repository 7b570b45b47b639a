/**
 * Runs the effects of one turn, of all routers together: in rounds, the first order of every router, then the second one;
 * and in a round one syscall for all advertisements of a segment and one for all address steps. So the order inside one
 * router stays that of the core, and in a takeover of many all advertisements go before all addresses. Refuses to know what
 * an order is for; its outcome goes back to its owner.
 */
import type { Millis } from '../wire/units.ts'
import type { AddressOutcome, AddressStep, Datagram, SendOutcome } from './ports.ts'

/** Sends datagrams; one batch for each sender and round. */
export type Sender = { send(datagrams: readonly Datagram[]): readonly SendOutcome[] }

/** Sends questions whose outcome is not needed. */
export type Asker = { ask(questions: readonly Uint8Array[]): void }

/** Adds and removes addresses; one batch for each round. */
export type Writer = { apply(steps: readonly AddressStep[]): readonly AddressOutcome[] }

type Part<I, O> = {
  readonly items: readonly I[]
  /** Gets one outcome for each item, in order. */
  readonly done: (outcomes: readonly O[], now: Millis) => void
}
type SendAct = { readonly kind: 'send'; readonly sender: Sender } & Part<Datagram, SendOutcome>
type AskAct = { readonly kind: 'ask'; readonly asker: Asker; readonly items: readonly Uint8Array[] }
type ApplyAct = { readonly kind: 'apply' } & Part<AddressStep, AddressOutcome>

/** What the runner does together with the acts of other owners. */
export type Act = SendAct | ApplyAct | AskAct

/** Called when its turn has come, because its meaning depends on what the kernel has by then. `undefined`: done. */
export type Order = (now: Millis) => Act | undefined

export class EffectRunner {
  readonly #writer: Writer
  /** By owner, in the order of their first orders. */
  readonly #orders = new Map<object, Order[]>()
  readonly #afterwards = new Set<() => void>()
  readonly #tellings: (() => void)[] = []
  readonly #afterSending = new Set<() => void>()
  #running = false

  constructor(writer: Writer) {
    this.#writer = writer
  }

  /** No order waits. */
  get idle(): boolean {
    return this.#orders.size === 0 && this.#afterwards.size === 0
  }

  /** Adds orders behind those that the owner added before. */
  add(owner: object, orders: readonly Order[]): void {
    if (orders.length === 0) return
    const before = this.#orders.get(owner)
    if (before === undefined) this.#orders.set(owner, [...orders])
    else before.push(...orders)
  }

  /** Calls `settle` once, when no order is left. */
  afterwards(settle: () => void): void {
    this.#afterwards.add(settle)
  }

  /** Calls `tell`, for log and journal, after the turn: no announcement of 255 routers waits for their lines. */
  tellLater(tell: () => void): void {
    this.#tellings.push(tell)
  }

  /** Call it when the announcements of the turn are out. */
  tell(): void {
    for (const tell of this.#tellings.splice(0)) tell()
  }

  /** Calls `settle` once, after the datagrams of this round and before its address steps. Only from `done` of a sending. */
  afterSending(settle: () => void): void {
    this.#afterSending.add(settle)
  }

  /** Runs until no order is left: outcomes may add new ones. A call from inside leaves that to the call at work. */
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
    const acts = this.#nextActs(now)
    const [only] = acts
    // The usual round: an Active of one router sends.
    if (only === undefined || acts.length === 1) {
      if (only?.kind === 'send') only.done(only.items.length === 0 ? [] : only.sender.send(only.items), now)
      else if (only?.kind === 'ask' && only.items.length > 0) only.asker.ask(only.items)
      this.#settleSending()
      if (only?.kind === 'apply') this.#applyTogether([only], now)
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
    for (const [sender, parts] of sends) {
      const datagrams = itemsOf(parts)
      share(parts, datagrams.length === 0 ? [] : sender.send(datagrams), now)
    }
    this.#settleSending()
    this.#applyTogether(applies, now)
  }

  #applyTogether(parts: readonly ApplyAct[], now: Millis): void {
    const steps = itemsOf(parts)
    share(parts, steps.length === 0 ? [] : this.#writer.apply(steps), now)
  }

  #settleSending(): void {
    if (this.#afterSending.size === 0) return
    for (const settle of this.#afterSending) settle()
    this.#afterSending.clear()
  }

  /** Takes the next order of every owner. Returns the acts of those that are not done by being called. */
  #nextActs(now: Millis): readonly Act[] {
    const acts: Act[] = []
    for (const [owner, orders] of this.#orders) {
      const act = orders.shift()?.(now)
      if (act !== undefined) acts.push(act)
      if (orders.length === 0) this.#orders.delete(owner)
    }
    return acts
  }
}

const itemsOf = <I, O>(parts: readonly Part<I, O>[]): readonly I[] => parts.flatMap(({ items }) => items)

/** Gives each part the outcomes of its own items. */
function share<I, O>(parts: readonly Part<I, O>[], outcomes: readonly O[], now: Millis): void {
  let from = 0
  for (const { items, done } of parts) {
    done(outcomes.slice(from, from + items.length), now)
    from += items.length
  }
}
