/**
 * How often an Active speaks because another router spoke: at once, but bounded, so that a sender of many packets cannot
 * make us flood the segment (docs/architecture.md, Rivals). Which packets deserve an answer is decided in fsm.ts; this file does
 * not know priorities, and of announcements only when their first repeat comes (arp/announcement.ts).
 */
import type { Family } from '../../wire/address.ts'
import { centisToMillis, type Millis, millis, plus } from '../../wire/units.ts'
import type { Effect } from '../effect.ts'
import type { Parameters } from '../parameters.ts'
import type { Active, Answered } from '../state.ts'

const answerSpacing = ({ knobs, advertisementInterval }: Parameters): number =>
  Math.min(knobs.assertSpacing, centisToMillis(advertisementInterval))

type Question = Pick<Answered, 'to' | 'source'>

const same = (a: Question, b: Question): boolean => a.source === b.source && a.to === b.to

/**
 * Sources that are answered in one spacing. Sources can be invented: who is answered one by one answers a flood with a
 * flood of his own, and has no time left for anything else.
 */
const MOST_ANSWERS = 16

/** From when on this source may be advertised to out of turn again. */
export function answerableAt({ asserted }: Active, question: Question, parameters: Parameters): Millis {
  const last = asserted.find((answered) => same(answered, question))
  // Oldest first: with it a place becomes free.
  const before = last ?? (asserted.length < MOST_ANSWERS ? undefined : asserted[0])
  return before === undefined ? millis(Number.NEGATIVE_INFINITY) : plus(before.at, answerSpacing(parameters))
}

/**
 * Too soon for another answer: then it is late, not left to the next advertisement of the interval. One more rival than
 * there are answers for may not speak again; and one that was answered a while ago has yielded and risen anew, as by a
 * second priority 0 forged in our name. Sooner than that it is the last word of a loser, which wants none.
 */
export function answerLate(state: Active, question: Question, parameters: Parameters, now: Millis): Active {
  const answered = state.asserted.find((each) => same(each, question))
  if (answered !== undefined && now - answered.at < answerSpacing(parameters) / 2) return state
  const again = answerableAt(state, question, parameters)
  return again < state.adverAt ? { ...state, adverAt: again } : state
}

/** Of a question that may be answered now. */
export function rememberAnswer(state: Active, question: Question, parameters: Parameters, now: Millis): Active {
  const spacing = answerSpacing(parameters)
  if (spacing <= 0) return { ...state, asserted: [] }
  const recent = state.asserted.filter((answered) => !same(answered, question) && now - answered.at < spacing)
  return { ...state, asserted: [...recent.slice(1 - MOST_ANSWERS), { ...question, at: now }] }
}

/** Not longer than until the first repeat of a batch: that one comes after every packet that got no batch of its own. */
const ANNOUNCE_SPACING = 50
/** Three at once: for an answer to our question, a loser's first advertisement, and a millisecond later its last. */
const ANNOUNCE_CREDIT = 3 * ANNOUNCE_SPACING

/**
 * What we announce has to be the last word: every packet is followed by a batch or by the repeat of one, in 50 ms. In IPv6
 * a repeat comes a second later (RFC 4861 §7.2.6): there a packet too many gets a batch of its own, when it is paid for.
 */
export function announceOverRival(state: Active, family: Family, now: Millis): readonly [Active, readonly Effect[]] {
  const { rivalAnnouncedAt } = state
  // What was queued together (one turn, one `now`) causes one batch: it is sent when all of it was heard. One that is
  // still to come follows this packet, too.
  if (rivalAnnouncedAt !== undefined && rivalAnnouncedAt >= now) return [state, []]
  const paidAt = plus(millis(Math.max(state.rivalPaidAt ?? now, now)), ANNOUNCE_SPACING)
  const early = paidAt - now - ANNOUNCE_CREDIT
  if (early > 0) {
    if (family === 'ipv4') return [state, []]
    const after = millis(early)
    const later = { ...state, rivalAnnouncedAt: plus(now, early), rivalPaidAt: paidAt }
    return [later, [{ kind: 'announce', reason: 'rival', after }]]
  }
  return [{ ...state, rivalAnnouncedAt: now, rivalPaidAt: paidAt }, [{ kind: 'announce', reason: 'rival' }]]
}
