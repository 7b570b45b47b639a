/**
 * Computes Skew_Time and Active_Down_Interval: how long a Backup waits without an advertisement (RFC 9568 §6.1; RFC
 * 3768 §6.1 for version 2). Skew_Time and Active_Down_Interval are binary fractions of a millisecond, which a double
 * holds exactly. For this reason no function of this file rounds (VR-TM-02). Rounding to centiseconds would make
 * routers of neighbouring priorities take over together. `timers.ts` knows durations only, no clock and no deadline.
 */
import { type Centis, centisToMillis, type Millis, millis } from '../wire/units.ts'

/**
 * Returns Skew_Time. Version 2 does not scale Skew_Time by the interval (RFC 3768 §6.1), so `interval` has no effect
 * there.
 */
export function skewTime(priority: number, interval: Centis, version: 2 | 3): Millis {
  const scale = version === 3 ? centisToMillis(interval) : 1000
  return millis(((256 - priority) * scale) / 256)
}

/**
 * Returns Active_Down_Interval. `interval` is Active_Adver_Interval in version 3 and our own Advertisement_Interval in
 * version 2.
 */
export function activeDownInterval(priority: number, interval: Centis, version: 2 | 3): Millis {
  return millis(3 * centisToMillis(interval) + skewTime(priority, interval, version))
}
