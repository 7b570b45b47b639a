/**
 * What is worth telling: each takeover with what led to it and how long each phase took, each end of a time with two
 * Actives, and what happened without the address moving. Decided here: which events are the steps of
 * one, and what the phases are. Refuses to know how it is printed. PURE.
 */
import type { EventOf } from '../journal/event.ts'
import { aloneOf } from './alone.ts'
import type { Cause } from './cause.ts'
import { type Diagnosis, diagnose, type Takeover } from './diagnosis.ts'
import {
  beganAway,
  chainOf,
  isKind,
  type Node,
  nodeAt,
  type Subject,
  subjectOf,
  type Timeline,
  type Told,
} from './timeline.ts'

export type Phase = { readonly what: string; readonly ms: number }

export type Incident = {
  readonly at: number
  readonly cause: Cause
  /** Where it happened, or who has the address now. */
  readonly node: Node
  /** Undefined: it is about the node as a whole. */
  readonly subject: Subject | undefined
  readonly takeover: (Diagnosis & { readonly event: EventOf<'transition'> }) | undefined
  /** By time. */
  readonly steps: readonly Told[]
  readonly phases: readonly Phase[]
  /** For how long two routers were Active. */
  readonly twoOwnersMs?: number
  /** What the first sentence is about, where that is not the last step. */
  readonly about?: Told
  /** Who has sent what did not arrive, as far as his journal is there. */
  readonly sender?: Node | undefined
}

export function incidentsOf(timeline: Timeline): readonly Incident[] {
  const found = timeline.told.flatMap((told): readonly Incident[] => {
    if (isKind(told, 'transition')) {
      if (told.event.to === 'Active') return [takeoverOf(timeline, told)]
      return told.event.from === 'Active' ? lostOf(timeline, told) : []
    }
    return aloneOf(timeline, told)
  })
  const moved = found.filter(({ takeover }) => takeover !== undefined)
  const steps = new Set(moved.flatMap((each) => each.steps))
  // What a takeover tells is not told once more.
  return found.filter(
    (each) => each.takeover !== undefined || !(each.steps.some((step) => steps.has(step)) || isDeathOf(moved, each)),
  )
}

/** Intervals: whoever starts again at once does so before another one has taken over. */
const PATIENCE = 5

/** A life that ended without a word, and a takeover that was told because of it. */
function isDeathOf(moved: readonly Incident[], { at, cause, node, steps }: Incident): boolean {
  const [found] = steps
  const event = found?.event
  if (cause !== 'died' || (event?.kind !== 'earlierLife' && event?.kind !== 'crashed')) return false
  const last =
    event.kind === 'crashed' ? at - SAME_MOMENT : (node.byNumber.get(event.lastSeq)?.at ?? Number.NEGATIVE_INFINITY)
  return moved.some(
    (each) =>
      each.takeover?.before === node &&
      (each.cause === 'engineDied' || each.cause === 'nodeDied') &&
      each.at >= last &&
      each.at <= at + PATIENCE * each.takeover.event.interval,
  )
}

function takeoverOf(timeline: Timeline, takeover: Takeover): Incident {
  const diagnosis = diagnose(timeline, takeover)
  const announced = takeover.node.told.find(
    (told) => isKind(told, 'announced') && told.event.because === takeover.event.seq,
  )
  const left = leavingOf(timeline, takeover)
  const steps = sorted([...diagnosis.evidence, takeover, ...(announced === undefined ? [] : [announced]), ...left])
  return {
    at: takeover.at,
    cause: diagnosis.cause,
    node: takeover.node,
    subject: subjectOf(takeover.event),
    takeover: { ...diagnosis, event: takeover.event },
    steps,
    phases: phasesOf(takeover, steps, announced),
  }
}

/** What whoever had it before does when it hears of it. */
function leavingOf(timeline: Timeline, takeover: Takeover): readonly Told[] {
  const subject = subjectOf(takeover.event)
  const until = takeover.at + takeover.event.interval
  return timeline.told.filter(
    (told) =>
      isKind(told, 'transition') &&
      told.node !== takeover.node &&
      subjectOf(told.event) === subject &&
      (told.event.from === 'Active' || told.event.from === 'Leaving') &&
      told.at >= takeover.at - SAME_MOMENT &&
      told.at <= until,
  )
}

const SAME_MOMENT = 100

/** From what was noticed first to the LAN knowing. */
function phasesOf(takeover: Takeover, steps: readonly Told[], announced: Told | undefined): readonly Phase[] {
  const { event, at, node } = takeover
  const decidedAt = at - (event.monotonicMs - event.decidedMs)
  const phases: Phase[] = []
  const away = steps.find((step) => step.node !== node && beganAway(step) !== undefined)
  if (away?.event.kind === 'absence' && away.event.agoMs !== undefined && event.reason === 'activeReleased') {
    const { agoMs, silentMs = agoMs } = away.event
    phases.push({ what: `${away.node.name} was silent until its guardian acted`, ms: silentMs - agoMs })
  }
  const first = steps.find((step) => step.at <= decidedAt && step.event.kind !== 'started' && step !== takeover)
  const heard = steps.find((step) => step.node === node && step.event.kind === 'peerHeard' && step.at <= decidedAt)
  if (event.reason === 'activeSilent' && event.heard !== undefined)
    phases.push({ what: `${node.name} waited in silence`, ms: event.heard.agoMs })
  else if (first !== undefined) {
    const noticed = heard !== undefined && heard !== first ? heard : undefined
    if (noticed !== undefined) phases.push({ what: `${node.name} heard of it`, ms: noticed.at - first.at })
    phases.push({ what: `${node.name} decided`, ms: decidedAt - (noticed ?? first).at })
  }
  phases.push({ what: 'advertised, addresses in place', ms: at - decidedAt })
  if (announced !== undefined) phases.push({ what: 'announced to the LAN', ms: announced.at - at })
  return phases.filter(({ ms }) => ms >= 0)
}

/** An Active that finds another one: a stranger to us, or one after more than the moment that a preemption takes. */
function lostOf(timeline: Timeline, lost: Takeover): readonly Incident[] {
  const { event, node, at } = lost
  if (event.reason !== 'higherPriorityHeard' && event.reason !== 'higherAddressHeard') return []
  const common = { at, node, takeover: undefined, phases: [], steps: sorted(chainOf(lost)) }
  if (event.peer !== undefined && nodeAt(timeline, event.peer) === undefined)
    return [{ ...common, cause: 'outranked', subject: subjectOf(event) }]
  const subject = subjectOf(event)
  const starts = (who: (other: Node) => boolean) =>
    timeline.told.findLast(
      (told): told is Takeover =>
        isKind(told, 'transition') &&
        who(told.node) &&
        subjectOf(told.event) === subject &&
        told.event.to === 'Active' &&
        told.at < at,
    )
  const [own, other] = [starts((each) => each === node), starts((each) => each.addresses.has(event.peer ?? ''))]
  if (own === undefined || other === undefined) return []
  const twoOwnersMs = at - Math.max(own.at, other.at)
  if (twoOwnersMs < 1.5 * event.interval) return []
  return [{ ...common, cause: 'healed', subject, twoOwnersMs }]
}

const sorted = (told: readonly Told[]): readonly Told[] => [...new Set(told)].sort((one, other) => one.at - other.at)
