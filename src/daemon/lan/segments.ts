/**
 * Keeps all segments of this node. This file decides when a segment is created, opened and closed, and when to try
 * again after its sockets could not be opened. This file knows nothing about which router belongs to which segment.
 */
import { LOG } from '../../log/log.ts'
import type { Address, Family } from '../../wire/address.ts'
import { type Millis, plus } from '../../wire/units.ts'
import type { Failure, Link } from '../ports.ts'
import type { Router } from '../router/router.ts'
import { Segment, type SegmentContext } from './segment.ts'

/**
 * Milliseconds until the next attempt to open sockets. The first wait for the sockets is short, because the kernel
 * prepares a new interface or address within milliseconds.
 */
const OPEN_RETRY_FIRST = 20
const OPEN_RETRY_LAST = 1_000

export class Segments {
  readonly #context: SegmentContext
  readonly #segments = new Map<string, Segment>()
  /**
   * All segments. The list is rebuilt only when a segment is added or removed, because every turn reads it several
   * times.
   */
  #all: readonly Segment[] = []
  #openAgainAt: Millis | undefined
  #openRetry = OPEN_RETRY_FIRST

  constructor(context: SegmentContext) {
    this.#context = context
  }

  get all(): readonly Segment[] {
    return this.#all
  }

  /** Time of the next attempt to open the sockets of a segment; `undefined` if every segment is open. */
  get openAgainAt(): Millis | undefined {
    return this.#openAgainAt
  }

  /** Returns the segment with this interface, family and source address. */
  at(link: Link, family: Family, source: Address): Segment {
    const key = `${link.index} ${family} ${source}`
    const known = this.#segments.get(key)
    if (known !== undefined) return known
    const segment = new Segment(link, family, source, this.#context)
    this.#segments.set(key, segment)
    this.#list()
    return segment
  }

  /** Adopts the present state of all interfaces. */
  follow(now: Millis): void {
    for (const segment of this.#segments.values()) {
      const link = this.#context.view.link(segment.interfaceIndex)
      if (link !== undefined) segment.follow(link, now)
    }
  }

  detach(router: Router): void {
    for (const { announcements, routers } of this.#segments.values()) {
      if (routers.get(router.parameters.vrid) !== router) continue
      routers.delete(router.parameters.vrid)
      announcements.cancel(router)
    }
    router.leaveInterface()
  }

  closeUnused(): void {
    for (const [key, segment] of this.#segments) {
      if (segment.routers.size > 0) continue
      segment.close()
      this.#segments.delete(key)
    }
    this.#list()
  }

  /**
   * Opens the sockets of every segment, and closes those of segments that cannot be used. The caller must first attach
   * all routers, so that the sockets are opened once for all routers.
   */
  open(now: Millis): void {
    let failed = false
    for (const [key, segment] of this.#segments) {
      if (segment.routers.size === 0) {
        segment.close()
        this.#segments.delete(key)
        this.#list()
        continue
      }
      const failure = this.#open(segment)
      failed ||= failure !== undefined
      for (const router of segment.routers.values()) router.setFault('socketFailed', failure !== undefined, false, now)
      segment.watchAnnouncements()
    }
    this.#openAgainAt = failed ? plus(now, this.#openRetry) : undefined
    this.#openRetry = failed ? Math.min(2 * this.#openRetry, OPEN_RETRY_LAST) : OPEN_RETRY_FIRST
  }

  #open(segment: Segment): Failure | undefined {
    const usable = segment.isUsable()
    if (!usable) segment.close()
    const failure = usable ? segment.open() : undefined
    if (failure === undefined) return undefined
    const { code, message } = failure
    const { interfaceName } = segment
    const fields = { interface: interfaceName, code }
    this.#context.recorder.logLimited(`open ${interfaceName} ${code}`, LOG.interfaceNotOpened, message, fields)
    return failure
  }

  close(): void {
    for (const segment of this.#all) segment.close()
  }

  #list(): void {
    this.#all = [...this.#segments.values()]
  }
}
