/**
 * Silent Active: another host has one of our addresses, but no advertisement of that host arrives. The host has
 * answered our ARP request or Neighbor Solicitation, or is a unicast peer that is reachable again and was Active in the
 * meantime (docs/adr/0007, 0022). The extension silent-active decides which of these hosts make us announce again. The
 * daemon asks the LAN, and competing-active.ts limits the rate of announcements. Option: `probeRivals`.
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

/**
 * Milliseconds between two announcements because another host answered our question. While the host answers, this
 * router asks repeatedly, and one batch of announcements has repeats of its own.
 */
const ANSWER_SPACING = 1_000
/** Milliseconds to the last repeat of a batch of announcements (arp/announcement.ts). */
const REPEATS_TAKE = 200
/** Number of intervals after which an Active has certainly advertised, even if its first advertisement was lost. */
const MUTE_START = 1.2
type AddressAnswered = Extract<Event, { readonly kind: 'addressAnswered' }>

/**
 * Handles an answer to our question: another host has our address. Only an advertisement of that host shows whether it
 * gives way. FRR never sends its first IPv6 advertisement. For one interval only the Neighbor Advertisement of FRR
 * shows that FRR has the address. For a host that answers like FRR, this router waits one interval; otherwise our
 * announcement would come before that of the host.
 */
function hearAnswer(state: Active, event: AddressAnswered, parameters: Parameters, now: Millis): Step {
  const { silentAnswerAt, ...before } = state
  const { announcedOverAt } = before
  const repeatsSoon = parameters.family === 'ipv4'
  if (announcedOverAt !== undefined && now - announcedOverAt < ANSWER_SPACING) {
    // In IPv4, repeats of the batch of announcements are still to come. In IPv6 they come a second later. In IPv6 a
    // batch is enough only if an answer of the host has caused it.
    const announcedAt = repeatsSoon ? announcedOverAt : Number.NEGATIVE_INFINITY
    // If a question stayed unanswered in between, the first host has disappeared, and a second split brain has healed.
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

/**
 * Milliseconds after a takeover in which its own announcements still follow. A peer that becomes reachable in this time
 * receives them.
 */
const TAKEOVER_TAKES = 50

/**
 * Handles a unicast peer that is reachable again. The peer may have been Active beside us, and now receives an
 * advertisement of ours that had waited. This router asked the LAN nothing before that advertisement. If the peer gives
 * way without advertising, no later question finds the peer.
 */
function reachPeer(state: Active, parameters: Parameters, now: Millis): Step {
  if (now - state.since < TAKEOVER_TAKES) return [state, []]
  return announceOverCompetitor(state, parameters.family, now)
}
