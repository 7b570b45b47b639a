/**
 * Tests when the receive queue of a socket may still hold an unread packet, judged by the results of the reads of that
 * queue. An unread packet counts for each decision (ground rule 2).
 */
import { expect, test } from 'vitest'
import { Backlog } from '../../../src/daemon/lan/backlog.ts'

type Drain = readonly [packets: number, empty: boolean, lost?: number]

test.each<[string, boolean, ...Drain[]]>([
  ['nothing was ever read', false],
  ['all is read at once', false, [3, true]],
  ['something waits', true, [256, false]],
  ['it was read in pieces, and was never full', false, [256, false], [256, false], [254, true]],
  ['so much was read in pieces that it may have been full', true, [1_024, false], [1_024, false], [0, true]],
  ['the same at once', true, [4_000, true]],
  ['and then a packet came out of an empty queue', false, [4_000, true], [1, true]],
  ['and then nothing came', true, [4_000, true], [0, true]],
  ['a drop was told', true, [3, true, 1]],
  ['a drop was told in the middle, and the rest was read', true, [256, false, 7], [10, true]],
  ['another one was told out of an empty queue', true, [3, true, 1], [1, true, 1]],
  ['a backlog came out of an empty queue, and is not over', true, [3, true, 1], [256, false]],
  ['many small backlogs are no large one', false, ...Array.from({ length: 20 }, (_, i) => [200, i % 2 === 1] as const)],
])('%s', (_, hides, ...drains) => {
  const backlog = new Backlog()
  for (const [packets, empty, lost = 0] of drains) backlog.note({ packets, empty, lost })
  expect(backlog.mayHide).toBe(hides)
})
