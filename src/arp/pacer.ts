/**
 * Limits the announcement frames of one interface (docs/architecture.md, Announcements). First frames of a takeover are
 * sent in one batch of up to 256, then 2 000 a second. Repeats are sent at 200 a second. With this limit, 255 virtual
 * routers that move together flood neither the LAN nor their own advertisements. A pacer is a value: the caller offers
 * frames, takes those that may be sent now, and reads the time for its next call. This file knows nothing about frames,
 * clocks and routers, except the name of a router.
 */
import type { Address } from '../wire/address.ts'
import { type Millis, millis, plus } from '../wire/units.ts'

/** Frame that a router wants to send. `router` is the name under which it can withdraw the frame. */
export type WantedAnnouncement = {
  readonly router: string
  readonly address: Address
  readonly first: boolean
  /** Number of the frame within its announcement; absent = 0. */
  readonly copy?: number
}

/** Queue of frames that may send `burst` frames together, and one more every `spacing` milliseconds. */
type Lane = {
  readonly waiting: readonly WantedAnnouncement[]
  /**
   * Time at which the interface has its whole credit of frames again (the theoretical arrival time of a leaky bucket).
   */
  readonly busyUntil: Millis
}
type Rate = { readonly burst: number; readonly spacing: number }

const FIRST: Rate = { burst: 256, spacing: 1000 / 2000 }
/** With a burst of 1, a late caller lowers the rate and never raises it. */
const REPEAT: Rate = { burst: 1, spacing: 1000 / 200 }

export type Pacer = { readonly first: Lane; readonly repeat: Lane }

const EMPTY: Lane = { waiting: [], busyUntil: millis(0) }
export const IDLE_PACER: Pacer = { first: EMPTY, repeat: EMPTY }

/**
 * Adds frames to the queues of the pacer. A repeat that already waits is not queued again, so a queue never has more
 * entries than addresses.
 */
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
 * Returns the frames that may be sent at `now`, first frames before repeats, and the pacer with the remaining frames.
 * With `spacing`, all frames are sent one by one in their order (VR-GARP-03).
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

/** Returns the time at which the next frame may be sent; `undefined` if none waits. */
export function nextTakeAt(pacer: Pacer, spacing?: number): Millis | undefined {
  if (spacing !== undefined) return nextAt(inOneLane(pacer), { burst: 1, spacing })
  const first = nextAt(pacer.first, FIRST)
  const repeat = nextAt(pacer.repeat, REPEAT)
  if (first === undefined || repeat === undefined) return first ?? repeat
  return millis(Math.min(first, repeat))
}

/** Removes the waiting frames of a router (VR-GARP-05), or only those for some of its addresses. */
export function withdrawAnnouncements(
  pacer: Pacer,
  router: string,
  which: (address: Address) => boolean = () => true,
): Pacer {
  const stays = (one: WantedAnnouncement) => one.router !== router || !which(one.address)
  const without = (lane: Lane): Lane => ({ ...lane, waiting: lane.waiting.filter(stays) })
  return { first: without(pacer.first), repeat: without(pacer.repeat) }
}

/**
 * Sorts the frames: each address has its first frame before any address has its second frame. A former Active keeps
 * answering for an address until it receives such a frame.
 */
const inRounds = (lane: Lane): Lane => ({
  ...lane,
  waiting: [...lane.waiting].sort((one, other) => (one.copy ?? 0) - (other.copy ?? 0)),
})

const inOneLane = ({ first, repeat }: Pacer): Lane => ({
  ...repeat,
  waiting: first.waiting.length === 0 ? repeat.waiting : [...first.waiting, ...repeat.waiting],
})

const keyOf = (one: WantedAnnouncement): string => `${one.router} ${one.address} ${one.copy ?? 0}`

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
  // At least one frame, because `at` has passed. Rounding in the division must not make the caller return for ever.
  const room = Math.max(1, Math.floor((now - busyFrom) / rate.spacing + rate.burst))
  const send = lane.waiting.slice(0, room)
  const busyUntil = plus(busyFrom, send.length * rate.spacing)
  return { send, lane: { waiting: lane.waiting.slice(send.length), busyUntil } }
}
