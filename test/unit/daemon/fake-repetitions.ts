/** A fake of the watches in C (docs/adr/0087): takes repeated packets from the queue of a socket, and counts them. */
import type { ReceivedPacket, RepetitionOrder, RepetitionPort, Repetitions } from '../../../src/daemon/ports.ts'
import { type Millis, millis } from '../../../src/wire/units.ts'

const IPV4_HEADER = 20

type Watch = { readonly order: RepetitionOrder; heardAt: Millis; count: number; sum: number } & {
  cells: number[]
  cancel: () => void
}

export class FakeRepetitions implements RepetitionPort {
  readonly #watches = new Map<number, Watch>()
  /** Calls `onOverdue` at a time, unless the returned function is called. */
  readonly #wakeAt: (at: number) => () => void

  constructor(wakeAt: (at: number) => () => void) {
    this.#wakeAt = wakeAt
  }

  /** VRIDs with a watch. */
  get vrids(): readonly number[] {
    return [...this.#watches.keys()]
  }

  watch(order: RepetitionOrder): boolean {
    this.end(order.vrid)
    const { delay, heardAt } = order
    const cells = [...order.bounds, 0].map(() => 0)
    this.#watches.set(order.vrid, { order, heardAt, count: 0, sum: 0, cells, cancel: this.#wakeAt(heardAt + delay) })
    return true
  }

  read(vrid: number): Repetitions | undefined {
    const watch = this.#watches.get(vrid)
    if (watch === undefined) return undefined
    const { cells, count, heardAt, sum } = watch
    Object.assign(watch, { count: 0, sum: 0, cells: cells.map(() => 0) })
    return { cells, count, heardAt, sum }
  }

  end(vrid: number): void {
    this.#watches.get(vrid)?.cancel()
    this.#watches.delete(vrid)
  }

  /** Returns true if the packet is a repetition, which is not delivered. */
  take(packet: ReceivedPacket): boolean {
    const watch = [...this.#watches.values()].find(({ order }) => isRepeated(order, packet))
    const gap = packet.receivedAt - (watch?.heardAt ?? 0)
    if (watch === undefined || packet.receivedAt > watch.order.until || gap >= watch.order.within) return false
    const { bounds, delay } = watch.order
    const found = bounds.findIndex((bound) => gap <= bound)
    const cell = found < 0 ? bounds.length : found
    watch.cells[cell] = (watch.cells[cell] ?? 0) + 1
    watch.count++
    watch.sum += gap
    watch.heardAt = millis(packet.receivedAt)
    watch.cancel()
    watch.cancel = this.#wakeAt(watch.heardAt + delay)
    return true
  }
}

function isRepeated(order: RepetitionOrder, { bytes, destination, family, source, ttl }: ReceivedPacket): boolean {
  const start = family === 'ipv4' ? IPV4_HEADER : 0
  const isFrom = order.source === source && order.destination === destination && order.ttl === ttl
  return isFrom && order.bytes.subarray(start).join() === bytes.subarray(start).join()
}
