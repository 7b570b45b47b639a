/**
 * Computes the times of one node's events. Each boot of the node has one base: wall clock minus monotonic clock at the
 * end of the boot. A step of the wall clock therefore does not change the order of events. This file decides where a
 * new boot begins. PURE.
 */
import type { JournalEvent } from '../events/event.ts'

export type Dated = { readonly event: JournalEvent; readonly at: number }

/** Difference between the two clock readings of an event that is normal on a busy machine, in milliseconds. */
const STEP_MS = 1_000

/**
 * Returns each event with its time in milliseconds since the epoch. `now` is a clock reading of a running node, taken
 * after its last event.
 */
export function dated(events: readonly JournalEvent[], now?: Reading): readonly Dated[] {
  const boots = bootsOf(events)
  return boots.flatMap((boot, i) => {
    const readings = i === boots.length - 1 ? withNow(boot, now) : boot
    const bases = readings.slice(-10).map(baseOf)
    // Only clock readings after the last step of the wall clock are used.
    const last = bases.at(-1) ?? 0
    const from = bases.findLastIndex((base) => Math.abs(base - last) > STEP_MS) + 1
    // An event reads the wall clock first. A delay between the two readings makes the base smaller, so the largest base
    // is right.
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

/** The two clocks of a node, read one right after the other. `at` is the wall clock (ISO 8601). */
export type Reading = { readonly at: string; readonly monotonicMs: number }

export type ClockStep = { readonly at: string; readonly byMs: number }

/**
 * Returns the steps of the wall clock while the node ran. `now` is a clock reading of a running node, taken after its
 * last event.
 */
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
