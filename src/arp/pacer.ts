/**
 * How many announcement frames one interface may send (docs/architecture.md, Announcements: first frames of a takeover in one batch of up to 256,
 * then 2 000 a second; repeats 200 a second), so that 255 virtual routers that move at once do not drown the LAN or
 * their own advertisements. A value: offer what is wanted, take what may go, ask when to come back. It knows no frame
 * and no clock, and no router beyond the name it is given.
 */
import type { Address } from '../wire/address.ts'
import { type Millis, millis, plus } from '../wire/units.ts'

/** `owner` names whoever may withdraw it. */
export type WantedAnnouncement = {
  readonly owner: string
  readonly address: Address
  readonly first: boolean
  /** Which of several in one round; absent = 0. */
  readonly copy?: number
}

/** A queue that may send `burst` at once and one more every `spacing` ms. */
type Lane = {
  readonly waiting: readonly WantedAnnouncement[]
  /** When all credit would be used up and regained: the theoretical arrival time of a leaky bucket. */
  readonly busyUntil: Millis
}
type Rate = { readonly burst: number; readonly spacing: number }

const FIRST: Rate = { burst: 256, spacing: 1000 / 2000 }
/** Burst 1: a late caller makes the rate lower, never higher. */
const REPEAT: Rate = { burst: 1, spacing: 1000 / 200 }

export type Pacer = { readonly first: Lane; readonly repeat: Lane }

const EMPTY: Lane = { waiting: [], busyUntil: millis(0) }
export const IDLE_PACER: Pacer = { first: EMPTY, repeat: EMPTY }

/** A repeat that is already waiting is not queued again: so a queue never holds more than the addresses there are. */
export function offerAnnouncements(pacer: Pacer, wanted: readonly WantedAnnouncement[]): Pacer {
  return {
    first: inRounds(
      extend(
        pacer.first,
        wanted.filter((one) => one.first),
      ),
    ),
    repeat: extend(
      pacer.repeat,
      wanted.filter((one) => !one.first),
    ),
  }
}

/**
 * What may go at `now`, first frames before repeats. `spacing`: then all of them go one by one (VR-GARP-03), in the order
 * in which they were wanted.
 */
export function takeAnnouncements(
  pacer: Pacer,
  now: Millis,
  spacing?: number,
): { readonly send: readonly WantedAnnouncement[]; readonly pacer: Pacer } {
  if (spacing !== undefined) {
    const { send, lane } = take(inOneLane(pacer), { burst: 1, spacing }, now)
    return { send, pacer: { first: EMPTY, repeat: lane } }
  }
  const first = take(pacer.first, FIRST, now)
  const repeat = take(pacer.repeat, REPEAT, now)
  return { send: [...first.send, ...repeat.send], pacer: { first: first.lane, repeat: repeat.lane } }
}

/** Undefined: nothing is waiting. */
export function nextTakeAt(pacer: Pacer, spacing?: number): Millis | undefined {
  if (spacing !== undefined) return nextAt(inOneLane(pacer), { burst: 1, spacing })
  const first = nextAt(pacer.first, FIRST)
  const repeat = nextAt(pacer.repeat, REPEAT)
  if (first === undefined || repeat === undefined) return first ?? repeat
  return millis(Math.min(first, repeat))
}

/** Nothing of this owner is sent any more (VR-GARP-05), or nothing for those of its addresses. */
export function withdrawAnnouncements(
  pacer: Pacer,
  owner: string,
  which: (address: Address) => boolean = () => true,
): Pacer {
  const stays = (one: WantedAnnouncement) => one.owner !== owner || !which(one.address)
  const without = (lane: Lane): Lane => ({ ...lane, waiting: lane.waiting.filter(stays) })
  return { first: without(pacer.first), repeat: without(pacer.repeat) }
}

/** No address has its second frame before each has had one: a predecessor goes on answering until it hears it. */
const inRounds = (lane: Lane): Lane => ({
  ...lane,
  waiting: [...lane.waiting].sort((one, other) => (one.copy ?? 0) - (other.copy ?? 0)),
})

const inOneLane = ({ first, repeat }: Pacer): Lane => ({
  ...repeat,
  waiting: first.waiting.length === 0 ? repeat.waiting : [...first.waiting, ...repeat.waiting],
})

const keyOf = (one: WantedAnnouncement): string => `${one.owner} ${one.address} ${one.copy ?? 0}`

function extend(lane: Lane, wanted: readonly WantedAnnouncement[]): Lane {
  if (wanted.length === 0) return lane
  const known = new Set(lane.waiting.map(keyOf))
  const added = wanted.filter((one) => {
    const isNew = !known.has(keyOf(one))
    known.add(keyOf(one))
    return isNew
  })
  return added.length === 0 ? lane : { ...lane, waiting: [...lane.waiting, ...added] }
}

function nextAt(lane: Lane, rate: Rate): Millis | undefined {
  return lane.waiting.length === 0 ? undefined : plus(lane.busyUntil, -(rate.burst - 1) * rate.spacing)
}

function take(lane: Lane, rate: Rate, now: Millis): { send: readonly WantedAnnouncement[]; lane: Lane } {
  const at = nextAt(lane, rate)
  if (at === undefined || at > now) return { send: [], lane }
  const busyFrom = millis(Math.max(lane.busyUntil, now))
  // At least one, because `at` has passed: rounding in the division must not make the caller come back for ever.
  const room = Math.max(1, Math.floor((now - busyFrom) / rate.spacing + rate.burst))
  const send = lane.waiting.slice(0, room)
  const busyUntil = plus(busyFrom, send.length * rate.spacing)
  return { send, lane: { waiting: lane.waiting.slice(send.length), busyUntil } }
}
