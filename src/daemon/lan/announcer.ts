/**
 * Sends gratuitous ARP and unsolicited Neighbor Advertisements on one interface. An announcer has the announcement
 * plans of each router (arp/), applies one rate limit to all routers, and sends the frames that are due. A router that
 * is no longer Active loses its plans and its waiting frames (VR-GARP-05).
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
import { defined } from '../../base/defined.ts'
import { type Address, type Family, familyOf } from '../../wire/address.ts'
import type { Mac } from '../../wire/mac.ts'
import { type Millis, plus, sooner } from '../../wire/units.ts'
import type { SendOutcome } from '../ports.ts'
import { Counters } from '../telemetry/recorder.ts'

/** The addresses that a router announces, and the schedule of the frames. `name` is the key of the router. */
export type Announced = {
  readonly name: string
  readonly family: Family
  readonly addresses: readonly Address[]
  /** Times of the announcement frames for each address, from the begin of the plan. */
  readonly at: readonly Millis[]
  readonly refresh: Millis | undefined
  /** Number of frames for each address in a refresh; absent = 1. */
  readonly refreshCopies?: number | undefined
  /** Times of the frames after an advertisement of a competing Active; by default those of arp/announcement.ts. */
  readonly onRival?: readonly Millis[] | undefined
  /** Called after the first frame for an address was sent. */
  readonly onFirst?: ((address: Address) => void) | undefined
}

/**
 * Reasons of an announcement plan. A router may have one plan for each reason. `duplicate` concerns some addresses
 * only.
 */
const REASONS = ['takeover', 'competingActive', 'duplicate'] as const
type Reason = (typeof REASONS)[number]
type Plans = { [reason in Reason]?: AnnouncementPlan }

/** Longest time in milliseconds that an announcement waits until the kernel can answer for the address. */
const PATIENCE = 50

export class Announcer {
  /** Number of sent announcement frames by kind: gratuitousArp, neighborAdvertisement, failed. */
  readonly sent = new Counters()
  readonly #plans = new Map<string, Plans>()
  /** Callbacks after the first frame for an address, by name of the router. */
  readonly #onFirst = new Map<string, (address: Address) => void>()
  /**
   * Last value of nextAt(), valid while no announcement plan changes. Every turn reads nextAt(), and the next frame of
   * a plan is often a minute away.
   */
  #known: { readonly nextAt: Millis | undefined } | undefined
  #pacer: Pacer = IDLE_PACER
  readonly #send: (frames: readonly Uint8Array[]) => readonly SendOutcome[]
  readonly #mac: () => Mac

  readonly #isReady: (address: Address) => boolean
  readonly #spacing: () => number | undefined

  /**
   * Creates an announcer. `isReady` tells whether packets to an address arrive on this node. The kernel adds the local
   * route of an IPv6 address some time after it has accepted the address. Before the kernel has the route, a client
   * that receives the announcement gets no answer. `spacing` returns the milliseconds between two frames; `undefined`
   * means the rates of the pacer.
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
   * Plans announcements that are due now. The method run() sends the frames at the end of the turn, because all
   * advertisements come first.
   */
  announce(announced: Announced, reason: Reason, now: Millis): void {
    const { name, family, addresses, onFirst, onRival, refreshCopies: everyCopies } = announced
    if (onFirst !== undefined) this.#onFirst.set(name, onFirst)
    const over = (reason === 'competingActive' ? onRival : undefined) ?? announcementOffsets(reason, family)
    const at = reason === 'takeover' ? announced.at : over
    const every = reason === 'takeover' ? announced.refresh : undefined
    const plan = announcementPlan({ reason, family, addresses, at, startAt: now, every, everyCopies })
    this.#plans.set(name, { ...this.#plans.get(name), [reason]: plan })
    this.#known = undefined
  }

  /** Adopts another list of addresses or another refresh period. */
  reschedule(
    { name, addresses, refresh, refreshCopies }: Pick<Announced, 'name' | 'addresses' | 'refresh' | 'refreshCopies'>,
    now: Millis,
  ): void {
    const plans = this.#plans.get(name)
    if (plans === undefined) return
    const { takeover, ...over } = plans
    const isOurs = (address: Address) => addresses.includes(address)
    const reduced = (plan: AnnouncementPlan) => ({ ...plan, addresses: plan.addresses.filter(isOurs) })
    this.#plans.set(name, {
      ...defined({
        takeover: takeover && withPeriod(reduced(takeover), refresh, now, refreshCopies),
        competingActive: over.competingActive && reduced(over.competingActive),
        duplicate: over.duplicate && reduced(over.duplicate),
      }),
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
    // Frames that wait for the rate limit or the kernel may be sent earlier than expected now.
    let isCertain = nearest === undefined
    for (const plans of this.#plans.values()) {
      for (const reason of REASONS) {
        const plan = plans[reason]
        if (plan === undefined) continue
        const planned = nextAnnouncementAt(plan)
        // The kernel is asked whether an address is ready only for the plan with the nearest time, because the answer
        // can only delay a plan.
        if (planned === undefined || (nearest !== undefined && planned >= nearest)) continue
        const dueAt = this.#dueAt(plan)
        isCertain &&= dueAt === planned
        nearest = sooner(nearest, dueAt)
      }
    }
    if (isCertain) this.#known = { nextAt: nearest }
    return nearest
  }

  /** Tells whether the first announcement because of a competing Active is due. */
  announcesOverCompetitor(now: Millis): boolean {
    for (const { competingActive: plan } of this.#plans.values()) {
      const at = plan?.fresh === true ? nextAnnouncementAt(plan) : undefined
      if (at !== undefined && at <= now) return true
    }
    return false
  }

  run(now: Millis): void {
    const next = this.nextAt()
    if (next === undefined || next > now) return
    this.#known = undefined
    const wanted: WantedAnnouncement[] = []
    for (const [router, plans] of this.#plans) {
      for (const kind of REASONS) {
        const plan = plans[kind]
        const at = plan === undefined ? undefined : this.#dueAt(plan)
        if (plan === undefined || at === undefined || at > now) continue
        const result = dueFrames(plan, now)
        plans[kind] = result.plan
        for (const { address, copy, first } of result.due) wanted.push({ router, address, copy, first })
      }
    }
    // All frames are offered together, because each call examines all waiting frames.
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
      const { address, first, router } = announcement
      this.sent.add(ok ? (address.includes(':') ? 'neighborAdvertisement' : 'gratuitousArp') : 'failed')
      if (ok && first) this.#onFirst.get(router)?.(address)
    })
  }
}
