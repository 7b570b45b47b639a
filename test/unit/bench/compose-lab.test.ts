import { describe, expect, test } from 'vitest'
import { ClientView, lineOf } from '../../../bench/compose/client-view.ts'
import { changesOf, type Row, restsOf } from '../../../bench/compose/story.ts'
import { table } from '../../../bench/compose/table.ts'

const A = '198.51.100.100'

function viewOf(...lines: readonly Readonly<Record<string, unknown>>[]): ClientView {
  const view = new ClientView()
  for (const fields of lines) {
    const line = lineOf(JSON.stringify({ address: A, ...fields }))
    if (line !== undefined) view.take(line)
  }
  return view
}

describe('what the client of the lab said', () => {
  test('a line of somebody else is none', () => {
    expect(lineOf('ExperimentalWarning: no JSON')).toBeUndefined()
    expect(lineOf('{"event":"holder","name":"r1"}')).toBeUndefined()
    expect(lineOf('null')).toBeUndefined()
  })

  test('who answered last, and how many say that they have it', () => {
    const view = viewOf(
      { event: 'holder', name: 'r1', t: 1 },
      { event: 'claim', macs: ['a'], t: 1 },
      { event: 'holder', name: 'r2', t: 2 },
      { event: 'claim', macs: ['a', 'b'], t: 2 },
    )
    expect([view.holder(A), view.claimants(A)]).toEqual(['r2', 2])
    expect([view.holder('fd42:51::100'), view.claimants('fd42:51::100')]).toEqual([undefined, 0])
  })

  test('an outage counts for what happened before it was told, and the longest is the one', () => {
    const view = viewOf({ event: 'gap', ms: 900, lost: 900, t: 1 })
    const { mark } = view
    for (const ms of [4.5, 650.2, 12]) view.take({ address: A, event: 'gap', ms, lost: Math.floor(ms) })
    view.take({ address: 'fd42:51::100', event: 'gap', ms: 5_000, lost: 5_000 })
    expect(view.since(mark, A)).toMatchObject({ outageMs: 650.2, lost: 666, overlapMs: 0 })
    expect(view.since(view.mark, A)).toMatchObject({ outageMs: 0, lost: 0 })
  })

  test('two holders from the question that both answered to the one that one did', () => {
    const view = viewOf(
      { event: 'claim', macs: ['a'], t: 100 },
      { event: 'claim', macs: ['a', 'b'], t: 1_000 },
      { event: 'claim', macs: ['b'], t: 1_030 },
      { event: 'claim', macs: ['a', 'b'], t: 2_000 },
      { event: 'claim', macs: [], t: 2_010 },
    )
    expect(view.since(0, A).overlapMs).toBe(40)
  })
})

describe('the story', () => {
  const rest = (holder: string) => ({ holder, actives: [holder] })
  const sight = { outageMs: 650.4, lost: 649, overlapMs: 0, holders: [] }
  const row: Row = {
    ...{ name: 'kill', title: 'killed', before: rest('r1'), during: rest('r2'), after: rest('r1') },
    ...{ fault: { [A]: sight, 'fd42:51::100': { ...sight, outageMs: 0, lost: 0 } }, back: { [A]: sight } },
    ...{ overlapMs: 20, tookMs: 1 },
  }

  test('a line for each fault', () => {
    const split: Row = { ...row, title: 'split', during: { parted: ['r1', 'r2'] } }
    const [, , first, second] = table([row, split]).split('\n')
    expect(first).toBe('| killed | IPv4 650 (649), IPv6 0 (0) | IPv4 650 (649) | r1 → r2 → r1 | 20 |')
    expect(second).toContain('| r1 → r1 and r2 → r1 |')
  })

  test('moves are counted from rest to rest, and a split is no rest', () => {
    const split: Row = { ...row, during: { parted: ['r1', 'r2'] } }
    expect(changesOf(restsOf([row, split]).map(({ holder }) => holder))).toBe(2)
    expect(changesOf([])).toBe(0)
  })
})
