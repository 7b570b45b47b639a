/**
 * Types for units that are easy to confuse. `Millis` is a time or a duration on the monotonic clock. A `Millis` may
 * have fractions: every timer of RFC 9568 is a binary fraction of a millisecond, which a double holds exactly. `Centis`
 * is the unit of Max Advertise Interval. This file does not know which clock a time came from.
 */
export type Millis = number & { readonly unit: 'ms' }
export type Centis = number & { readonly unit: 'cs' }

export const millis = (value: number): Millis => value as Millis
export const centis = (value: number): Centis => value as Centis
export const centisToMillis = (value: Centis): Millis => (value * 10) as Millis
/** Returns the earlier of two times; `undefined` means never. */
export const sooner = (one: Millis | undefined, other: Millis | undefined): Millis | undefined =>
  one === undefined || (other !== undefined && other < one) ? other : one

export const plus = (at: Millis, duration: number): Millis => (at + duration) as Millis
