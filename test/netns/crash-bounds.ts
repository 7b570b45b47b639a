/**
 * What may happen to the clients of a node whose engine, guardian or both die, stop or block: bounds that follow from the
 * protocol and from what was promised, none from a measurement. Refuses to know runs and results. PURE.
 *
 * From docs/performance.md, Budgets and RFC 9568 §6.1, with I the interval and r2 (priority 150) the successor:
 * - a dead engine's addresses are off within 50 ms, whoever is told (priority 0) follows after Skew_Time and 25 ms;
 * - the deadline is 3 × I after the last advertisement, which is at most I old when the fault begins;
 * - r2 alone waits Active_Down_Interval from that advertisement;
 * - where nobody of the node runs, the kernel drops the addresses: lifetime and 400 ms, counted from a
 *   renewal that is at most a third of it old;
 * - a clean leave (SIGTERM, guardian lost) overlaps 10 ms at most and loses nothing.
 */
import { activeDownIntervalMs, skewTimeMs } from '../../src/lab/daemons/daemon.ts'

export const PRIORITIES = [200, 150, 100] as const
const [OWN, NEXT] = PRIORITIES

type Fate = 'lives' | 'dies' | 'stops'
export type Fault = {
  readonly name: string
  readonly engine: Fate
  readonly guardian: Fate
  /** Of what stops. */
  readonly ms: number
}

export type Circumstances = {
  /** There is no other node. */
  readonly alone: boolean
  /** See PRESSURE. */
  readonly pressure: number
}

export type Bounds = {
  /** In one piece, in ms: two answer; nobody answers. */
  readonly overlap: number
  readonly absence: number
  /** ms after the fault at which the victim no longer has the address; undefined: it need not go. */
  readonly gone: number | undefined
  /** It may not: nothing is executed, sent or taken off. */
  readonly stays: boolean
  /** Who answers in the end; '' = nobody. */
  readonly owner: 'r1' | 'r2' | ''
  /** ms after the end of the fault at which that is so. */
  readonly settled: number
}

/** After the fault: one node hands over to a better one. */
export const HANDOVER = 25
const NOTICED = 50
/**
 * Share of the time in which something waited for a CPU (/proc/pressure/cpu), in percent. Above it a death is as a standstill:
 * the kernel tells of it when it has taken down the memory of the process, whose threads compete with all others for
 * that (4 to 178 ms after SIGKILL for a plain Node at a load of 10 on two CPUs), and until then only the deadline counts.
 */
export const PRESSURE = 20
const CLEAN_OVERLAP = 10
/** Probes that may be lost. */
const CLEAN_LOSS = 2
/**
 * The kernel looks for expired addresses at a whole second when that is less than HZ / 4 away (ADDRCONF_TIMER_FUZZ), by a
 * timer whose step is 64 to 80 ms at this distance, in a work queue. 2.00 to 2.39 s was seen of 2 s, without holdfast.
 */
const EXPIRY = 400
/** docs/architecture.md: an engine gives its guardian max(1 s, lifetime / 2), and one beat more (docs/adr/0040). */
const LOOK = 250
const PATIENCE = 1_000
/** Leaving: off 20 ms after the successor's first advertisement at the latest. */
const LEAVE = 20
/** Returning: the VIPs are asked for so long. */
const QUESTION = 20

/** In ms; `interval` of the address, not of the router whose lifetime is the shortest. */
export function lifetimeMs(interval: number): number {
  return Math.max(2, Math.ceil(activeDownIntervalMs(OWN, interval) / 1000)) * 1000
}

const positive = (ms: number): number => Math.max(0, ms)

/** A lone node: nobody follows, and it has its addresses back when it has asked for them. */
function aloneBoundsOf({ engine, guardian, ms }: Fault, interval: number, noticed: number): Bounds {
  const quiet: Bounds = { overlap: 0, absence: 0, gone: undefined, stays: true, owner: 'r1', settled: 0 }
  const lifetime = lifetimeMs(interval)
  const lost = (gone: number): Bounds => {
    return { overlap: 0, absence: Number.POSITIVE_INFINITY, gone, stays: false, owner: '', settled: gone }
  }
  if (engine === 'lives') {
    if (guardian === 'stops' && ms < PATIENCE) return quiet
    // It waits for a successor in vain.
    return lost((guardian === 'dies' ? 0 : PATIENCE) + LOOK + 2 * interval + HANDOVER)
  }
  if (engine === 'dies') return lost(guardian === 'dies' ? lifetime + EXPIRY : noticed)
  if (ms < 2 * interval) return quiet
  const surely = ms >= 3 * interval
  const kept = guardian === 'stops' ? (2 / 3) * lifetime : 2 * interval
  const gone = guardian === 'stops' ? Math.min(ms + NOTICED, lifetime + EXPIRY) : 3 * interval + NOTICED
  return {
    overlap: 0,
    absence: positive(ms - kept) + QUESTION + HANDOVER,
    gone: surely ? gone : undefined,
    stays: false,
    owner: 'r1',
    settled: QUESTION + HANDOVER,
  }
}

export function boundsOf(fault: Fault, interval: number, { alone, pressure }: Circumstances): Bounds {
  const buried = pressure > PRESSURE ? 3 * interval + NOTICED : NOTICED
  if (alone) return aloneBoundsOf(fault, interval, buried)
  const { engine, guardian, ms } = fault
  const skew = skewTimeMs(NEXT, interval)
  const down = activeDownIntervalMs(NEXT, interval)
  const deadline = 3 * interval
  const earliest = down - interval
  const lifetime = lifetimeMs(interval)
  const expired = lifetime + EXPIRY
  /** The address may expire before the successor comes: a renewal was due at two thirds of it. */
  const gap = positive(down + HANDOVER - (2 / 3) * lifetime)
  const back = activeDownIntervalMs(OWN, interval) + HANDOVER
  const quiet: Bounds = { overlap: 0, absence: 0, gone: undefined, stays: true, owner: 'r1', settled: 0 }

  if (engine === 'lives') {
    if (guardian === 'stops' && ms < PATIENCE) return quiet
    const noticed = guardian === 'dies' ? LOOK : PATIENCE + LOOK
    const gone = noticed + skew + HANDOVER + LEAVE
    return { overlap: CLEAN_OVERLAP, absence: CLEAN_LOSS, gone, stays: false, owner: 'r2', settled: gone }
  }
  if (engine === 'dies') {
    if (guardian === 'dies')
      return {
        overlap: positive(expired - earliest),
        absence: gap,
        gone: expired,
        stays: false,
        owner: 'r2',
        settled: expired,
      }
    // It may be late before it is dead: a heap that fills up.
    const gone = ms > 0 ? Math.max(deadline, ms) + buried : buried
    const overlap = ms > 0 || buried > NOTICED ? positive(NOTICED - skew) : positive(NOTICED - earliest)
    return {
      overlap,
      absence: skew + HANDOVER,
      gone,
      stays: false,
      owner: 'r2',
      settled: ms + skew + HANDOVER + buried,
    }
  }
  // Asleep for less than two intervals nobody can miss it, for less than three it depends on when.
  if (ms < 2 * interval) return quiet
  const surely = ms >= deadline
  const absence = (surely ? skew : Math.max(skew, QUESTION)) + HANDOVER
  if (guardian === 'stops') {
    const gone = Math.min(ms + NOTICED, expired)
    return {
      overlap: positive(gone - earliest),
      absence: Math.max(absence, ms > (2 / 3) * lifetime ? gap : 0),
      gone: surely ? gone : undefined,
      stays: false,
      owner: 'r1',
      settled: back,
    }
  }
  return {
    overlap: positive(NOTICED - skew),
    absence,
    gone: surely ? deadline + NOTICED : undefined,
    stays: false,
    owner: 'r1',
    settled: back,
  }
}
