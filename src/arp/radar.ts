/**
 * Does anybody else answer for the addresses that this node holds? When to ask, and what an answer means: the same MAC
 * twice, 100 ms apart or more, which is neither ours nor allowed, is a duplicate owner. A value, made when a router becomes Active
 * and dropped when it is not: so in Leaving nobody asks. It knows no frame (probe.ts, neighbor-solicitation.ts), no state
 * and no router; chance is an argument.
 */
import type { Address } from '../wire/address.ts'
import type { Mac } from '../wire/mac.ts'
import { type Millis, millis, plus } from '../wire/units.ts'

/** Between two rounds, before jitter. */
const EVERY = 1000
/** Share of a period by which a round may come earlier, so that the nodes of a LAN do not ask in step. */
const JITTER = 0.2
/** An answer and the next one have to be this far apart: one that only left late is not asked twice. */
const CONFIRM_AFTER = 100
/** After a takeover the former Active may still be on its way off: until then no answer counts, so nobody is asked. */
export const HANDOVER = 500
/**
 * An answer is not later than this: until it is certain, who was asked and did not answer was somebody else before. A
 * round comes within EVERY of the first answer, and a router is given EVERY and this at least (election-time.ts, at
 * 100 ms): so whoever lost two elections was asked, and missed for long enough, in between.
 */
const ANSWERS_TAKE = 200
/** Rounds without an answer until somebody has gone. */
const GONE_AFTER = 3
/**
 * Questions who a MAC without a name is, before it is taken for a stranger: the answer to one may be lost. It has time
 * until the next answer of an address counts, so CONFIRM_AFTER begins anew with each: a node that ran late has asked for
 * the address, the name and the address again in one go, and hears of the name last.
 */
const WHO_ASKED = 2
/** Questions leave together in steps of this, so that many routers share one waking up. */
export const RADAR_STEP = 100
/** Of one interface and family in one step: 255 addresses are asked for in 2.6 s. */
export const MOST_QUESTIONS = 10
/** A host with a MAC for every answer must not make us remember them all: those who were first stay. Of one address. */
const MOST_SUSPECTS = 8

export type RadarRules = {
  /** Those of this node, on any interface. */
  readonly own: readonly Mac[]
  /** Proxies of the fabric, which answer for everybody. */
  readonly allowed: readonly Mac[]
  /** How long after the first answer of this MAC an election may still end it; at least 100 ms are waited. */
  readonly patience: (mac: Mac, firstAt: Millis) => number
  /** It may belong to somebody who is known: he is asked for with each question about a suspect. */
  readonly isNameless: (mac: Mac) => boolean
}

export type DuplicateOwner = { readonly address: Address; readonly mac: Mac }

type Suspect = DuplicateOwner & {
  /** Of the answer that made it one: not moved by what comes in between. */
  readonly firstAt: Millis
  /** An answer from then on is the second one. */
  readonly certainFrom: Millis
  /** Questions who that is which are still to come; until then nothing is certain. */
  readonly whoLeft: number
  /** When to ask for it once more; undefined: asked, or known already. */
  readonly askAt: Millis | undefined
  /** Rounds that have begun since its last answer: time alone proves nothing, this node may have slept. */
  readonly unanswered: number
  /** The first question since its last answer. */
  readonly missingSince: Millis | undefined
  readonly confirmed: boolean
}

export type Radar = {
  readonly addresses: readonly Address[]
  /** When the router became Active. */
  readonly since: Millis
  /** When the next round is due, or the one at work began to be. */
  readonly roundAt: Millis
  /** So long it may wait for something else that wakes us. */
  readonly roundBy: Millis
  /** Addresses that the round at work has asked for; 0: none is at work. */
  readonly asked: number
  readonly suspects: readonly Suspect[]
}

/** `delay`: of the first round, which is otherwise due as soon as an answer counts. */
export function radarFrom(addresses: readonly Address[], since: Millis, delay = 0): Radar {
  const roundAt = plus(since, HANDOVER + delay)
  return { addresses, since, roundAt, roundBy: roundAt, asked: 0, suspects: [] }
}

/** After a reload; what is known of an address that stays is kept. */
export function withRadarAddresses(radar: Radar, addresses: readonly Address[]): Radar {
  return {
    ...radar,
    addresses,
    asked: 0,
    suspects: radar.suspects.filter(({ address }) => addresses.includes(address)),
  }
}

/** Another allow-list: who is on it was never a duplicate. */
export function withoutAllowed(radar: Radar, { own, allowed }: Pick<RadarRules, 'own' | 'allowed'>): Radar {
  const suspects = radar.suspects.filter(({ mac }) => !own.includes(mac) && !allowed.includes(mac))
  return suspects.length === radar.suspects.length ? radar : { ...radar, suspects }
}

/** It has turned out who this is: whoever may still be told by an election to go is given that time. */
export function withPatience(radar: Radar, mac: Mac, patience: number): Radar {
  const suspects = radar.suspects.map((one) => {
    if (one.mac !== mac || one.confirmed) return one
    const certainFrom = millis(Math.max(one.certainFrom, one.firstAt + patience))
    return { ...one, certainFrom, whoLeft: 0, askAt: onGrid(certainFrom) }
  })
  return { ...radar, suspects }
}

/** However many suspects there are, an address is asked for ten times a second at most. */
const onGrid = (at: Millis): Millis => millis(Math.ceil(at / RADAR_STEP) * RADAR_STEP)

/** How long a round lasts where this many addresses share an interface, so that the steps are enough for all. */
export const radarPeriod = (addressesOnInterface: number): Millis =>
  millis(Math.max(EVERY, (addressesOnInterface * RADAR_STEP) / MOST_QUESTIONS / (1 - JITTER)))

/** In the past while a round is at work. */
export const nextQuestionAt = ({ roundAt, suspects }: Radar): Millis => earliest(roundAt, suspects)

/** When it has to be asked, however many alarms that would be: the jitter of a round is time in which it may wait. */
export const questionNeededAt = ({ roundBy, suspects }: Radar): Millis => earliest(roundBy, suspects)

const earliest = (roundAt: Millis, suspects: readonly Suspect[]): Millis =>
  suspects.reduce((least, { askAt }) => (askAt !== undefined && askAt < least ? askAt : least), roundAt)

export type RadarTurn = {
  readonly radar: Radar
  /** For whom to ask now; each once. */
  readonly questions: readonly Address[]
  /** A round has begun: what was unanswered before is so for good. */
  readonly began: boolean
  /** Who was a duplicate owner and has not answered for GONE_AFTER rounds. */
  readonly gone: readonly DuplicateOwner[]
}

export type RadarStep = {
  readonly period: Millis
  /** 0 to 1, another one each time. */
  readonly chance: number
  /** Questions that there is room for; the rest of a round comes with the next step. */
  readonly most: number
}

/** Rounds that were slept through are one round. */
export function askNow(radar: Radar, { period, chance, most }: RadarStep, now: Millis): RadarTurn {
  const began = radar.asked === 0 && now >= radar.roundAt && radar.addresses.length > 0
  const isDue = ({ askAt }: Suspect) => askAt !== undefined && now >= askAt
  const again = radar.suspects.filter(isDue).map(({ address }) => address)
  const atWork = began || radar.asked > 0
  if (most < 1 || (!atWork && again.length === 0)) return { radar, questions: [], began: false, gone: [] }
  const first = [...new Set(again)].slice(0, most)
  const round = atWork ? radar.addresses.slice(radar.asked, radar.asked + most - first.length) : []
  const questions = [...new Set([...first, ...round])]
  const gone = began ? radar.suspects.filter((one) => isGone(one, now)) : []
  const suspects = radar.suspects
    .filter((one) => !gone.includes(one))
    .map((one) => (isDue(one) && questions.includes(one.address) ? afterQuestion(one, now) : one))
    .map((one) => (questions.includes(one.address) ? { ...one, missingSince: one.missingSince ?? now } : one))
    .map((one) => (began ? { ...one, unanswered: one.unanswered + 1 } : one))
  const asked = atWork ? radar.asked + round.length : 0
  const isDone = atWork && asked >= radar.addresses.length
  const begunAt = began ? now : radar.roundAt
  return {
    radar: {
      ...radar,
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

/** `found`: it is certain since this very answer. Other answers are no news. */
export type Heard = { readonly radar: Radar; readonly found: boolean }

export function hearAnswer(
  radar: Radar,
  { own, allowed, patience, isNameless }: RadarRules,
  { address, mac }: DuplicateOwner,
  heardAt: Millis,
): Heard {
  const nothing = { radar, found: false }
  if (!radar.addresses.includes(address) || heardAt - radar.since < HANDOVER) return nothing
  if (own.includes(mac) || allowed.includes(mac)) return nothing
  const last = radar.suspects.find((one) => one.address === address && one.mac === mac)
  // Two heals of a flapping link are not one duplicate.
  const known = last !== undefined && !last.confirmed && isMissing(last, heardAt) ? undefined : last
  const others = known === undefined ? radar.suspects.filter((one) => one !== last) : radar.suspects
  if (known === undefined) {
    if (others.filter((one) => one.address === address).length >= MOST_SUSPECTS) return nothing
    const certainFrom = plus(heardAt, Math.max(CONFIRM_AFTER, patience(mac, heardAt)))
    const whoLeft = isNameless(mac) ? WHO_ASKED : 0
    const askAt = onGrid(whoLeft > 0 ? heardAt : certainFrom)
    const fresh = { whoLeft, askAt, unanswered: 0, missingSince: undefined, confirmed: false }
    const suspect = { address, mac, firstAt: heardAt, certainFrom, ...fresh }
    return { radar: { ...radar, suspects: [...others, suspect] }, found: false }
  }
  const confirmed = known.confirmed || (known.whoLeft === 0 && heardAt >= known.certainFrom)
  if (known.unanswered === 0 && known.missingSince === undefined && confirmed === known.confirmed) return nothing
  const next = { ...known, unanswered: 0, missingSince: undefined, confirmed }
  const suspects = radar.suspects.map((one) => (one === known ? next : one))
  return { radar: { ...radar, suspects }, found: confirmed && !known.confirmed }
}

export const duplicateOwners = ({ suspects }: Radar): readonly DuplicateOwner[] =>
  suspects.filter(({ confirmed }) => confirmed).map(({ address, mac }) => ({ address, mac }))
