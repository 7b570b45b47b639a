/**
 * How long silence lasts before a Backup acts: Skew_Time and Active_Down_Interval (RFC 9568 §6.1, RFC 3768 §6.1 for
 * version 2). Results are dyadic fractions of a millisecond, so a double holds every one exactly and nothing here rounds
 * (VR-TM-02): rounding to centiseconds would let neighbouring priorities expire together. This file knows durations only,
 * no clock and no deadline.
 */
import { type Centis, centisToMillis, type Millis, millis } from '../wire/units.ts'

/** Version 2 does not scale the skew by the interval (RFC 3768 §6.1), so its `interval` has no effect here. */
export function skewTime(priority: number, interval: Centis, version: 2 | 3): Millis {
  const scale = version === 3 ? centisToMillis(interval) : 1000
  return millis(((256 - priority) * scale) / 256)
}

/** `interval` is Active_Adver_Interval in version 3 and our own Advertisement_Interval in version 2. */
export function activeDownInterval(priority: number, interval: Centis, version: 2 | 3): Millis {
  return millis(3 * centisToMillis(interval) + skewTime(priority, interval, version))
}
