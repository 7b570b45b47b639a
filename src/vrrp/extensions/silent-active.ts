/**
 * Silent Active: another holder of an address from which no advertisement comes: a host that answers our question for it, or a
 * unicast peer that is reached again and may have been Active meanwhile (docs/adr/0007, 0022). Decided here: which of
 * these are announced over. Refuses to know what asks, and how often may be announced (competing-active.ts).
 * Option: `probeRivals`.
 */
import { centisToMillis, type Millis, millis } from '../../wire/units.ts'
import type { Event } from '../event.ts'
import type { Step } from '../fsm.ts'
import type { Parameters } from '../parameters.ts'
import type { Active } from '../state.ts'
import { announceOverCompetitor } from './competing-active.ts'
import type { Extension } from './extension.ts'

export const silentActive: Extension = {
  name: 'silent-active',
  isOn: ({ extensions }) => extensions.silentActive === true,
  wraps: {
    Active: {
      addressAnswered: (_inner, state, event, parameters, now) => hearAnswer(state, event, parameters, now),
      peerReached: (_inner, state, _event, parameters, now) => reachPeer(state, parameters, now),
    },
  },
}

/** As long as it answers we ask again and again; the announcements of one batch last a while. */
const ANSWER_SPACING = 1_000
/** The last repeat of a batch (arp/announcement.ts). */
const REPEATS_TAKE = 200
/** Intervals until an Active has advertised for certain although its first advertisement was lost. */
const MUTE_START = 1.2
type RivalAnswered = Extract<Event, { readonly kind: 'addressAnswered' }>

/**
 * Our question has found another host that has our address. Only its advertisement shows whether it yields, if one comes. FRR's
 * first IPv6 advertisement never gets out: for an interval it has the address and only its Neighbor Advertisement shows
 * that. A host that answers like FRR is given that interval, or our announcement would come before its own.
 */
function hearAnswer(state: Active, event: RivalAnswered, parameters: Parameters, now: Millis): Step {
  const { silentAnswerAt, ...before } = state
  const { announcedOverAt } = before
  const repeatsSoon = parameters.family === 'ipv4'
  if (announcedOverAt !== undefined && now - announcedOverAt < ANSWER_SPACING) {
    // Repeats of a batch still come; in IPv6 a second later, so there a batch is enough only if an answer has caused it.
    const announcedAt = repeatsSoon ? announcedOverAt : Number.NEGATIVE_INFINITY
    // A question without an answer in between: the first host has gone, and this is another cut that was healed.
    const silence = now - Math.max(announcedAt, silentAnswerAt ?? announcedAt)
    const unasked = Math.max(1.5 * centisToMillis(parameters.advertisementInterval), REPEATS_TAKE)
    if (silence < unasked) return [{ ...state, silentAnswerAt: now }, []]
  }
  const [next, effects] = announceOverCompetitor(
    repeatsSoon ? before : { ...before, silentAnswerAt: now },
    parameters.family,
    now,
  )
  if (event.virtualMac !== true || parameters.family !== 'ipv6') return [next, effects]
  const after = millis(centisToMillis(parameters.advertisementInterval) * MUTE_START)
  return [next, effects.map((effect) => (effect.kind === 'announce' ? { ...effect, after } : effect))]
}

/** The takeover's own announcements are not over: a peer that is reached for the first time now receives them. */
const TAKEOVER_TAKES = 50

/**
 * A unicast peer that could not be reached may have been Active beside us, and has our advertisement now: one that had
 * waited, before which no question was sent. If it yields to it in silence no question will find it any more.
 */
function reachPeer(state: Active, parameters: Parameters, now: Millis): Step {
  if (now - state.since < TAKEOVER_TAKES) return [state, []]
  return announceOverCompetitor(state, parameters.family, now)
}
