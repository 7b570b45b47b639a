import { describe, expect, test } from 'vitest'
import { receiveTime } from '../../../src/linux/sockets/receive-time.ts'

// Now is 10 000 ms on the monotonic clock; realtime is 1 000 000 ms ahead of it unless the case says otherwise.
const OFFSET = 1_000_000
const NOW = 10_000

describe('a kernel stamp on the monotonic clock (ground rule 2)', () => {
  test.each([
    { name: 'a packet that waited 200 ms keeps its time', stamp: 9_800, want: 9_800 },
    { name: 'fractions are kept', stamp: 9_800.125, want: 9_800.125 },
    { name: 'received this instant', stamp: NOW, want: NOW },
    { name: 'received when the queue was last seen empty', stamp: 9_000, want: 9_000 },
    { name: 'older than the last empty drain is now', stamp: 8_999.9, want: NOW },
    { name: 'from the future is now', stamp: NOW + 0.1, want: NOW },
    { name: 'a packet before a step forward by an hour keeps its time', stamp: 9_800, stepped: 3_600_000, want: 9_800 },
    { name: 'a packet after a step forward by an hour', stamp: 3_609_800, stepped: 3_600_000, want: 9_800 },
    { name: 'a packet before a step back by an hour', stamp: 9_800, stepped: -3_600_000, want: 9_800 },
    { name: 'a packet after a step back by an hour', stamp: -3_590_200, stepped: -3_600_000, want: 9_800 },
    { name: 'of two possible times the later one counts', stamp: 9_800, stepped: -5, want: 9_805 },
    { name: 'a packet that came during the receive call is now', stamp: NOW + 200.5, stepped: 200, want: NOW },
    { name: 'a time that no step explains is now', stamp: 5_000, stepped: 5, want: NOW },
    { name: 'a change of 1 ms is no step', stamp: 9_800, stepped: 1, want: 9_799 },
    { name: 'a change of more than 1 ms is one', stamp: 9_800, stepped: 1.001, want: 9_800 },
  ])('$name', ({ stamp, want, stepped = 0 }) => {
    const clocks = { monotonic: NOW, realtime: NOW + OFFSET + stepped }
    expect(receiveTime(stamp + OFFSET, clocks, { offset: OFFSET, emptyAt: 9_000 }, NOW + 1)).toBe(want)
  })

  test('a packet without a stamp counts as now', () => {
    expect(receiveTime(0, { monotonic: NOW, realtime: NOW + OFFSET }, { offset: OFFSET, emptyAt: 9_000 }, NOW)).toBe(
      NOW,
    )
  })
})
