/**
 * What the routers of one segment announce: their addresses on this interface, those on secondary interfaces, and the
 * node's own address. Decided here: which interface announces which address, and the pace of all of them. Refuses to know
 * frames and schedules, which are announcer.ts's.
 */
import { ONE_ROUND } from '../../arp/announcement.ts'
import type { Address, Family } from '../../wire/address.ts'
import { type Millis, sooner } from '../../wire/units.ts'
import type { Tenant } from '../router/router-io.ts'
import type { Announcer } from './announcer.ts'
import type { SecondaryInterfaces } from './secondary-interfaces.ts'

/** Name under which the node's own address is announced; no router can have it. */
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

  /** Announces all addresses of the router. Frames leave with run(). */
  announce(router: Tenant, reason: 'takeover' | 'rival', now: Millis): void {
    this.#announce(router, router.parameters.addresses, reason, now)
  }

  /** Announces these addresses of the router, because another host has them as well. */
  announceOver(router: Tenant, addresses: readonly Address[], now: Millis): void {
    this.#announce(router, addresses, 'duplicate', now)
  }

  #announce(
    router: Tenant,
    addresses: readonly Address[],
    reason: 'takeover' | 'rival' | 'duplicate',
    now: Millis,
  ): void {
    const { family } = this.#home
    const { name, announce, announceOther } = router.spec
    const onFirst = (address: Address) => router.takeover.announced(address)
    const here = this.#secondary.atHome(router, addresses, (secondary, those) => {
      const schedule = secondary.family === family ? announce : announceOther
      const announced = { name, family: secondary.family, addresses: those, ...schedule, onFirst }
      secondary.announcer.announce(announced, reason, now)
    })
    this.#announcer.announce({ name, family, addresses: here, ...announce, onFirst }, reason, now)
  }

  /** Announces the node's own address, for hosts that could not ask for it. Once, however many routers want it in one turn. */
  announceSource(now: Millis): void {
    const { family, source } = this.#home
    const announced = { name: SOURCE, family, addresses: [source], at: ONE_ROUND, refresh: undefined }
    this.#announcer.announce(announced, 'takeover', now)
  }

  /** Follows another refresh period or list of addresses. */
  reschedule({ spec, parameters: { addresses } }: Tenant, now: Millis): void {
    const rescheduled = { name: spec.name, addresses, ...spec.announce }
    this.#announcer.reschedule(rescheduled, now)
    for (const announcer of this.#secondary.announcers) announcer.reschedule(rescheduled, now)
  }

  cancel(router: Tenant): void {
    this.#announcer.cancel(router.name)
    for (const announcer of this.#secondary.announcers) announcer.cancel(router.name)
  }

  /** Reports whether the first announcement over a competing Active is due. */
  answersRival(now: Millis): boolean {
    return this.#announcer.answersRival(now)
  }

  /** Sends what is due. */
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

/** Returns the milliseconds between two frames of one interface: those of the slowest router. */
export function spacingOf(routers: Iterable<Tenant>, family: Family): number | undefined {
  const wanted = [...routers].flatMap(({ spec }) => spec.announce.spacing?.[family] ?? [])
  return wanted.length === 0 ? undefined : Math.max(...wanted)
}
