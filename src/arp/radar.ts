/**
 * Does anybody else answer for the addresses that this node holds? When to ask, and what an answer means: the same MAC
 * twice, 100 ms apart, which is neither ours nor allowed, is a duplicate owner. A value, made when a router becomes Active
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
/** After a takeover the former Active may still be on its way off. */
const GRACE = 500
/** Rounds without an answer until somebody has gone. */
const GONE_AFTER = 3
/** Of one interface: 255 addresses are asked for in 2.55 s. */
const QUESTIONS_A_SECOND = 100
/** A host with a MAC for every answer must not make us remember them all: those who were first stay. */
const MOST_SUSPECTS = 32

export type RadarRules = {
  /** Those of this node, on any interface. */
  readonly own: readonly Mac[]
  /** Proxies of the fabric, which answer for everybody. */
  readonly allowed: readonly Mac[]
}

export type DuplicateOwner = { readonly address: Address; readonly mac: Mac }

type Suspect = DuplicateOwner & {
  /** Of the answer that made it one: not moved by what comes in between. */
  readonly firstAt: Millis
  readonly lastAt: Millis
  /** When to ask for it once more; undefined: asked, or known already. */
  readonly askAt: Millis | undefined
  readonly confirmed: boolean
}

export type Radar = {
  readonly addresses: readonly Address[]
  /** When the router became Active. */
  readonly since: Millis
  readonly roundAt: Millis
  readonly suspects: readonly Suspect[]
}

/** The first round is due at once: a takeover is when somebody else may still be there. */
export function radarFrom(addresses: readonly Address[], since: Millis): Radar {
  return { addresses, since, roundAt: since, suspects: [] }
}

/** After a reload; what is known of an address that stays is kept. */
export function withRadarAddresses(radar: Radar, addresses: readonly Address[]): Radar {
  return { ...radar, addresses, suspects: radar.suspects.filter(({ address }) => addresses.includes(address)) }
}

/** How long a round lasts where this many addresses share an interface; at most QUESTIONS_A_SECOND leave it. */
export const radarPeriod = (addressesOnInterface: number): Millis =>
  millis(Math.max(EVERY, (addressesOnInterface * 1000) / QUESTIONS_A_SECOND))

export function nextQuestionAt({ roundAt, suspects }: Radar): Millis {
  return suspects.reduce((least, { askAt }) => (askAt !== undefined && askAt < least ? askAt : least), roundAt)
}

export type RadarTurn = {
  readonly radar: Radar
  /** For whom to ask now; each once. */
  readonly questions: readonly Address[]
  /** Who was a duplicate owner and has not answered for GONE_AFTER rounds. */
  readonly gone: readonly DuplicateOwner[]
}

/** `chance`: 0 to 1, another one each time. Rounds that were slept through are one round. */
export function askNow(radar: Radar, period: Millis, chance: number, now: Millis): RadarTurn {
  const round = now >= radar.roundAt
  const due = radar.suspects.filter(({ askAt }) => askAt !== undefined && now >= askAt)
  if (!round && due.length === 0) return { radar, questions: [], gone: [] }
  const gone = round ? radar.suspects.filter(({ lastAt }) => now - lastAt > GONE_AFTER * period) : []
  const suspects = radar.suspects
    .filter((one) => !gone.includes(one))
    .map((one) => (due.includes(one) ? { ...one, askAt: undefined } : one))
  const roundAt = round ? plus(now, period * (1 - JITTER * chance)) : radar.roundAt
  const asked = radar.addresses.filter((address) => round || due.some((one) => one.address === address))
  return {
    radar: { ...radar, roundAt, suspects },
    questions: asked,
    gone: gone.filter(({ confirmed }) => confirmed).map(({ address, mac }) => ({ address, mac })),
  }
}

/** `found`: it is certain since this very answer. An answer that is no news, or is none, changes nothing. */
export function hearAnswer(
  radar: Radar,
  rules: RadarRules,
  { address, mac }: DuplicateOwner,
  heardAt: Millis,
): { readonly radar: Radar; readonly found: boolean } {
  const nothing = { radar, found: false }
  if (!radar.addresses.includes(address) || heardAt - radar.since < GRACE) return nothing
  if (rules.own.includes(mac) || rules.allowed.includes(mac)) return nothing
  const others = radar.suspects.filter((one) => one.address !== address || one.mac !== mac)
  const known = radar.suspects.find((one) => !others.includes(one))
  const remember = (one: Suspect, found: boolean) => ({
    radar: { ...radar, suspects: [...others, one] },
    found,
  })
  if (known === undefined) {
    if (others.length >= MOST_SUSPECTS) return nothing
    // On a grid: however many suspects there are, an address is asked for ten times a second at most.
    const askAt = millis(Math.ceil(heardAt / CONFIRM_AFTER + 1) * CONFIRM_AFTER)
    return remember({ address, mac, firstAt: heardAt, lastAt: heardAt, askAt, confirmed: false }, false)
  }
  // Stamps of a queue need not be in order.
  const lastAt = millis(Math.max(known.lastAt, heardAt))
  const certain = known.confirmed || heardAt - known.firstAt >= CONFIRM_AFTER
  return remember({ ...known, lastAt, confirmed: certain }, certain && !known.confirmed)
}

export const duplicateOwners = ({ suspects }: Radar): readonly DuplicateOwner[] =>
  suspects.filter(({ confirmed }) => confirmed).map(({ address, mac }) => ({ address, mac }))
