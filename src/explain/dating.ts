/**
 * When the events of one node happened, by its own wall clock as it is at the end of each boot: the monotonic clock says
 * how far apart they are. Decided here: where a new boot begins. PURE.
 */
import type { JournalEvent } from '../events/event.ts'

export type Dated = { readonly event: JournalEvent; readonly at: number }

/** Between the two readings of an event a busy machine may do something else. */
const STEP_MS = 1_000

/** `now`: of a node that runs, behind its last event. */
export function dated(events: readonly JournalEvent[], now?: Reading): readonly Dated[] {
  const boots = bootsOf(events)
  return boots.flatMap((boot, i) => {
    const readings = i === boots.length - 1 ? withNow(boot, now) : boot
    const bases = readings.slice(-10).map(baseOf)
    // As it is since it was last set.
    const last = bases.at(-1) ?? 0
    const from = bases.findLastIndex((base) => Math.abs(base - last) > STEP_MS) + 1
    // The wall clock is read first: what comes in between makes it less.
    const base = Math.max(...bases.slice(from))
    return boot.map((event) => ({ event, at: event.monotonicMs + base }))
  })
}

const baseOf = ({ at, monotonicMs }: Reading): number => Date.parse(at) - monotonicMs

function withNow(boot: readonly Reading[], now: Reading | undefined): readonly Reading[] {
  return now === undefined || now.monotonicMs < (boot.at(-1)?.monotonicMs ?? 0) ? boot : [...boot, now]
}

function bootsOf(events: readonly JournalEvent[]): readonly (readonly JournalEvent[])[] {
  const boots: JournalEvent[][] = []
  let last: JournalEvent | undefined
  for (const event of events) {
    if (last === undefined || event.monotonicMs < last.monotonicMs) boots.push([])
    boots.at(-1)?.push(event)
    last = event
  }
  return boots
}

/** Of both clocks of a node, one right after the other. */
export type Reading = { readonly at: string; readonly monotonicMs: number }

export type ClockStep = { readonly at: string; readonly byMs: number }

/** Where the wall clock was set while the node ran. `now`: of a node that runs, behind its last event. */
export function clockSteps(events: readonly JournalEvent[], now?: Reading): readonly ClockStep[] {
  const boots = bootsOf(events)
  return boots.flatMap((boot, which) => {
    const readings = which === boots.length - 1 ? withNow(boot, now) : boot
    return readings.flatMap((reading, i) => {
      const before = readings[i - 1]
      if (before === undefined) return []
      const byMs = Date.parse(reading.at) - Date.parse(before.at) - (reading.monotonicMs - before.monotonicMs)
      return Math.abs(byMs) > STEP_MS ? [{ at: reading.at, byMs: Math.round(byMs) }] : []
    })
  })
}
