/**
 * Builds the snapshot of one router for status, API and metrics. This file decides how a deadline, an age and a missing
 * value are written. The meaning of each field is in snapshot.ts.
 */
import { isInterface, type Track } from '../../config/schema/track.ts'
import { isInGracePeriod } from '../../vrrp/extensions/grace-period.ts'
import { isOwner, outranks, ownsAddresses, type Parameters } from '../../vrrp/parameters.ts'
import type { State, StillAnswered } from '../../vrrp/state.ts'
import type { Address } from '../../wire/address.ts'
import type { Millis } from '../../wire/units.ts'
import { lifetimeOf } from '../addresses/lifetime.ts'
import type { Part } from '../health/tracking.ts'
import type { FoundDuplicate } from '../lan/duplicates/watched-router.ts'
import type { MismatchedRouter } from '../lan/mismatched-routers.ts'
import type { Router } from '../router/router.ts'
import type {
  CompetingAnswerSnapshot,
  DuplicateSnapshot,
  HeldBack,
  MismatchedRouterSnapshot,
  OtherActiveSnapshot,
  RouterSnapshot,
  RouterSummary,
} from './snapshot.ts'

export function summaryOf(router: Router): RouterSummary {
  const { name, parameters, state } = router
  const follows = state.name === 'Backup' ? (state.active?.source ?? null) : null
  return { name, state: state.name, faults: faultsOf(router), addresses: parameters.addresses, follows }
}

export function routerSnapshot(router: Router, now: Millis, departing = false): RouterSnapshot {
  const { duplicates, history, io, parameters, priority, spec, state } = router
  const { transport } = parameters
  return {
    name: spec.name,
    departing,
    group: router.group.name ?? null,
    vrid: parameters.vrid,
    family: parameters.family,
    version: parameters.version,
    interface: io?.interfaceName ?? null,
    holding: holdingOf(router),
    state: state.name,
    since: new Date(history.since.epoch).toISOString(),
    reason: history.since.reason,
    faults: faultsOf(router),
    configuredFault: spec.configuredFault ?? null,
    priority: { base: spec.basePriority, effective: parameters.priority },
    tracking: { sum: priority.tracking.sum, parts: priority.tracking.parts.map(partOf(spec.track)) },
    yieldingUntil: priority.yieldingUntil === undefined ? null : wallClock(priority.yieldingUntil - now),
    holder: holderOf(router, now),
    source: io === undefined ? null : parameters.primaryAddress,
    transport:
      transport.mode === 'multicast' ? `multicast ${transport.group}` : `unicast to ${transport.peers.length} peers`,
    advertisementIntervalMs: parameters.advertisementInterval * 10,
    activeAdverIntervalMs: state.name === 'Backup' ? state.activeAdverInterval * 10 : null,
    heldBack: heldBackOf(state, parameters) ?? null,
    deadlines: deadlinesOf(state, now),
    addresses: parameters.addresses.map((address) => ({ address, present: isPresent(router, address) })),
    lifetimeSeconds: (router.group.cleanup.guarded ? lifetimeOf(spec.lifetime, parameters) : undefined) ?? null,
    mismatchedRouters: history.mismatched.list(now).map((each) => mismatchOf(each, now)),
    duplicates: duplicates.list(now).map((each) => duplicateOf(each, now)),
    competingAnswer: competingAnswerOf(router, now),
    otherActives: otherActivesOf(router, now),
    restorationsPaused: pauseOf(router, now),
    clock: clockOf(router),
    counters: countersOf(router),
  }
}

const clockOf = ({ clock }: Router): RouterSnapshot['clock'] => ({
  armed: clock.isArmed,
  rounds: clock.rounds,
  failed: clock.failures,
  latestMs: round(clock.latest),
})

function holderOf({ parameters, state }: Router, now: Millis): RouterSnapshot['holder'] {
  const self = state.name === 'Active' || (state.name === 'Leaving' && state.successor === undefined)
  if (self) return { self, address: parameters.primaryAddress, priority: parameters.priority, heardMsAgo: 0 }
  const active = state.name === 'Backup' ? state.active : state.name === 'Leaving' ? state.successor : undefined
  return {
    self,
    address: active?.source ?? null,
    priority: active?.priority ?? null,
    heardMsAgo: active === undefined ? null : round(now - active.heardAt),
  }
}

function mismatchOf(
  { address, count, lastHeardAt, listenedTo, reason, version }: MismatchedRouter,
  now: Millis,
): MismatchedRouterSnapshot {
  const lastHeardMsAgo = round(now - lastHeardAt)
  return { address, reason, version: version ?? null, listenedTo, count, lastHeardMsAgo }
}

function duplicateOf({ address, foundAt, heardAt, mac, router }: FoundDuplicate, now: Millis): DuplicateSnapshot {
  const heardMsAgo = heardAt === undefined ? null : round(now - heardAt)
  const behind = router === undefined ? null : { address: router.source, priority: router.priority ?? null, heardMsAgo }
  return { address, mac, router: behind, foundMsAgo: round(now - foundAt) }
}

function otherActivesOf(
  { advertising, history, parameters, state }: Router,
  now: Millis,
): readonly OtherActiveSnapshot[] {
  return advertising
    .beside(state, parameters, history.since.at, now)
    .map(({ address, besideSince, heardAt, priority }) => ({
      ...{ address, priority },
      ...{ forMs: round(now - besideSince), heardMsAgo: round(now - heardAt) },
    }))
}

function countersOf({ advertiser, counters, history, keeper }: Router): RouterSnapshot['counters'] {
  return {
    received: counters.received,
    receivedZero: counters.receivedZero,
    competingAnswers: counters.competingAnswers,
    cleanupPlansExecuted: counters.executedPlans,
    sent: advertiser.sent.toJSON(),
    sendFailures: advertiser.failures.toJSON(),
    refused: counters.refused.toJSON(),
    suppressed: counters.suppressed.toJSON(),
    discarded: counters.discarded.toJSON(),
    warnings: counters.warnings.toJSON(),
    foreignChanges: keeper.foreignChanges.toJSON(),
    transitions: Object.entries(history.transitions.toJSON()).map(([key, count]) => {
      const [from = '', to = '', reason = ''] = key.split(' ')
      return { from, to, reason, count }
    }),
  }
}

function competingAnswerOf({ competing, state }: Router, now: Millis): CompetingAnswerSnapshot | null {
  const host = state.name === 'Active' ? competing.at(now) : undefined
  if (host === undefined) return null
  const { address, answers, lastAt, mac, since } = host
  return { address, mac, sinceMsAgo: round(now - since), lastMsAgo: round(now - lastAt), answers }
}

const partOf =
  (track: readonly Track[]) =>
  ({ adds, kind, name }: Part): RouterSnapshot['tracking']['parts'][number] => {
    const tracker = track.find((each) =>
      kind === 'interface'
        ? isInterface(each) && each.interface === name
        : !isInterface(each) && each.healthcheck === name,
    )
    const plain = tracker !== undefined && (isInterface(tracker) || !tracker.reverse) ? tracker.weight : null
    return { kind, name, adds, weight: adds === 0 || adds === plain ? plain : null }
  }

/**
 * Returns the faults of the router, and the faults of other members of its sync group, which only the router's state
 * contains.
 */
function faultsOf({ faults, state }: Router): readonly string[] {
  return [...new Set<string>([...faults, ...(state.name === 'Initialize' ? state.faults : [])])]
}

function holdingOf({ following: held }: Router): RouterSnapshot['holding'] {
  if (held === undefined) return null
  return { file: held.file ?? null, address: held.address ?? null, problem: held.problem ?? null }
}

const wallClock = (fromNow: number): string => new Date(Date.now() + fromNow).toISOString()

function isPresent(router: Router, address: Address): boolean {
  // An owner's addresses that are the node's own are not installed by holdfast.
  const { io, places } = router
  const found = io?.where(address) ?? []
  const place = io === undefined ? undefined : places.at(address, io)
  return ownsAddresses(router.parameters)
    ? found.length > 0
    : found.some((p) => p.interfaceIndex === place?.interfaceIndex)
}

function deadlinesOf(state: State, now: Millis): Record<string, number> {
  switch (state.name) {
    case 'Initialize':
      return {}
    case 'Backup':
      return {
        activeDownInMs: round(state.activeDownAt - now),
        ...(state.preemptAt === undefined ? {} : { preemptInMs: round(state.preemptAt - now) }),
        ...(state.regularDownAt === undefined ? {} : { regularDownInMs: round(state.regularDownAt - now) }),
        ...(isInGracePeriod(state) ? { addressesOffInMs: round(lastOf(state.stillAnswered) - now) } : {}),
      }
    case 'Active':
      return { adverInMs: round(state.adverAt - now) }
    case 'Leaving':
    case 'Returning':
      return { untilInMs: round(state.until - now) }
  }
}

/**
 * Returns the setting that keeps a Backup from preempting (RFC 9568 §6.4.2, step 445, and VR-PRE-02); `undefined` if no
 * setting does. No setting keeps an address owner from preempting (RFC 9568 §6.1).
 */
function heldBackOf(state: State, parameters: Parameters): HeldBack | undefined {
  const { preempt, preemptDelay, priority } = parameters
  if (state.name !== 'Backup' || state.active === undefined || isOwner(parameters)) return undefined
  if (state.active.priority >= priority) return undefined
  if (!preempt) return 'preempt'
  if (!outranks(priority, state.active.priority, parameters)) return 'margin'
  return preemptDelay > 0 && state.preemptAt !== undefined ? 'preemptDelay' : undefined
}

const lastOf = (stillAnswered: readonly StillAnswered[]) => Math.max(...stillAnswered.map(({ offAt }) => offAt))

const round = (value: number) => Math.round(value * 10) / 10

function pauseOf({ keeper }: Router, now: Millis): RouterSnapshot['restorationsPaused'] {
  const { restorationsPaused: pause } = keeper
  return pause === undefined ? null : { address: pause.address, forMs: round(pause.until - now) }
}
