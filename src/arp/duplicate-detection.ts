/**
 * Duplicate address detection for the addresses that this node holds (docs/adr/0018). This file decides when to ask
 * whether another host has an address, and what an answer means. A host is a duplicate holder if its MAC answers twice,
 * at least 100 ms apart, and the MAC is neither ours nor allowed. A detection is a value, which exists while a router
 * is Active. A router in Leaving has no detection, so it asks nothing. This file knows nothing about frames (probe.ts,
 * neighbor-solicitation.ts), states and routers. The random number is an argument.
 */
import type { Address } from '../wire/address.ts'
import type { Mac } from '../wire/mac.ts'
import { type Millis, millis, plus } from '../wire/units.ts'

/** Milliseconds between two questions for an address, before jitter. */
const EVERY = 1000
/**
 * Share of the period by which a question may be sent earlier, so that the nodes of a LAN do not ask at the same times.
 */
const JITTER = 0.2
/**
 * Milliseconds from a host's first answer to its next answer that counts. With this time, a late answer of a host that
 * gives the address up does not count twice.
 */
const CONFIRM_AFTER = 100
/**
 * Milliseconds after a takeover in which the former Active may still answer. No answer counts in this time, so no
 * question is sent.
 */
export const HANDOVER = 500
/**
 * Milliseconds in which a host answers. If a suspect does not answer in this time, its next answer makes it a new
 * suspect. A round begins within EVERY of the first answer. A router has at least EVERY plus this time
 * (election-time.ts, at 100 ms) to lose an election. In this time a router that lost two elections was asked between
 * them, and was missing for long enough.
 */
const ANSWERS_TAKE = 200
/** Number of questions without an answer after which a duplicate holder is gone. */
const GONE_AFTER = 3
/**
 * Number of questions for the router behind a MAC. After them, a host without an answer counts as one that does not
 * speak VRRP, because one answer may be lost. The answer may arrive until the next answer for an address counts, so
 * CONFIRM_AFTER starts again with each question. A node that was late sends all questions together and receives the
 * router's answer last.
 */
const WHO_ASKED = 2
/**
 * Shortest time in milliseconds between two announcements against a duplicate holder. An announcement moves the
 * clients, so two hosts must not announce alternately. RFC 5227 §2.4 has this limit for the same reason.
 */
export const ANNOUNCE_SPACING = 10_000
/** Milliseconds between two times at which questions are sent, so that many routers share one wake-up. */
export const DETECTION_STEP = 100
/** Limit of the questions of one interface and family each time; 255 addresses take 2.6 s. */
export const MOST_QUESTIONS = 10
/**
 * Limit of the suspected hosts of one address; later hosts are ignored. A host that answers with another MAC each time
 * must not use up memory.
 */
const MOST_SUSPECTS = 8

export type DetectionRules = {
  /** MACs of this node, on any interface. */
  readonly own: readonly Mac[]
  /** MACs of proxies in the network, which answer for every address (`duplicateAllowed`). */
  readonly allowed: readonly Mac[]
  /**
   * Returns the milliseconds after the first answer of this MAC in which an election may still end the duplicate. At
   * least 100 apply.
   */
  readonly patience: (mac: Mac, firstAt: Millis) => number
  /**
   * Tells whether the MAC may belong to a known router whose MAC is unknown. In this case every question about the
   * suspect also asks for that router.
   */
  readonly isNameless: (mac: Mac) => boolean
}

export type DuplicateHolder = { readonly address: Address; readonly mac: Mac }

type Suspect = DuplicateHolder & {
  /** Time of the suspected host's first answer. */
  readonly firstAt: Millis
  /** Time from which an answer of the suspected host counts as the second one. */
  readonly certainFrom: Millis
  /**
   * Number of questions that are still to be sent to find out which router has the MAC. Until all are sent, no answer
   * counts as the second one.
   */
  readonly whoLeft: number
  /** Time of the next question for the suspect's address; `undefined` if none is needed. */
  readonly askAt: Millis | undefined
  /**
   * Number of questions since the suspect's last answer. Time alone proves nothing, because this node may have slept.
   */
  readonly unanswered: number
  /** Time of the first question since the suspect's last answer; `undefined` if there was none. */
  readonly missingSince: Millis | undefined
  readonly confirmed: boolean
}

export type Detection = {
  readonly addresses: readonly Address[]
  /** Time at which the router became Active. */
  readonly since: Millis
  /** Time at which the next round of questions is due; during a round, the time at which it was due. */
  readonly roundAt: Millis
  /**
   * Latest time of the next round of questions. Until this time the round may wait for a wake-up that another timer
   * causes.
   */
  readonly roundBy: Millis
  /** Number of addresses that the present round of questions has asked for; 0 if no round is in progress. */
  readonly asked: number
  readonly suspects: readonly Suspect[]
}

/**
 * Returns a detection. The first round of questions comes `delay` milliseconds after the time from which answers count.
 */
export function startDetection(addresses: readonly Address[], since: Millis, delay = 0): Detection {
  const roundAt = plus(since, HANDOVER + delay)
  return { addresses, since, roundAt, roundBy: roundAt, asked: 0, suspects: [] }
}

/** Changes the addresses after a reload. Keeps the suspects of addresses that stay. */
export function withAddresses(detection: Detection, addresses: readonly Address[]): Detection {
  return {
    ...detection,
    addresses,
    asked: 0,
    suspects: detection.suspects.filter(({ address }) => addresses.includes(address)),
  }
}

/** Removes suspected hosts whose MACs are allowed now. */
export function withoutAllowed(
  detection: Detection,
  { own, allowed }: Pick<DetectionRules, 'own' | 'allowed'>,
): Detection {
  const suspects = detection.suspects.filter(({ mac }) => !own.includes(mac) && !allowed.includes(mac))
  return suspects.length === detection.suspects.length ? detection : { ...detection, suspects }
}

/** Gives a suspect more time, because its MAC is that of a router and an election may still end the duplicate. */
export function withPatience(detection: Detection, mac: Mac, patience: number): Detection {
  const suspects = detection.suspects.map((one) => {
    if (one.mac !== mac || one.confirmed) return one
    const certainFrom = millis(Math.max(one.certainFrom, one.firstAt + patience))
    return { ...one, certainFrom, whoLeft: 0, askAt: onGrid(certainFrom) }
  })
  return { ...detection, suspects }
}

/**
 * Rounds a time up to a multiple of DETECTION_STEP. Because of this step, an address is asked for at most ten times a
 * second, however many suspects there are.
 */
const onGrid = (at: Millis): Millis => millis(Math.ceil(at / DETECTION_STEP) * DETECTION_STEP)

/** Returns the time between two questions for an address, long enough to ask for all addresses of the interface. */
export const detectionPeriod = (addressesOnInterface: number): Millis =>
  millis(Math.max(EVERY, (addressesOnInterface * DETECTION_STEP) / MOST_QUESTIONS / (1 - JITTER)))

/**
 * Returns the time of the next question. During a round, the time of the next question lies in the past.
 */
export const nextQuestionAt = ({ roundAt, suspects }: Detection): Millis => earliest(roundAt, suspects)

/**
 * Returns the time by which the next question needs an alarm of its own. Until this time the question may wait for
 * another wake-up.
 */
export const questionNeededAt = ({ roundBy, suspects }: Detection): Millis => earliest(roundBy, suspects)

const earliest = (roundAt: Millis, suspects: readonly Suspect[]): Millis =>
  suspects.reduce((least, { askAt }) => (askAt !== undefined && askAt < least ? askAt : least), roundAt)

export type DetectionTurn = {
  readonly detection: Detection
  /** Addresses to ask for now, each address once. */
  readonly questions: readonly Address[]
  /** True if a new round of questions has begun. Answers to questions of the round before no longer count. */
  readonly began: boolean
  /** Duplicate holders that have not answered for GONE_AFTER rounds of questions. */
  readonly gone: readonly DuplicateHolder[]
}

export type DetectionStep = {
  readonly period: Millis
  /** Random number from 0 to 1. */
  readonly chance: number
  /** Largest number of questions that may be sent now; the other questions are sent DETECTION_STEP later. */
  readonly most: number
}

/** Returns the questions to send now. If this node slept, each missed question is sent only once. */
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

/** Returns the detection after the clock has asked for all addresses at `askedAt` (docs/adr/0086). */
export function askedElsewhere(detection: Detection, askedAt: Millis, period: Millis): Detection {
  const roundAt = plus(askedAt, period)
  return roundAt <= detection.roundAt ? detection : { ...detection, asked: 0, roundAt, roundBy: roundAt }
}

/**
 * Tells whether another part may send the questions: no round has begun, no host is suspected, and answers count
 * already.
 */
export const canBeAskedElsewhere = ({ addresses, asked, since, suspects }: Detection, now: Millis): boolean =>
  asked === 0 && suspects.length === 0 && addresses.length <= MOST_QUESTIONS && now - since >= HANDOVER

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

/** State of the detection after an answer. `found` is true if this answer made the duplicate holder certain. */
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
  // If a link heals twice, a host gives two single answers. A host with two single answers is not a duplicate.
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

/** Returns the duplicate holders that have answered twice. */
export const duplicateHolders = ({ suspects }: Detection): readonly DuplicateHolder[] =>
  suspects.filter(({ confirmed }) => confirmed).map(({ address, mac }) => ({ address, mac }))
