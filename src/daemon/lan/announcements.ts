/**
 * Announces the addresses of the routers of one segment: on this interface, on secondary interfaces, and the node's own
 * address. This file decides which interface announces which address, and the time between two frames. This file knows
 * nothing about frames and schedules (announcer.ts).
 */
import { ONE_ROUND } from '../../arp/announcement.ts'
import type { Address, Family } from '../../wire/address.ts'
import { type Millis, sooner } from '../../wire/units.ts'
import type { HostedRouter } from '../router/router-io.ts'
import type { Announcer } from './announcer.ts'
import type { SecondaryInterfaces } from './secondary-interfaces.ts'

/**
 * Name under which the node's own address is announced. The name is empty, because no router can have an empty name.
 */
const SOURCE = ''

type Home = { readonly family: Family; readonly source: Address }

export class Announcements {
  readonly #home: Home
  readonly #announcer: Announcer
  readonly #secondary: SecondaryInterfaces

  constructor(home: Home, announcer: Announcer, secondary: SecondaryInterfaces) {
    this.#home = home
    this.#announcer = announcer
    this.#secondary = secondary
  }

  /** Plans the announcement of all addresses of the router. The method run() sends the frames. */
  announce(router: HostedRouter, reason: 'takeover' | 'competingActive', now: Millis): void {
    this.#announce(router, router.parameters.addresses, reason, now)
  }

  /** Plans the announcement of these VIPs of the router, because another host has the same addresses. */
  announceOver(router: HostedRouter, addresses: readonly Address[], now: Millis): void {
    this.#announce(router, addresses, 'duplicate', now)
  }

  #announce(
    router: HostedRouter,
    addresses: readonly Address[],
    reason: 'takeover' | 'competingActive' | 'duplicate',
    now: Millis,
  ): void {
    const { family } = this.#home
    const { name, announce, announceOther } = router.spec
    const onFirst = (address: Address) => router.takeover.announced(address)
    const here = this.#secondary.onSegment(router, addresses, (secondary, those) => {
      const schedule = secondary.family === family ? announce : announceOther
      const announced = { name, family: secondary.family, addresses: those, ...schedule, onFirst }
      secondary.announcer.announce(announced, reason, now)
    })
    this.#announcer.announce({ name, family, addresses: here, ...announce, onFirst }, reason, now)
  }

  /**
   * Announces the node's own address to hosts that could not ask for the address while the node was away. At most once
   * a turn, even if several routers request it.
   */
  announceSource(now: Millis): void {
    const { family, source } = this.#home
    const announced = { name: SOURCE, family, addresses: [source], at: ONE_ROUND, refresh: undefined }
    this.#announcer.announce(announced, 'takeover', now)
  }

  /** Adopts another refresh period or another list of addresses of the router. */
  reschedule({ spec, parameters: { addresses } }: HostedRouter, now: Millis): void {
    const rescheduled = { name: spec.name, addresses, ...spec.announce }
    this.#announcer.reschedule(rescheduled, now)
    for (const announcer of this.#secondary.announcers) announcer.reschedule(rescheduled, now)
  }

  cancel(router: HostedRouter): void {
    this.#announcer.cancel(router.name)
    for (const announcer of this.#secondary.announcers) announcer.cancel(router.name)
  }

  /** Tells whether the first announcement because of a competing Active is due now. */
  announcesOverCompetitor(now: Millis): boolean {
    return this.#announcer.announcesOverCompetitor(now)
  }

  /** Sends the announcement frames that are due. */
  run(now: Millis): void {
    this.#announcer.run(now)
    for (const announcer of this.#secondary.announcers) announcer.run(now)
  }

  nextAt(): Millis | undefined {
    let nearest = this.#announcer.nextAt()
    for (const announcer of this.#secondary.announcers) nearest = sooner(nearest, announcer.nextAt())
    return nearest
  }
}

/**
 * Returns the milliseconds between two announcement frames of one interface: the longest spacing that a router there
 * configures; `undefined` if no router configures a spacing.
 */
export function spacingOf(routers: Iterable<HostedRouter>, family: Family): number | undefined {
  const wanted = [...routers].flatMap(({ spec }) => spec.announce.spacing?.[family] ?? [])
  return wanted.length === 0 ? undefined : Math.max(...wanted)
}
