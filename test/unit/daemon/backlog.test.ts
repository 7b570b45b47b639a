/**
 * Every case in which a queue may hide a packet (ground rule 2: a waiting packet counts), from the results of its
 * drains.
 */
import { expect, test } from 'vitest'
import { Backlog } from '../../../src/daemon/lan/backlog.ts'

type Drain = readonly [packets: number, empty: boolean, lost?: number]

test.each<readonly [string, readonly Drain[], boolean]>([
  ['nothing was ever read', [], false],
  ['all is read at once', [[3, true]], false],
  ['something waits', [[256, false]], true],
  [
    'it was read in pieces, and was never full',
    [
      [256, false],
      [256, false],
      [254, true],
    ],
    false,
  ],
  [
    'so much was read in pieces that it may have been full',
    [
      [1_024, false],
      [1_024, false],
      [0, true],
    ],
    true,
  ],
  ['the same at once', [[4_000, true]], true],
  [
    'and then a packet came out of an empty queue',
    [
      [4_000, true],
      [1, true],
    ],
    false,
  ],
  [
    'and then nothing came',
    [
      [4_000, true],
      [0, true],
    ],
    true,
  ],
  ['a drop was told', [[3, true, 1]], true],
  [
    'a drop was told in the middle, and the rest was read',
    [
      [256, false, 7],
      [10, true],
    ],
    true,
  ],
  [
    'another one was told out of an empty queue',
    [
      [3, true, 1],
      [1, true, 1],
    ],
    true,
  ],
  [
    'a backlog came out of an empty queue, and is not over',
    [
      [3, true, 1],
      [256, false],
    ],
    true,
  ],
  ['many small backlogs are no large one', Array.from({ length: 20 }, (_, i) => [200, i % 2 === 1] as const), false],
])('%s', (_, drains, hides) => {
  const backlog = new Backlog()
  for (const [packets, empty, lost = 0] of drains) backlog.note({ packets, empty, lost })
  expect(backlog.mayHide).toBe(hides)
})
