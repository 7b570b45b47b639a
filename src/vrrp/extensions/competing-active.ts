/**
 * Competing Active: another router advertises while this one is Active and wins, or releases addresses that this one
 * has. The RFC answers each such advertisement, lines (710) and (775). The extension competing-active limits the
 * advertisements that answer, so that a sender of many packets cannot make us flood the segment. An answering
 * advertisement that would be too early is delayed, not dropped. The router announces the addresses again, because
 * clients may use the other router's MAC (docs/adr/0007). `competing-active.ts` does not know priorities.
 * `competing-active.ts` knows the delay of the first repeat of an announcement (arp/announcement.ts), but not the
 * frames. Options: `assertOnLower`, `assertSpacing`, `announceOnRival`.
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
        // This router has lost the election, lines (740) to (765), or the packet is our own.
        if (next.name !== 'Active' || !isOther) return [next, effects]
        return hearLower(next, source, effects, parameters, now)
      },
    },
  },
}

/**
 * Returns the options for a competing Active. If a reload turned the extension off while a state still remembers
 * answered routers, the RFC's behaviour applies.
 */
const optionsOf = ({ extensions, version }: Parameters): CompetingOptions =>
  extensions.competingActive ?? { answers: version === 3, spacing: millis(0), announces: false }

/**
 * Handles an advertisement of lower priority, line (775). `effects` are the refusal and the answering advertisement of
 * the RFC.
 */
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
  return announceToo([answered, [...refused, advertise(parameters, 'competingActiveHeard')]], parameters, now)
}

/**
 * Handles priority 0, line (705). A Backup sends nothing, so the router that sent priority 0 was Active beside us. An
 * answering advertisement that would be too early is delayed, not dropped, because a Backup may have cut its timer to
 * Skew_Time. `asRfc` is the RFC's step, lines (710) and (715).
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
 * Number of source addresses that get an answering advertisement within one spacing. A sender can forge source
 * addresses. Without this limit a flood of packets would cause a flood of advertisements and use all our CPU time.
 */
const MOST_ANSWERS = 16

/** Returns the time from which this source address may get another answering advertisement. */
function answerableAt({ asserted }: Active, question: Question, parameters: Parameters): Millis {
  const last = asserted.find((answered) => same(answered, question))
  // The list starts with the router that was answered longest ago. When that entry expires, another router may be
  // answered.
  const before = last ?? (asserted.length < MOST_ANSWERS ? undefined : asserted[0])
  return before === undefined ? millis(Number.NEGATIVE_INFINITY) : plus(before.at, answerSpacing(parameters))
}

/**
 * Delays an answering advertisement that would be too early, so that it does not wait for the next periodic
 * advertisement. A competing Active that finds no room in the list may not advertise again. A router that we answered
 * earlier may have become Active again, for example after a forged second priority 0 with our address. An advertisement
 * within half a spacing after our answer is the last one of a router that has lost; it gets no answer.
 */
function answerLate(state: Active, question: Question, parameters: Parameters, now: Millis): Active {
  const answered = state.asserted.find((each) => same(each, question))
  if (answered !== undefined && now - answered.at < answerSpacing(parameters) / 2) return state
  const again = answerableAt(state, question, parameters)
  return again < state.adverAt ? { ...state, adverAt: again } : state
}

/** Returns the state after an answering advertisement that is sent now. */
function rememberAnswer(state: Active, question: Question, parameters: Parameters, now: Millis): Active {
  const spacing = answerSpacing(parameters)
  if (spacing <= 0) return { ...state, asserted: [] }
  const recent = state.asserted.filter((answered) => !same(answered, question) && now - answered.at < spacing)
  return { ...state, asserted: [...recent.slice(1 - MOST_ANSWERS), { ...question, at: now }] }
}

// Announcements -------------------------------------------------------------------------------------------------------

/**
 * Milliseconds between two batches of announcements. At most the time to the first repeat of a batch, so that a repeat
 * follows every packet that caused no batch.
 */
const ANNOUNCE_SPACING = 50
/**
 * Credit for three batches of announcements at the same time: after a host answered our question, after the first
 * advertisement of a router that loses, and after its last one.
 */
const ANNOUNCE_CREDIT = 3 * ANNOUNCE_SPACING

/**
 * Announces the addresses again after a packet that may have misled clients. After such a packet, the last announcement
 * on the LAN must be ours. For this reason a batch of announcements, or the repeat of a batch, follows every such
 * packet within 50 ms. In IPv6 a repeat comes a second later (RFC 4861 §7.2.6). In IPv6 a packet beyond the credit
 * causes a batch of announcements as soon as the rate limit allows.
 */
export function announceOverCompetitor(
  state: Active,
  family: Family,
  now: Millis,
): readonly [Active, readonly Effect[]] {
  const { announcedOverAt } = state
  // Packets that were read together (one turn, one `now`) cause one batch of announcements, after all of them. A batch
  // that is still to come also follows this packet.
  if (announcedOverAt !== undefined && announcedOverAt >= now) return [state, []]
  const paidAt = plus(millis(Math.max(state.announcementsPaidAt ?? now, now)), ANNOUNCE_SPACING)
  const early = paidAt - now - ANNOUNCE_CREDIT
  if (early > 0) {
    if (family === 'ipv4') return [state, []]
    const after = millis(early)
    const later = { ...state, announcedOverAt: plus(now, early), announcementsPaidAt: paidAt }
    return [later, [{ kind: 'announce', reason: 'competingActive', after }]]
  }
  return [
    { ...state, announcedOverAt: now, announcementsPaidAt: paidAt },
    [{ kind: 'announce', reason: 'competingActive' }],
  ]
}
