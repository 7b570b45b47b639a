/**
 * Gratuitous ARP and unsolicited Neighbor Advertisements of one interface: keeps each router's plans (arp/), paces them
 * together and sends what is due. A router that leaves Active loses its plans and what waits (VR-GARP-05).
 */
import {
  type AnnouncementPlan,
  announcementOffsets,
  announcementPlan,
  dueFrames,
  nextAnnouncementAt,
  withPeriod,
} from '../../arp/announcement.ts'
import { gratuitousArp } from '../../arp/gratuitous-arp.ts'
import { neighborAdvertisement } from '../../arp/neighbor-advertisement.ts'
import {
  IDLE_PACER,
  nextTakeAt,
  offerAnnouncements,
  type Pacer,
  takeAnnouncements,
  type WantedAnnouncement,
  withdrawAnnouncements,
} from '../../arp/pacer.ts'
import { type Address, type Family, familyOf } from '../../wire/address.ts'
import type { Mac } from '../../wire/mac.ts'
import { type Millis, plus, sooner } from '../../wire/units.ts'
import type { SendOutcome } from '../ports.ts'
import { Counters } from '../telemetry/recorder.ts'

/** What a router announces and how often; its name is the key. */
export type Announced = {
  readonly name: string
  readonly family: Family
  readonly addresses: readonly Address[]
  /** Offsets of the frames for each address. */
  readonly at: readonly Millis[]
  readonly refresh: Millis | undefined
  /** 1 by default. */
  readonly refreshCopies?: number | undefined
  /** As `at`, when a competing Active was heard; by default that of arp/announcement.ts. */
  readonly onRival?: readonly Millis[] | undefined
  /** Called when the first frame for an address has left, of whichever round. */
  readonly onFirst?: ((address: Address) => void) | undefined
}

/** Reasons of a plan; a router may have one of each. `duplicate` is about some addresses only. */
const REASONS = ['takeover', 'rival', 'duplicate'] as const
type Reason = (typeof REASONS)[number]
type Plans = { [reason in Reason]?: AnnouncementPlan }

/** Milliseconds that an announcement waits for the kernel to be ready for what it will cause. */
const PATIENCE = 50

export class Announcer {
  /** By kind: gratuitousArp, neighborAdvertisement, failed. */
  readonly sent = new Counters()
  readonly #plans = new Map<string, Plans>()
  /** By name of the router. */
  readonly #onFirst = new Map<string, (address: Address) => void>()
  /** Last result of nextAt(), as long as no plan changes: every turn asks, and a plan's next frame is a minute away. */
  #known: { readonly nextAt: Millis | undefined } | undefined
  #pacer: Pacer = IDLE_PACER
  readonly #send: (frames: readonly Uint8Array[]) => readonly SendOutcome[]
  readonly #mac: () => Mac

  readonly #isReady: (address: Address) => boolean
  readonly #spacing: () => number | undefined

  /**
   * `isReady` reports whether packets to the address arrive here: the kernel adds the local route of an IPv6 address,
   * and reports it, some time after it has accepted the address, and a client that follows the announcement before that
   * gets no answer. `spacing` returns the milliseconds between any two frames; `undefined` = the pacer's own rates.
   */
  constructor(
    send: (frames: readonly Uint8Array[]) => readonly SendOutcome[],
    mac: () => Mac,
    isReady: (address: Address) => boolean = () => true,
    spacing: () => number | undefined = () => undefined,
  ) {
    this.#send = send
    this.#mac = mac
    this.#isReady = isReady
    this.#spacing = spacing
  }

  /**
   * Plans announcements that are due now. run() sends them at the end of the turn, because advertisements go before all
   * of them.
   */
  announce(announced: Announced, reason: Reason, now: Millis): void {
    const { name, family, addresses, onFirst, onRival, refreshCopies: everyCopies } = announced
    if (onFirst !== undefined) this.#onFirst.set(name, onFirst)
    const over = (reason === 'rival' ? onRival : undefined) ?? announcementOffsets(reason, family)
    const at = reason === 'takeover' ? announced.at : over
    const every = reason === 'takeover' ? announced.refresh : undefined
    const plan = announcementPlan({ reason, family, addresses, at, startAt: now, every, everyCopies })
    this.#plans.set(name, { ...this.#plans.get(name), [reason]: plan })
    this.#known = undefined
  }

  /** Follows another list of addresses and refresh period. */
  reschedule(
    { name, addresses, refresh, refreshCopies }: Pick<Announced, 'name' | 'addresses' | 'refresh' | 'refreshCopies'>,
    now: Millis,
  ): void {
    const plans = this.#plans.get(name)
    if (plans === undefined) return
    const { takeover, ...over } = plans
    const isOurs = (address: Address) => addresses.includes(address)
    const kept = (plan: AnnouncementPlan) => ({ ...plan, addresses: plan.addresses.filter(isOurs) })
    this.#plans.set(name, {
      ...(takeover === undefined ? {} : { takeover: withPeriod(kept(takeover), refresh, now, refreshCopies) }),
      ...(over.rival === undefined ? {} : { rival: kept(over.rival) }),
      ...(over.duplicate === undefined ? {} : { duplicate: kept(over.duplicate) }),
    })
    this.#pacer = withdrawAnnouncements(this.#pacer, name, (address) => !isOurs(address))
    this.#known = undefined
  }

  cancel(name: string): void {
    this.#known = undefined
    this.#plans.delete(name)
    this.#onFirst.delete(name)
    this.#pacer = withdrawAnnouncements(this.#pacer, name)
  }

  nextAt(): Millis | undefined {
    if (this.#known !== undefined) return this.#known.nextAt
    let nearest = nextTakeAt(this.#pacer, this.#spacing())
    // What waits for the pacer, or for the kernel, may go earlier than it seems now.
    let isCertain = nearest === undefined
    for (const plans of this.#plans.values()) {
      for (const reason of REASONS) {
        const plan = plans[reason]
        if (plan === undefined) continue
        const planned = nextAnnouncementAt(plan)
        // Whether the kernel is ready matters for the next plan alone: it can only make others later.
        if (planned === undefined || (nearest !== undefined && planned >= nearest)) continue
        const dueAt = this.#dueAt(plan)
        isCertain &&= dueAt === planned
        nearest = sooner(nearest, dueAt)
      }
    }
    if (isCertain) this.#known = { nextAt: nearest }
    return nearest
  }

  /** Reports whether the first announcement over a competing Active is due. */
  answersRival(now: Millis): boolean {
    for (const { rival } of this.#plans.values()) {
      const at = rival?.fresh === true ? nextAnnouncementAt(rival) : undefined
      if (at !== undefined && at <= now) return true
    }
    return false
  }

  run(now: Millis): void {
    const next = this.nextAt()
    if (next === undefined || next > now) return
    this.#known = undefined
    const wanted: WantedAnnouncement[] = []
    for (const [owner, plans] of this.#plans) {
      for (const kind of REASONS) {
        const plan = plans[kind]
        const at = plan === undefined ? undefined : this.#dueAt(plan)
        if (plan === undefined || at === undefined || at > now) continue
        const result = dueFrames(plan, now)
        plans[kind] = result.plan
        for (const { address, copy, first } of result.due) wanted.push({ owner, address, copy, first })
      }
    }
    // All together, because each offer looks at everything that waits.
    this.#pacer = offerAnnouncements(this.#pacer, wanted)
    const taken = takeAnnouncements(this.#pacer, now, this.#spacing())
    this.#pacer = taken.pacer
    if (taken.send.length > 0) this.#announce(taken.send)
  }

  #dueAt(plan: AnnouncementPlan): Millis | undefined {
    const at = nextAnnouncementAt(plan)
    return at === undefined || plan.addresses.every(this.#isReady) ? at : plus(at, PATIENCE)
  }

  #announce(announcements: readonly WantedAnnouncement[]): void {
    const mac = this.#mac()
    const outcomes = this.#send(
      announcements.map(({ address }) =>
        familyOf(address) === 'ipv4'
          ? gratuitousArp({ address, mac })
          : neighborAdvertisement({ address, mac, router: true }),
      ),
    )
    outcomes.forEach(({ ok }, i) => {
      const announcement = announcements[i]
      if (announcement === undefined) return
      const { address, first, owner } = announcement
      this.sent.add(ok ? (address.includes(':') ? 'neighborAdvertisement' : 'gratuitousArp') : 'failed')
      if (ok && first) this.#onFirst.get(owner)?.(address)
    })
  }
}
