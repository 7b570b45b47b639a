/**
 * Watches of repeated packets of one receiving socket (docs/adr/0087): translates the orders of the daemon for the
 * addon. This file decides that one timer serves all watches of a socket. This file does not know VRRP.
 */
import type { RepetitionOrder, RepetitionPort, Repetitions } from '../../daemon/ports.ts'
import { addressBytes, isLinkLocal } from '../../wire/address.ts'
import { millis } from '../../wire/units.ts'
import type { NativeAddon, NativeSocket, NativeTimer } from '../native.ts'
import type { ReadSockets } from './read-sockets.ts'
import { ipSockaddr } from './sockaddr.ts'

/** Indices of the numbers that watchRepeated() reads. The bounds of the cells follow, at most 32. */
const REPEATED_LIMITS = {
  /** Time of the packet. */
  heardAt: 0,
  /** TTL or hop limit of the packet; -1 = unknown. */
  ttl: 1,
  /** Time after which each packet calls `onReadable`. */
  until: 2,
  /** Gap from which a packet calls `onReadable`. */
  within: 3,
  /** Time from a packet to its deadline. */
  delay: 4,
  bounds: 5,
} as const
/** Indices of the numbers that readRepeated() writes. The number of gaps in each cell follows. */
const REPEATED = { heardAt: 0, count: 1, sum: 2, cells: 3 } as const
const MOST_REPEATED_BOUNDS = 32

export type RepetitionContext = {
  readonly native: Pick<NativeAddon, 'NativeTimer'>
  readonly receiver: NativeSocket
  /** Opens the second socket for the same packets. Throws. */
  readonly openNews: () => NativeSocket
  readonly interfaceIndex: number
  /** List of all descriptors that the process reads. */
  readonly read: ReadSockets
  readonly onOverdue: () => void
}

export class RepetitionWatch implements RepetitionPort {
  readonly #context: RepetitionContext
  readonly #numbers = new Float64Array(REPEATED.cells + MOST_REPEATED_BOUNDS + 1)
  readonly #bounds = new Map<number, number>()
  /** Timer of the watches; `undefined` before the first watch. */
  #timer: NativeTimer | undefined
  #news: NativeSocket | undefined
  #isOff = false

  constructor(context: RepetitionContext) {
    this.#context = context
  }

  watch(order: RepetitionOrder): boolean {
    const { bounds, bytes, delay, destination, heardAt, source, ttl, until, vrid, within } = order
    const { interfaceIndex, receiver } = this.#context
    if (destination === undefined || bytes.length > LONGEST_PACKET || !this.#hasTimer()) return false
    const limits = new Float64Array(REPEATED_LIMITS.bounds + bounds.length)
    limits[REPEATED_LIMITS.heardAt] = heardAt
    limits[REPEATED_LIMITS.ttl] = ttl ?? -1
    limits[REPEATED_LIMITS.until] = until
    limits[REPEATED_LIMITS.within] = within
    limits[REPEATED_LIMITS.delay] = delay
    limits.set(bounds, REPEATED_LIMITS.bounds)
    // The kernel reports the interface only with a link-local source.
    const sockaddr = ipSockaddr(source, isLinkLocal(source) ? interfaceIndex : 0)
    receiver.watchRepeated(vrid, bytes, sockaddr, addressBytes(destination), limits)
    this.#bounds.set(vrid, bounds.length)
    return true
  }

  read(vrid: number): Repetitions | undefined {
    const numbers = this.#numbers
    const bounds = this.#bounds.get(vrid)
    if (bounds === undefined || !this.#context.receiver.readRepeated(vrid, numbers)) return undefined
    return {
      heardAt: millis(numbers[REPEATED.heardAt] ?? 0),
      count: numbers[REPEATED.count] ?? 0,
      sum: numbers[REPEATED.sum] ?? 0,
      cells: [...numbers.subarray(REPEATED.cells, REPEATED.cells + bounds + 1)],
    }
  }

  end(vrid: number): void {
    if (this.#bounds.delete(vrid)) this.#context.receiver.endRepeated(vrid)
  }

  /** Closes the timer. The caller closes the socket. */
  close(): void {
    if (this.#timer === undefined) return
    this.#context.read.remove(this.#timer)
    this.#timer.close()
    this.#news?.close()
  }

  /** Opens the timer. Without a free descriptor there are no watches, and each packet is delivered. */
  #hasTimer(): boolean {
    if (this.#timer !== undefined || this.#isOff) return this.#timer !== undefined
    const { native, onOverdue, read, receiver } = this.#context
    try {
      const timer = new native.NativeTimer()
      timer.start(onOverdue, onOverdue)
      this.#news = this.#openNews()
      receiver.dueRepeated(timer, this.#news)
      read.add(timer)
      this.#timer = timer
    } catch {
      this.#isOff = true
    }
    return this.#timer !== undefined
  }

  /** Without the second socket, each repetition wakes the addon. */
  #openNews(): NativeSocket | undefined {
    const ignore = () => {}
    try {
      const news = this.#context.openNews()
      news.start(ignore, ignore)
      return news
    } catch {
      return undefined
    }
  }
}

/** Octets of the longest packet that the addon keeps (native/addon/repeated.c). */
const LONGEST_PACKET = 1500
