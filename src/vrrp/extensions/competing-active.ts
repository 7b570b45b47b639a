/**
 * Competing Active: another router advertises while this one is Active and wins, or releases addresses that this one has. The
 * RFC answers each such advertisement (710), (775). Decided here: that the answers are bounded, so that a sender of many
 * packets cannot make us flood the segment; that an answer which is too soon comes late, not never; and that the addresses
 * are announced again, because clients may have been led to the other router (docs/adr/0007). Refuses to know priorities,
 * and of announcements all but when their first repeat comes (arp/announcement.ts).
 * Options: `assertOnLower`, `assertSpacing`, `announceOnRival`.
 */
import type { Address, Family } from '../../wire/address.ts'
import { centisToMillis, type Millis, millis, plus } from '../../wire/units.ts'
import type { Effect } from '../effect.ts'
import { advertise, type Step } from '../fsm.ts'
import type { CompetingOptions, Parameters } from '../parameters.ts'
import type { Active, Answered } from '../state.ts'
import type { Extension } from './extension.ts'

type Question = Pick<Answered, 'to' | 'source'>

export const competingActive: Extension = {
  name: 'competing-active',
  isOn: ({ extensions }) => extensions.competingActive !== undefined,
  isPending: { Active: ({ asserted }) => asserted.length > 0 },
  wraps: {
    Active: {
      advertisementReceived: (inner, state, event, parameters, now) => {
        const { advertisement, source } = event
        const isOther = source !== parameters.primaryAddress
        if (isOther && advertisement.priority === 0) {
          return hearRelease(state, source, parameters, now, () => inner(state, event, parameters, now))
        }
        const [next, effects] = inner(state, event, parameters, now)
        // Lost (740)–(765), or our own packet.
        if (next.name !== 'Active' || !isOther) return [next, effects]
        return hearLower(next, source, effects, parameters, now)
      },
    },
  },
}

/** Off, with answers of before that are still remembered: as the RFC has it. */
const optionsOf = ({ extensions, version }: Parameters): CompetingOptions =>
  extensions.competingActive ?? { answers: version === 3, spacing: millis(0), announces: false }

/** (775): `effects` has the refusal, and the answer of the RFC. */
function hearLower(
  state: Active,
  source: Address,
  effects: readonly Effect[],
  parameters: Parameters,
  now: Millis,
): Step {
  const question = { to: 'competing', source } as const
  const refused = effects.filter(({ kind }) => kind === 'refused')
  if (!optionsOf(parameters).answers) return announceToo([state, refused], parameters, now)
  if (answerableAt(state, question, parameters) > now) {
    return announceToo([answerLate(state, question, parameters, now), refused], parameters, now)
  }
  const answered = rememberAnswer(state, question, parameters, now)
  return announceToo([answered, [...refused, advertise(parameters, 'rivalHeard')]], parameters, now)
}

/**
 * (705): Backups are silent, so a router that releases was Active beside us. If it does so too soon for another answer, the answer
 * comes late, not never, because a Backup may have cut its timer to Skew_Time. `asRfc`: (710), (715).
 */
function hearRelease(state: Active, source: Address, parameters: Parameters, now: Millis, asRfc: () => Step): Step {
  const release = { to: 'release', source } as const
  const again = answerableAt(state, release, parameters)
  if (again > now) {
    return announceToo([{ ...state, adverAt: millis(Math.min(state.adverAt, again)) }, []], parameters, now)
  }
  const [next, effects] = asRfc()
  if (next.name !== 'Active') return [next, effects]
  return announceToo([rememberAnswer(next, release, parameters, now), effects], parameters, now)
}

function announceToo(
  [state, effects]: readonly [Active, readonly Effect[]],
  parameters: Parameters,
  now: Millis,
): Step {
  if (!optionsOf(parameters).announces) return [state, effects]
  const [announced, announcement] = announceOverCompetitor(state, parameters.family, now)
  return [announced, announcement.length === 0 ? effects : [...effects, ...announcement]]
}

// Answers out of turn -------------------------------------------------------------------------------------------------

const answerSpacing = (parameters: Parameters): number =>
  Math.min(optionsOf(parameters).spacing, centisToMillis(parameters.advertisementInterval))

const same = (a: Question, b: Question): boolean => a.source === b.source && a.to === b.to

/**
 * Sources that are answered in one spacing. Sources can be invented: a router that answers each of them answers a flood with a
 * flood of its own, and has no time left for anything else.
 */
const MOST_ANSWERS = 16

/** Returns when this source may be advertised to out of turn again. */
function answerableAt({ asserted }: Active, question: Question, parameters: Parameters): Millis {
  const last = asserted.find((answered) => same(answered, question))
  // Oldest first: with it a place becomes free.
  const before = last ?? (asserted.length < MOST_ANSWERS ? undefined : asserted[0])
  return before === undefined ? millis(Number.NEGATIVE_INFINITY) : plus(before.at, answerSpacing(parameters))
}

/**
 * Too soon for another answer: then it is late, not left to the next advertisement of the interval. One more competing Active
 * than there are answers for may not advertise again. One that we answered earlier may have become Active again, as by a
 * second priority 0 forged in our name. Less than half a spacing after our answer, its advertisement is the last one of a
 * router that has lost, and is not answered.
 */
function answerLate(state: Active, question: Question, parameters: Parameters, now: Millis): Active {
  const answered = state.asserted.find((each) => same(each, question))
  if (answered !== undefined && now - answered.at < answerSpacing(parameters) / 2) return state
  const again = answerableAt(state, question, parameters)
  return again < state.adverAt ? { ...state, adverAt: again } : state
}

/** Returns the state after an answer that is sent now. */
function rememberAnswer(state: Active, question: Question, parameters: Parameters, now: Millis): Active {
  const spacing = answerSpacing(parameters)
  if (spacing <= 0) return { ...state, asserted: [] }
  const recent = state.asserted.filter((answered) => !same(answered, question) && now - answered.at < spacing)
  return { ...state, asserted: [...recent.slice(1 - MOST_ANSWERS), { ...question, at: now }] }
}

// Announcements -------------------------------------------------------------------------------------------------------

/** Not longer than until the first repeat of a batch: that one comes after every packet that got no batch of its own. */
const ANNOUNCE_SPACING = 50
/** Three at once: for an answer to our question, a loser's first advertisement, and a millisecond later its last. */
const ANNOUNCE_CREDIT = 3 * ANNOUNCE_SPACING

/**
 * Announces the addresses again after a packet that may have misled clients. Ours has to be the last announcement: every packet is
 * followed by a batch or by the repeat of one, in 50 ms. In IPv6
 * a repeat comes a second later (RFC 4861 §7.2.6): there a packet too many gets a batch of its own, when it is paid for.
 */
export function announceOverCompetitor(
  state: Active,
  family: Family,
  now: Millis,
): readonly [Active, readonly Effect[]] {
  const { announcedOverAt } = state
  // What was queued together (one turn, one `now`) causes one batch: it is sent when all of it was heard. One that is
  // still to come follows this packet, too.
  if (announcedOverAt !== undefined && announcedOverAt >= now) return [state, []]
  const paidAt = plus(millis(Math.max(state.announcementsPaidAt ?? now, now)), ANNOUNCE_SPACING)
  const early = paidAt - now - ANNOUNCE_CREDIT
  if (early > 0) {
    if (family === 'ipv4') return [state, []]
    const after = millis(early)
    const later = { ...state, announcedOverAt: plus(now, early), announcementsPaidAt: paidAt }
    return [later, [{ kind: 'announce', reason: 'rival', after }]]
  }
  return [{ ...state, announcedOverAt: now, announcementsPaidAt: paidAt }, [{ kind: 'announce', reason: 'rival' }]]
}
