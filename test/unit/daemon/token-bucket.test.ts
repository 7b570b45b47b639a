import { describe, expect, test } from 'vitest'
import { suppressedField, TokenBucket } from '../../../src/daemon/telemetry/token-bucket.ts'

/** Takes at each of these times. Returns the results in order. */
const takesAt = (bucket: TokenBucket, times: readonly number[]) => times.map((at) => bucket.take(at))

describe('a token bucket', () => {
  test('a bucket gives its tokens immediately, then one for each period', () => {
    const bucket = new TokenBucket({ atOnce: 3, every: 1_000 })
    expect(takesAt(bucket, [5_000, 5_000, 5_000, 5_000])).toEqual([0, 0, 0, undefined])
    expect(takesAt(bucket, [5_999, 6_000, 6_000])).toEqual([undefined, 2, undefined])
  })

  test('take() returns the number of refused calls since the last success', () => {
    const bucket = new TokenBucket({ atOnce: 1, every: 100 })
    expect(takesAt(bucket, [0, 1, 2, 100, 200])).toEqual([0, undefined, undefined, 2, 0])
  })

  test('a bucket is full after a quiet time, and not more', () => {
    const bucket = new TokenBucket({ atOnce: 2, every: 100 })
    takesAt(bucket, [0, 0])
    expect(bucket.isFull(199), 'a token is missing').toBe(false)
    expect(bucket.isFull(200), 'both are back').toBe(true)
    expect(takesAt(bucket, [60_000, 60_000, 60_000])).toEqual([0, 0, undefined])
  })

  test('nextAt is the time of the next token', () => {
    const bucket = new TokenBucket({ atOnce: 2, every: 100 })
    takesAt(bucket, [10, 20])
    expect(bucket.nextAt).toBe(110)
    expect([bucket.has(109), bucket.has(110)]).toEqual([false, true])
  })

  test('spend() counts a token even if none is available', () => {
    const bucket = new TokenBucket({ atOnce: 1, every: 100 })
    bucket.spend(0)
    bucket.spend(0)
    expect([bucket.has(199), bucket.has(200)]).toEqual([false, true])
  })
})

test('suppressedField() is empty if nothing was left out', () => {
  expect([suppressedField(0), suppressedField(3)]).toEqual([{}, { suppressed: 3 }])
})
