/**
 * The interface a router runs on, as the router needs it: the seam between router.ts and segment.ts, and nothing more.
 * Refuses to know that several routers share one interface, and what sockets there are.
 */
import type { Address } from '../wire/address.ts'
import type { Millis } from '../wire/units.ts'
import type { AddressIo } from './addresses/address-keeper.ts'
import type { Asker, Sender } from './effect-runner.ts'
import type { Router } from './router.ts'

export type RouterIo = AddressIo &
  Sender &
  Asker & {
    readonly interfaceName: string
    /** Packets wait, were dropped, or may have been: silence proves nothing (ground rule 2). */
    readonly receptionLost: boolean
    readonly interfaceIndex: number
    /** The link is up: what is sent may arrive. */
    readonly canSend: boolean
    announce(router: Router, reason: 'takeover' | 'rival', now: Millis): void
    /** These of its addresses, because somebody else has them as well. */
    announceOver(router: Router, addresses: readonly Address[], now: Millis): void
    /** How long a new Active waits with its first question of the radar, besides the time in which no answer counts. */
    radarDelay(): number
    /** Some router may need the claims of others from now on. */
    watchClaims(): void
    /** Where its own address is, for hosts that could not ask while it was away. */
    announceSource(now: Millis): void
    /** Its refresh may have another period. */
    reschedule(router: Router, now: Millis): void
    cancelAnnouncements(router: Router): void
    /** Who else has an address of the router? The answer comes by hearClaim(). None: not now. */
    questionsOf(router: Router, now: Millis): readonly Uint8Array[]
    /** Asked when the advertisement has left: for what the question before it may have missed (docs/adr/0022). */
    followUpsOf(router: Router, now: Millis): readonly Uint8Array[]
    /** Does anybody at all have any address of the router? Answered as above. */
    probesOf(router: Router): readonly Uint8Array[]
  }
