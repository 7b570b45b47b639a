/**
 * Executes the effects of the state machine on the network: one table from the kind of effect to its executor. An
 * executor returns orders, which run at the end of the turn, together with the orders of all routers
 * (effect-runner.ts). An effect that only counts returns no order. This file decides the order of questions and
 * advertisements.
 */
import { LOG } from '../../log/log.ts'
import type { AdvertisementReason, Effect } from '../../vrrp/effect.ts'
import { ownsAddresses, type Parameters } from '../../vrrp/parameters.ts'
import type { HeardActive, State } from '../../vrrp/state.ts'
import type { Address } from '../../wire/address.ts'
import { type Millis, plus } from '../../wire/units.ts'
import type { AddressDuty } from '../addresses/address-duty.ts'
import type { Act, EffectRunner, Order } from '../effect-runner.ts'
import { wasSent } from '../guard/absence-deadline.ts'
import type { Cleanup } from '../guard/cleanup.ts'
import type { Claimant } from '../guard/cleanup-plan.ts'
import type { Advertiser } from '../lan/advertiser.ts'
import type { CompetingAnswers } from '../lan/duplicates/competing-answers.ts'
import type { DuplicateDetection } from '../lan/duplicates/duplicate-detection.ts'
import type { SendOutcome } from '../ports.ts'
import type { Recorder } from '../telemetry/recorder.ts'
import type { RouterCounters } from '../telemetry/router-counters.ts'
import { suppressionText } from '../telemetry/suppressed-move.ts'
import type { TakeoverWatch } from '../telemetry/takeover-watch.ts'
import type { Entered, MovedRouter, TransitionHistory } from '../telemetry/transition-history.ts'
import type { HostedRouter, RouterIo } from './router-io.ts'

type EffectOf = { readonly [K in Effect['kind']]: Extract<Effect, { readonly kind: K }> }

/**
 * Interface and parameters of a router at the time of its decision. An order uses these values, even if they have
 * changed since.
 */
export type Place = {
  readonly io: RouterIo | undefined
  readonly parameters: Parameters
  /** Active that the router followed until the transition; `undefined` if the router knew no Active. */
  readonly followed: HeardActive | undefined
}

/** Executor of each kind of effect. A new kind does not compile without one. */
export type Executors = {
  readonly [K in Effect['kind']]: (effect: EffectOf[K], place: Place) => readonly Order[]
}

/** The fields of a virtual router that the effects use. */
export type ActingRouter = Claimant &
  HostedRouter &
  MovedRouter & {
    readonly state: State
    readonly group: {
      readonly name: string | undefined
      readonly cleanup: Cleanup
      noticeExecution(now: Millis): boolean
    }
    readonly duty: AddressDuty
    readonly advertiser: Advertiser
    readonly competing: CompetingAnswers
    readonly duplicates: DuplicateDetection
    readonly counters: RouterCounters
    readonly history: TransitionHistory
    readonly takeover: TakeoverWatch
  }

export type EffectContext = {
  readonly runner: EffectRunner
  readonly recorder: Recorder
  readonly onTransition: (entered: Entered) => void
  readonly onAskChecks: (within: Millis) => void
}

/** Reasons of advertisements without an announcement, after which a competing Active may give way unnoticed. */
const UNANNOUNCED: ReadonlySet<AdvertisementReason> = new Set([
  'periodic',
  'priorityZeroHeard',
  'priorityChanged',
  'parametersChanged',
])

/** Reasons of advertisements with which a router begins to answer for its addresses. */
const TAKES_OVER: ReadonlySet<AdvertisementReason> = new Set(['takeover', 'returned'])

const NONE: readonly Order[] = []

export const executorsFor = (router: ActingRouter, context: EffectContext): Executors => ({
  sendAdvertisement: (effect, place) => advertisement(router, effect, place),
  installAddresses: (_, place) => [(now) => router.duty.install(place, now)],
  probeAddresses: (_, { io }) => [() => (io === undefined ? undefined : probe(router, io))],
  removeAddresses: ({ addresses }, place) => [
    (now) => {
      // The cleanup plan is changed before the first removal. In the other order, the guardian could renew a removed
      // address, which would then come back.
      router.group.cleanup.beforeRemoval(now)
      return router.duty.remove(place, addresses)
    },
  ],
  announce: ({ after, reason }, { io }) => [
    (now) => void io?.announcements.announce(router, reason, after === undefined ? now : plus(now, after)),
  ],
  transition: (effect, place) => [(now) => enter(router, context, effect, place, now)],
  askChecks: ({ within }) => [() => void context.onAskChecks(within)],
  refused: ({ reason, source }) => {
    router.counters.refused.add(reason)
    if (reason === 'initialize') logIgnored(router, context.recorder, source)
    return NONE
  },
  moveSuppressed: (effect) => {
    router.counters.suppressed.add(effect.reason)
    logSuppressed(router, context.recorder, effect)
    return NONE
  },
})

/** Returns the orders of one effect. */
export const ordersOf = <K extends Effect['kind']>(
  executors: Executors,
  kind: K,
  effect: EffectOf[K],
  place: Place,
): readonly Order[] => executors[kind](effect, place)

const ask = (asker: RouterIo, items: readonly Uint8Array[]): Act => ({ kind: 'ask', asker, items })

function probe(router: ActingRouter, io: RouterIo): Act {
  // A router that was Active without asking (profile rfc9568) has not listened yet, and answers come within
  // microseconds.
  io.watchAnnouncements()
  return ask(io, io.questions.probesOf(router))
}

function advertisement(router: ActingRouter, effect: EffectOf['sendAdvertisement'], place: Place): readonly Order[] {
  const { io, parameters } = place
  const send: Order = (now) => advertise(router, effect, place, now)
  if (io === undefined || parameters.extensions.silentActive !== true || !UNANNOUNCED.has(effect.reason)) return [send]
  const question =
    (frames: (now: Millis) => readonly Uint8Array[]): Order =>
    (now) => {
      router.competing.asked(now)
      return ask(io, frames(now))
    }
  // The question for competing holders is sent before the advertisement. A competing Active that gives way to the
  // advertisement does not answer afterwards (docs/adr/0007).
  return [
    question((now) => io.questions.before(router.parameters, now)),
    send,
    question((now) => io.questions.after(router.parameters, now)),
  ]
}

function advertise(
  router: ActingRouter,
  { priority, reason }: EffectOf['sendAdvertisement'],
  { io, parameters }: Place,
  now: Millis,
): Act | undefined {
  if (io === undefined) return undefined
  const { advertiser, group, takeover } = router
  // Priority 0 does not extend the deadline of the plan. The last advertisement of a router that has lost does not
  // extend the deadline either.
  const promises = priority !== 0 && reason !== 'lost'
  // The engine may have been delayed since the turn began. If it advertised now, a node that has taken over would give
  // way to an Active without addresses.
  if (promises && group.noticeExecution(now)) return undefined
  if (TAKES_OVER.has(reason)) takeover.begin(parameters.addresses, ownsAddresses(parameters), now)
  const items = advertiser.datagrams(parameters, priority)
  const done = (outcomes: readonly SendOutcome[]) => {
    advertiser.sentAs(priority, items, outcomes)
    if (!promises || !wasSent(outcomes, io.canSend)) return
    group.cleanup.advertised(router, priority, now)
    takeover.advertised()
  }
  return { kind: 'send', sender: io, items, done }
}

function enter(
  router: ActingRouter,
  { onTransition, runner }: EffectContext,
  transition: EffectOf['transition'],
  { followed, io, parameters }: Place,
  at: Millis,
): undefined {
  const { from, to } = transition
  if (from === 'Active') {
    io?.announcements.cancel(router)
    router.duplicates.end()
    router.takeover.end()
  }
  if (to === 'Active') router.duplicates.begin(at)
  onTransition({ to, priority: parameters.priority })
  runner.tellLater(() => {
    router.history.tell({ transition, interfaceName: io?.interfaceName, followed, at }, router, at)
  })
}

/**
 * Logs an advertisement that was ignored in Initialize (RFC 9568 §6.4.1). Ignored advertisements are normal during a
 * start or a fault, so the level is debug.
 */
function logIgnored({ name, state }: ActingRouter, recorder: Recorder, source: Address): void {
  const faults = state.name === 'Initialize' ? state.faults : []
  const why = faults.length === 0 ? 'the router has not started' : `in fault (${faults.join(', ')})`
  const message = `${name}: ignored an advertisement of ${source}: the router is in Initialize, ${why}`
  recorder.logLimited(`${name} ignored ${source}`, LOG.advertisementIgnored, message, {
    router: name,
    peer: source,
    faults,
  })
}

function logSuppressed(
  router: ActingRouter,
  recorder: Recorder,
  { at, reason, source }: EffectOf['moveSuppressed'],
): void {
  const { name, title } = router
  const message = `${title}: ${suppressionText(reason, source, router, at)}`
  recorder.logLimited(`${name} suppressed ${reason}`, LOG.moveSuppressed, message, {
    router: name,
    peer: source,
    reason,
  })
}
