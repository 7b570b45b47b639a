/**
 * The interface where a router runs, as the router needs it: the seam between router.ts and lan/segment.ts. Refuses to
 * know that several routers share one interface, and what sockets there are.
 */
import type { Parameters } from '../../vrrp/parameters.ts'
import type { Address } from '../../wire/address.ts'
import type { Millis } from '../../wire/units.ts'
import type { AddressIo } from '../addresses/address-keeper.ts'
import type { AddressPlaces } from '../addresses/address-places.ts'
import type { Asker, Sender } from '../effect-runner.ts'
import type { RouterSpec } from './router-spec.ts'

/** A router, as its interface needs it. */
export type Tenant = {
  readonly name: string
  readonly spec: Pick<RouterSpec, 'announce' | 'announceOther' | 'name'>
  readonly parameters: Parameters
  readonly places: AddressPlaces
  /** The first announcement of an address has left. */
  readonly takeover: { announced(address: Address): void }
}

export type RouterIo = AddressIo &
  Sender &
  Asker & {
    readonly interfaceName: string
    /** Packets wait, were dropped, or may have been: silence proves nothing (ground rule 2). */
    readonly receptionLost: boolean
    /** The link is up: what is sent may arrive. */
    readonly canSend: boolean
    /** Listens from now on to the claims of other hosts that some router needs. */
    watchClaims(): void
    readonly announcements: {
      announce(router: Tenant, reason: 'takeover' | 'rival', now: Millis): void
      /** Announces these addresses of the router, because another host has them as well. */
      announceOver(router: Tenant, addresses: readonly Address[], now: Millis): void
      /** Announces the node's own address to hosts that could not ask while it was away. */
      announceSource(now: Millis): void
      /** Follows another refresh period or list of addresses. */
      reschedule(router: Tenant, now: Millis): void
      cancel(router: Tenant): void
    }
    readonly questions: {
      /** Returns frames that ask which other host has an address of the router. None: not now. */
      before(parameters: Parameters, now: Millis): readonly Uint8Array[]
      /** Returns the questions for the time after an advertisement: for what those before it may have missed (docs/adr/0022). */
      after(parameters: Parameters, now: Millis): readonly Uint8Array[]
      /** Returns frames that ask every host for every address of the router. */
      probesOf(router: Tenant): readonly Uint8Array[]
    }
    readonly detection: {
      /** Returns how long a new Active waits with its first question, besides the time in which no answer counts. */
      firstDelay(): number
    }
  }
