/**
 * Units that are easy to confuse get a type of their own. A moment and a duration on the monotonic clock are both
 * Millis (fractions kept: every timer of RFC 9568 is a dyadic fraction of a millisecond, so doubles hold it exactly);
 * Centis is what travels in Max Advertise Interval. This file does not know which clock a moment came from.
 */
export type Millis = number & { readonly unit: 'ms' }
export type Centis = number & { readonly unit: 'cs' }

export const millis = (value: number): Millis => value as Millis
export const centis = (value: number): Centis => value as Centis
export const centisToMillis = (value: Centis): Millis => (value * 10) as Millis
/** The earlier of two; undefined = never. */
export const sooner = (one: Millis | undefined, other: Millis | undefined): Millis | undefined =>
  one === undefined || (other !== undefined && other < one) ? other : one

export const plus = (at: Millis, duration: number): Millis => (at + duration) as Millis
