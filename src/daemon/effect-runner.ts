/**
 * Runs the effects of one turn for all routers together. A round runs the first order of every router, the next round
 * the second order, and so on. In a round, a single system call sends all advertisements of a segment, and one system
 * call changes all addresses. By these rounds, the orders of one router run in the order of the state machine. When
 * many routers take over, all advertisements are sent before any address is installed. This file knows nothing about
 * the purpose of an order. The router of an order receives its outcome.
 */
import type { Millis } from '../wire/units.ts'
import type { AddressOutcome, AddressStep, Datagram, SendOutcome } from './ports.ts'

/** Sends datagrams, in one batch for each sender and each round of orders. */
export type Sender = { send(datagrams: readonly Datagram[]): readonly SendOutcome[] }

/** Sends ARP or NDP requests whose outcome is not needed. */
export type Asker = { ask(questions: readonly Uint8Array[]): void }

/** Adds and removes addresses, in one batch for each round of orders. */
export type Writer = { apply(steps: readonly AddressStep[]): readonly AddressOutcome[] }

type Part<I, O> = {
  readonly items: readonly I[]
  /** Receives one outcome for each datagram or address change, in their order. */
  readonly done: (outcomes: readonly O[], now: Millis) => void
}
type SendAct = { readonly kind: 'send'; readonly sender: Sender } & Part<Datagram, SendOutcome>
type AskAct = { readonly kind: 'ask'; readonly asker: Asker; readonly items: readonly Uint8Array[] }
type ApplyAct = { readonly kind: 'apply' } & Part<AddressStep, AddressOutcome>

/** Work of an order that the runner does together with the work of other routers. */
export type Act = SendAct | ApplyAct | AskAct

/**
 * An order of a router: a function that returns datagrams or address changes; `undefined` if the call has done all the
 * work. The function is called only in its round, because the work depends on the kernel's state at that time.
 */
export type Order = (now: Millis) => Act | undefined

export class EffectRunner {
  readonly #writer: Writer
  /** Orders of each router that wait for the end of the turn. Routers are sorted by the time of their first order. */
  readonly #orders = new Map<object, Order[]>()
  readonly #afterwards = new Set<() => void>()
  readonly #tellings: (() => void)[] = []
  readonly #afterSending = new Set<() => void>()
  #running = false

  constructor(writer: Writer) {
    this.#writer = writer
  }

  /** True if no order waits for the end of the turn. */
  get idle(): boolean {
    return this.#orders.size === 0 && this.#afterwards.size === 0
  }

  /** Adds orders of a router. New orders run after the earlier orders of the same router. */
  add(router: object, orders: readonly Order[]): void {
    if (orders.length === 0) return
    const before = this.#orders.get(router)
    if (before === undefined) this.#orders.set(router, [...orders])
    else before.push(...orders)
  }

  /** Calls `settle` once, when no order is left to run. */
  afterwards(settle: () => void): void {
    this.#afterwards.add(settle)
  }

  /**
   * Calls `tell` after the turn. The caller writes log lines and journal events in `tell`, so that no announcement
   * waits for the log lines of 255 routers.
   */
  tellLater(tell: () => void): void {
    this.#tellings.push(tell)
  }

  /** Calls the functions that were passed to tellLater(). The caller must first send the turn's announcements. */
  tell(): void {
    for (const tell of this.#tellings.splice(0)) tell()
  }

  /**
   * Calls `settle` once, after the datagrams of this round and before its address changes. Only for use in the `done`
   * callback of a send.
   */
  afterSending(settle: () => void): void {
    this.#afterSending.add(settle)
  }

  /**
   * Runs rounds of orders until no order is left, because an outcome may add new orders. A call from within a round
   * returns immediately.
   */
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
    // In most rounds only one router, an Active, sends.
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

  /** Runs the next order of every router. Returns the datagrams and address changes of these orders. */
  #nextActs(now: Millis): readonly Act[] {
    const acts: Act[] = []
    for (const [router, orders] of this.#orders) {
      const act = orders.shift()?.(now)
      if (act !== undefined) acts.push(act)
      if (orders.length === 0) this.#orders.delete(router)
    }
    return acts
  }
}

const itemsOf = <I, O>(parts: readonly Part<I, O>[]): readonly I[] => parts.flatMap(({ items }) => items)

/** Gives each order the outcomes of its own datagrams or address changes. */
function share<I, O>(parts: readonly Part<I, O>[], outcomes: readonly O[], now: Millis): void {
  let from = 0
  for (const { items, done } of parts) {
    done(outcomes.slice(from, from + items.length), now)
    from += items.length
  }
}
