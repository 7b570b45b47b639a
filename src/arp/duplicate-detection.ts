/**
 * Duplicate address detection for the addresses that this node holds (docs/adr/0018): when to ask whether another host has
 * one, and what an answer means. The same MAC twice, 100 ms apart or more, neither ours nor allowed, is a duplicate holder. A
 * detection is a value, made when a router becomes Active and dropped when it is not, so a router in Leaving asks nothing.
 * Knows no frame (probe.ts, neighbor-solicitation.ts), no state and no router; chance is an argument.
 */
import type { Address } from '../wire/address.ts'
import type { Mac } from '../wire/mac.ts'
import { type Millis, millis, plus } from '../wire/units.ts'

/** Milliseconds between two rounds, before jitter. */
const EVERY = 1000
/** Share of a period by which a round may come earlier, so that the nodes of a LAN do not ask in step. */
const JITTER = 0.2
/** Milliseconds between an answer and the next one: the late answer of a host that is leaving does not count twice. */
const CONFIRM_AFTER = 100
/** Milliseconds after a takeover in which the former Active may still answer: no answer counts, so none is asked for. */
export const HANDOVER = 500
/**
 * Milliseconds in which a host answers. A suspect that was asked and did not answer in time is a new one at its next answer.
 * A round comes within EVERY of the first answer, and a router is given EVERY and this at least (election-time.ts, at
 * 100 ms). So a router that lost two elections was asked, and missed for long enough, in between.
 */
const ANSWERS_TAKE = 200
/** Rounds without an answer after which a duplicate holder is gone. */
const GONE_AFTER = 3
/**
 * Questions for the router behind a MAC, before the host counts as one that speaks no VRRP: one answer may be lost. The
 * answer has time until the next answer for an address counts, so CONFIRM_AFTER begins again with each question. A node
 * that ran late has asked for the address, the router and the address again at once, and hears of the router last.
 */
const WHO_ASKED = 2
/** Milliseconds. Questions leave together in steps of this, so that many routers share one wake-up. */
export const DETECTION_STEP = 100
/** Questions of one interface and family in one step: 255 addresses are asked for in 2.6 s. */
export const MOST_QUESTIONS = 10
/** Suspects of one address, the first ones: a host with another MAC in every answer must not cost memory. */
const MOST_SUSPECTS = 8

export type DetectionRules = {
  /** MACs of this node, on any interface. */
  readonly own: readonly Mac[]
  /** MACs of proxies of the network, which answer for every address. */
  readonly allowed: readonly Mac[]
  /** Milliseconds after the first answer of this MAC in which an election may still end it; at least 100 count. */
  readonly patience: (mac: Mac, firstAt: Millis) => number
  /** The MAC may be that of a known router, which is asked for with each question about a suspect. */
  readonly isNameless: (mac: Mac) => boolean
}

export type DuplicateHolder = { readonly address: Address; readonly mac: Mac }

type Suspect = DuplicateHolder & {
  /** Time of the answer that made it a suspect. */
  readonly firstAt: Millis
  /** Time from which an answer counts as the second one. */
  readonly certainFrom: Millis
  /** Questions for the router behind it that are still to come; until then nothing is certain. */
  readonly whoLeft: number
  /** Time to ask for it once more; `undefined`: asked, or known already. */
  readonly askAt: Millis | undefined
  /** Rounds that have begun since its last answer. Time alone proves nothing: this node may have slept. */
  readonly unanswered: number
  /** Time of the first question since its last answer. */
  readonly missingSince: Millis | undefined
  readonly confirmed: boolean
}

export type Detection = {
  readonly addresses: readonly Address[]
  /** Time at which the router became Active. */
  readonly since: Millis
  /** Time at which the next round is due, or the one at work was. */
  readonly roundAt: Millis
  /** Until then it may wait for another wake-up. */
  readonly roundBy: Millis
  /** Addresses that the round at work has asked for; 0: no round is at work. */
  readonly asked: number
  readonly suspects: readonly Suspect[]
}

/** Starts with a round as soon as an answer counts, or `delay` milliseconds later. */
export function startDetection(addresses: readonly Address[], since: Millis, delay = 0): Detection {
  const roundAt = plus(since, HANDOVER + delay)
  return { addresses, since, roundAt, roundBy: roundAt, asked: 0, suspects: [] }
}

/** Follows a reload; keeps what is known of an address that stays. */
export function withAddresses(detection: Detection, addresses: readonly Address[]): Detection {
  return {
    ...detection,
    addresses,
    asked: 0,
    suspects: detection.suspects.filter(({ address }) => addresses.includes(address)),
  }
}

/** Follows another list of allowed MACs: forgets suspects that are on it. */
export function withoutAllowed(
  detection: Detection,
  { own, allowed }: Pick<DetectionRules, 'own' | 'allowed'>,
): Detection {
  const suspects = detection.suspects.filter(({ mac }) => !own.includes(mac) && !allowed.includes(mac))
  return suspects.length === detection.suspects.length ? detection : { ...detection, suspects }
}

/** The MAC is that of a router: gives it the time in which an election may still end it. */
export function withPatience(detection: Detection, mac: Mac, patience: number): Detection {
  const suspects = detection.suspects.map((one) => {
    if (one.mac !== mac || one.confirmed) return one
    const certainFrom = millis(Math.max(one.certainFrom, one.firstAt + patience))
    return { ...one, certainFrom, whoLeft: 0, askAt: onGrid(certainFrom) }
  })
  return { ...detection, suspects }
}

/** Rounds up to a step: however many suspects there are, an address is asked for ten times a second at most. */
const onGrid = (at: Millis): Millis => millis(Math.ceil(at / DETECTION_STEP) * DETECTION_STEP)

/** Returns how long a round lasts if so many addresses share an interface, so that the steps are enough for all. */
export const detectionPeriod = (addressesOnInterface: number): Millis =>
  millis(Math.max(EVERY, (addressesOnInterface * DETECTION_STEP) / MOST_QUESTIONS / (1 - JITTER)))

/** Returns the time of the next question; in the past while a round is at work. */
export const nextQuestionAt = ({ roundAt, suspects }: Detection): Millis => earliest(roundAt, suspects)

/** Returns the time at which the next question needs an alarm of its own: in the jitter of a round it may wait for others. */
export const questionNeededAt = ({ roundBy, suspects }: Detection): Millis => earliest(roundBy, suspects)

const earliest = (roundAt: Millis, suspects: readonly Suspect[]): Millis =>
  suspects.reduce((least, { askAt }) => (askAt !== undefined && askAt < least ? askAt : least), roundAt)

export type DetectionTurn = {
  readonly detection: Detection
  /** Addresses to ask for now; each once. */
  readonly questions: readonly Address[]
  /** A round has begun: questions of the last one are answered no more. */
  readonly began: boolean
  /** Duplicate owners that have not answered for GONE_AFTER rounds. */
  readonly gone: readonly DuplicateHolder[]
}

export type DetectionStep = {
  readonly period: Millis
  /** From 0 to 1, another one each time. */
  readonly chance: number
  /** Questions that there is room for; the rest of a round comes with the next step. */
  readonly most: number
}

/** Returns what to ask now. Rounds that this node slept through are one round. */
export function askNow(detection: Detection, { period, chance, most }: DetectionStep, now: Millis): DetectionTurn {
  const began = detection.asked === 0 && now >= detection.roundAt && detection.addresses.length > 0
  const isDue = ({ askAt }: Suspect) => askAt !== undefined && now >= askAt
  const again = detection.suspects.filter(isDue).map(({ address }) => address)
  const atWork = began || detection.asked > 0
  if (most < 1 || (!atWork && again.length === 0)) return { detection, questions: [], began: false, gone: [] }
  const first = [...new Set(again)].slice(0, most)
  const round = atWork ? detection.addresses.slice(detection.asked, detection.asked + most - first.length) : []
  const questions = [...new Set([...first, ...round])]
  const gone = began ? detection.suspects.filter((one) => isGone(one, now)) : []
  const suspects = detection.suspects
    .filter((one) => !gone.includes(one))
    .map((one) => (isDue(one) && questions.includes(one.address) ? afterQuestion(one, now) : one))
    .map((one) => (questions.includes(one.address) ? { ...one, missingSince: one.missingSince ?? now } : one))
    .map((one) => (began ? { ...one, unanswered: one.unanswered + 1 } : one))
  const asked = atWork ? detection.asked + round.length : 0
  const isDone = atWork && asked >= detection.addresses.length
  const begunAt = began ? now : detection.roundAt
  return {
    detection: {
      ...detection,
      suspects,
      asked: isDone ? 0 : asked,
      roundAt: isDone ? plus(begunAt, period * (1 - JITTER * chance)) : begunAt,
      roundBy: isDone ? plus(begunAt, period) : begunAt,
    },
    questions,
    began,
    gone: gone.filter(({ confirmed }) => confirmed).map(({ address, mac }) => ({ address, mac })),
  }
}

function afterQuestion(one: Suspect, now: Millis): Suspect {
  if (one.whoLeft === 0) return { ...one, askAt: undefined }
  const whoLeft = one.whoLeft - 1
  const next = plus(now, CONFIRM_AFTER)
  const certainFrom = millis(Math.max(one.certainFrom, next))
  return { ...one, whoLeft, certainFrom, askAt: onGrid(whoLeft > 0 ? next : certainFrom) }
}

const isMissing = ({ missingSince }: Suspect, now: Millis): boolean =>
  missingSince !== undefined && now - missingSince >= ANSWERS_TAKE

const isGone = (one: Suspect, now: Millis): boolean =>
  one.confirmed ? one.unanswered >= GONE_AFTER : isMissing(one, now)

/** `found`: this answer made the duplicate holder certain. */
export type Heard = { readonly detection: Detection; readonly found: boolean }

export function hearAnswer(
  detection: Detection,
  { own, allowed, patience, isNameless }: DetectionRules,
  { address, mac }: DuplicateHolder,
  heardAt: Millis,
): Heard {
  const nothing = { detection, found: false }
  if (!detection.addresses.includes(address) || heardAt - detection.since < HANDOVER) return nothing
  if (own.includes(mac) || allowed.includes(mac)) return nothing
  const last = detection.suspects.find((one) => one.address === address && one.mac === mac)
  // Two heals of a link that flaps are not one duplicate.
  const known = last !== undefined && !last.confirmed && isMissing(last, heardAt) ? undefined : last
  const others = known === undefined ? detection.suspects.filter((one) => one !== last) : detection.suspects
  if (known === undefined) {
    if (others.filter((one) => one.address === address).length >= MOST_SUSPECTS) return nothing
    const certainFrom = plus(heardAt, Math.max(CONFIRM_AFTER, patience(mac, heardAt)))
    const whoLeft = isNameless(mac) ? WHO_ASKED : 0
    const askAt = onGrid(whoLeft > 0 ? heardAt : certainFrom)
    const fresh = { whoLeft, askAt, unanswered: 0, missingSince: undefined, confirmed: false }
    const suspect = { address, mac, firstAt: heardAt, certainFrom, ...fresh }
    return { detection: { ...detection, suspects: [...others, suspect] }, found: false }
  }
  const confirmed = known.confirmed || (known.whoLeft === 0 && heardAt >= known.certainFrom)
  if (known.unanswered === 0 && known.missingSince === undefined && confirmed === known.confirmed) return nothing
  const next = { ...known, unanswered: 0, missingSince: undefined, confirmed }
  const suspects = detection.suspects.map((one) => (one === known ? next : one))
  return { detection: { ...detection, suspects }, found: confirmed && !known.confirmed }
}

/** Returns the certain ones. */
export const duplicateHolders = ({ suspects }: Detection): readonly DuplicateHolder[] =>
  suspects.filter(({ confirmed }) => confirmed).map(({ address, mac }) => ({ address, mac }))
