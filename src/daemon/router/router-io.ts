/**
 * Part of an interface that a router uses: the boundary between router.ts and lan/segment.ts. This file knows nothing
 * about that routers share an interface, and which sockets exist.
 */
import type { Parameters } from '../../vrrp/parameters.ts'
import type { Address } from '../../wire/address.ts'
import type { Mac } from '../../wire/mac.ts'
import type { Millis } from '../../wire/units.ts'
import type { AddressIo } from '../addresses/address-keeper.ts'
import type { AddressPlaces } from '../addresses/address-places.ts'
import type { Asker, Sender } from '../effect-runner.ts'
import type { ClockRecord, RepetitionPort } from '../ports.ts'
import type { RouterSpec } from './router-spec.ts'

/** Part of a router that the code of its interface (lan/segment.ts) uses. */
export type HostedRouter = {
  readonly name: string
  readonly spec: Pick<RouterSpec, 'announce' | 'announceOther' | 'name'>
  readonly parameters: Parameters
  readonly places: AddressPlaces
  /** Watch of takeovers; its method is called after the first announcement of an address was sent. */
  readonly takeover: { announced(address: Address): void }
}

/** Questions with the rounds of a clock, those before and those after the advertisement. */
export type RepeatedQuestions = {
  readonly before: readonly ClockRecord[]
  readonly after: readonly ClockRecord[]
  /** Period of the questions of duplicate address detection in `after`; `undefined` if `after` has none. */
  readonly detection: { readonly period: Millis; readonly every: number } | undefined
}

export type RouterIo = AddressIo &
  Sender &
  Asker & {
    readonly interfaceName: string
    readonly mac: Mac
    /**
     * True if packets wait or may have been dropped, so that silence proves nothing (ground rule 2: a waiting packet
     * counts).
     */
    readonly receptionLost: boolean
    /** Watches of repeated packets; `undefined` if the socket is closed or has none. */
    readonly repetitions: RepetitionPort | undefined
    /** True if the link is up, so that sent packets may arrive. */
    readonly canSend: boolean
    /** Starts to receive the announcements of other hosts that a router needs. */
    watchAnnouncements(): void
    readonly announcements: {
      announce(router: HostedRouter, reason: 'takeover' | 'competingActive', now: Millis): void
      /** Announces these VIPs of the router, because another host has the same addresses. */
      announceOver(router: HostedRouter, addresses: readonly Address[], now: Millis): void
      /** Announces the node's own source address to hosts that could not ask for it while the node was away. */
      announceSource(now: Millis): void
      /** Adopts another refresh period or list of addresses of the router. */
      reschedule(router: HostedRouter, now: Millis): void
      cancel(router: HostedRouter): void
    }
    readonly questions: {
      /**
       * Returns frames that ask which other host has a VIP of the router; empty if the last question was sent too
       * recently.
       */
      before(parameters: Parameters, now: Millis): readonly Uint8Array[]
      /**
       * Returns frames that ask after an advertisement, for hosts that the question before the advertisement may not
       * have reached (docs/adr/0022).
       */
      after(parameters: Parameters, now: Millis): readonly Uint8Array[]
      /**
       * Returns the questions that the guardian's clock sends with the advertisements from `first` on (docs/adr/0086).
       */
      repeated(router: HostedRouter, first: Millis, detectionPeriod: Millis | undefined): RepeatedQuestions
      /** Takes the questions of the router's clock to its peers back, so that the engine asks them. */
      takeBack(vrid: number): void
      /** Tells whether the guardian's clock asks all peers of a router. */
      isRepeated(parameters: Parameters): boolean
      /** Tells whether all addresses of the router belong on this interface. */
      areHere(router: HostedRouter): boolean
      /** Returns frames that ask every host for every address of the router. */
      probesOf(router: HostedRouter): readonly Uint8Array[]
    }
    readonly detection: {
      /**
       * Returns the milliseconds that a new Active waits before its first question, in addition to the time in which no
       * answer counts.
       */
      firstDelay(): number
      /** Milliseconds between two rounds of questions. */
      readonly period: Millis
    }
  }
