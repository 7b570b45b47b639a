/**
 * A fake clock of the guardian in virtual time. The fake clock obeys the rules of docs/adr/0086. This clock sends a
 * round only while its order and the plan are armed, and stops for news that the engine has not read.
 */
import type { ClockOrder, ClockPort, ClockReading } from '../../../src/daemon/ports.ts'
import { type Millis, millis } from '../../../src/wire/units.ts'

/** Part of the world that the clock uses. */
type World = {
  now: number
  readonly deadlines: Map<number, number>
  readonly isExecuted: (unit: number) => boolean
  readonly guardianStoppedAt: number | undefined
  /** True while packets wait that the engine has not read. */
  readonly hasUnread: boolean
  sendRound(interfaceIndex: number, order: ClockOrder): void
}

type Slot = { order: ClockOrder | undefined; nextAt: number; sentAt: number; sent: number; failed: number } & {
  isStopped: boolean
  generation: number
}

export class FakeClock implements ClockPort {
  /** Orders and withdrawals, in order. */
  readonly calls: string[] = []
  /** Orders by slot, while they are armed. */
  readonly #slots = new Map<number, Slot>()
  readonly #world: World
  /** True while the engine could not prove that it has read everything. */
  isUnproven = false
  /** True while the simulated clock thread still sends frames of an order that the engine has withdrawn. */
  isBusy = false
  proofs = 0
  released: number[] = []
  #coverAt: number | undefined
  #onCover: () => void = () => {}

  constructor(world: World) {
    this.#world = world
  }

  get armed(): readonly ClockOrder[] {
    return [...this.#slots.values()].flatMap(({ order }) => order ?? [])
  }

  /** Tells whether the clock answers for the deadline of the unit. */
  guards(unit: number): boolean {
    return this.armed.some((order) => order.unit === unit)
  }

  /** Returns the number of the order that the slot sends; `undefined` if it sends none. */
  generationOf(slot: number): number | undefined {
    const { generation, isStopped, order } = this.#slotAt(slot)
    return order === undefined || isStopped ? undefined : generation
  }

  arm(order: ClockOrder): boolean {
    if (this.isBusy) return false
    this.calls.push(`arm ${order.slot}`)
    const slot = this.#slotAt(order.slot)
    Object.assign(slot, { order, nextAt: order.first, sentAt: order.sentAt, isStopped: false })
    slot.generation++
    return true
  }

  withdraw(slot: number): ClockReading {
    this.calls.push(`withdraw ${slot}`)
    const found = this.#slotAt(slot)
    found.order = undefined
    return this.read(slot)
  }

  read(slot: number): ClockReading {
    const { failed, isStopped, sent, sentAt } = this.#slotAt(slot)
    return {
      sentAt: sentAt === 0 ? undefined : millis(sentAt),
      sent,
      failed,
      latest: 0,
      isStopped,
      isBusy: this.isBusy,
    }
  }

  forget(slot: number): void {
    this.calls.push(`forget ${slot}`)
    this.#slotAt(slot).order = undefined
  }

  release(unit: number): void {
    this.released.push(unit)
  }

  cover(at: Millis): void {
    this.#coverAt = at
  }

  prove(): boolean {
    if (!this.isUnproven) this.proofs++
    return !this.isUnproven
  }

  listen(onCover: () => void): void {
    this.#onCover = onCover
  }

  /** Stops the clock of a slot, as it does when it was late. */
  stop(slot: number): void {
    this.#slotAt(slot).isStopped = true
    this.#coverAt = this.#world.now
  }

  /** Ends the lease, because the engine has proved nothing for too long: the guardian executes all plans. */
  endLease(): void {
    for (const slot of this.#slots.values()) {
      if (slot.order === undefined) continue
      this.#world.deadlines.set(slot.order.unit, this.#world.now)
      slot.order = undefined
      slot.isStopped = true
    }
  }

  /** Sends every round that is due until then. With `isStalled` the engine does not run, so that it is not woken. */
  run(until: number, isStalled = false): void {
    for (;;) {
      const running = this.#world.guardianStoppedAt === undefined
      const due = [...this.#slots.values()]
        .filter(({ isStopped, nextAt, order }) => running && order !== undefined && !isStopped && nextAt <= until)
        .sort((one, other) => one.nextAt - other.nextAt)[0]
      const coverAt = this.#coverAt
      if (coverAt !== undefined && coverAt <= until && !isStalled && (due === undefined || coverAt < due.nextAt)) {
        this.#world.now = Math.max(this.#world.now, coverAt)
        this.#coverAt = undefined
        this.#onCover()
        continue
      }
      if (due === undefined) return
      this.#world.now = Math.max(this.#world.now, due.nextAt)
      this.#round(due)
    }
  }

  #round(slot: Slot): void {
    const { order } = slot
    if (order === undefined) return
    // Unread news: the clock tries again each millisecond.
    if (this.#world.hasUnread) {
      slot.nextAt++
      return
    }
    if (this.#world.isExecuted(order.unit)) {
      slot.isStopped = true
      return
    }
    const records = order.records.filter(({ every = 1 }) => slot.sent % every === 0)
    this.#world.sendRound(order.interfaceIndex, { ...order, records })
    slot.sentAt = this.#world.now
    slot.sent++
    slot.nextAt += order.period
    const unit = [...this.#slots.values()].filter((each) => each.order?.unit === order.unit)
    const deadlines = unit.map((each) => each.sentAt + 3 * (each.order?.period ?? 0))
    this.#world.deadlines.set(order.unit, Math.min(...deadlines))
    const covers = [...this.#slots.values()].flatMap((each) =>
      each.order === undefined ? [] : [each.sentAt + 2.5 * each.order.period],
    )
    this.#coverAt = Math.min(...covers)
  }

  #slotAt(slot: number): Slot {
    const found = this.#slots.get(slot) ?? {
      ...{ order: undefined, nextAt: 0, sentAt: 0, sent: 0, failed: 0 },
      isStopped: false,
      generation: 0,
    }
    this.#slots.set(slot, found)
    return found
  }
}
