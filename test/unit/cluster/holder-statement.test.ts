/** One address and one agent: what it publishes about the address, when, and that it takes no entry for itself. */
import { describe, expect, test } from 'vitest'
import {
  competingHoldersIn,
  NO_STATEMENT,
  type StatementInput,
  stepStatement,
} from '../../../src/cluster/decisions/status/holder-statement.ts'
import type { Holder } from '../../../src/cluster/decisions/status/published-status.ts'
import { address } from '../../../src/wire/address.ts'

const EPOCH = Date.parse('2026-11-22T12:00:00Z')
const at = (ms: number) => ({ monotonicMs: ms, epochMs: EPOCH + ms })
const NAMES: Readonly<Record<string, string>> = { '10.0.0.11': 'node-1', '10.0.0.12': 'node-2', '10.0.0.13': 'node-3' }
const ENTRY: Holder = {
  ...{ address: address('10.0.0.200'), service: 'API', node: 'node-1' },
  ...{ since: '2026-11-22T11:00:00Z', saidBy: 'node-1', alsoAnswering: [] },
}
const INPUT: StatementInput = {
  sight: { kind: 'silence' },
  ...{ entry: ENTRY, known: true, self: 'node-2', rank: 0, unanswered: false, unwanted: false },
  nameOf: (one) => NAMES[one],
}
const OURS: StatementInput['sight'] = { kind: 'ours', since: '2026-11-22T12:00:00Z', duplicates: [] }
const hears = (from: string): StatementInput['sight'] => ({
  kind: 'heard',
  from: address(from),
  agoMs: 300,
  duplicates: [],
})

type Step = readonly [number, Partial<StatementInput>]

/** A list of times with the state that the engine reports then; returns the resulting statements. */
function played(steps: readonly Step[], input = INPUT) {
  let memory = NO_STATEMENT
  const claims = steps.map(([ms, change]) => {
    const [next, claim] = stepStatement(memory, { ...input, ...change }, at(ms))
    memory = next
    return claim.kind === 'foreign' ? `foreign:${claim.node}:${claim.since.slice(17, 19)}` : claim.kind
  })
  return { claims, memory }
}

const claimsOf = (...steps: readonly Step[]): readonly string[] => played(steps).claims

describe('the claim of one agent for one address', () => {
  test('a holder publishes its entry immediately, whatever it was, and removes it immediately', () => {
    expect(
      claimsOf(
        [0, { sight: OURS }],
        [10, { sight: OURS, known: false, entry: undefined }],
        [20, { sight: hears('10.0.0.13') }],
      ),
    ).toEqual(['ours', 'ours', 'none'])
  })

  test('an entry that names the holder we hear is never changed', () => {
    expect(claimsOf([0, { sight: hears('10.0.0.11') }], [3_600_000, { sight: hears('10.0.0.11') }])).toEqual([
      'none',
      'none',
    ])
  })

  test("if the holder's agent is silent, one Backup corrects the entry after a delay by rank", () => {
    const sight = hears('10.0.0.13')
    const corrected: Holder = { ...ENTRY, node: 'node-3', saidBy: 'node-2', since: '2026-11-22T12:00:05Z' }
    expect(
      claimsOf(
        [0, { sight }],
        [4_999, { sight }],
        [5_000, { sight }],
        [6_000, { sight, entry: corrected }],
        [60_000, { sight, entry: corrected }],
      ),
    ).toEqual(['none', 'none', 'foreign:node-3:05', 'foreign:node-3:05', 'foreign:node-3:05'])
    expect(claimsOf([0, { sight, rank: 2 }], [8_999, { sight, rank: 2 }], [9_000, { sight, rank: 2 }])).toEqual([
      ...['none', 'none', 'foreign:node-3:09'],
    ])
    // The agent of the holder is back: the other agent's entry stays with two field managers until one removes it.
    const own: Holder = { ...corrected, saidBy: 'node-3' }
    expect(
      claimsOf(
        [0, { sight }],
        [5_000, { sight }],
        [6_000, { sight, entry: corrected }],
        [7_000, { sight, entry: own }],
      ).at(-1),
    ).toBe('none')
  })

  test('a Backup that hears another holder before the delay has passed corrects nothing', () => {
    const sight = hears('10.0.0.13')
    expect(
      claimsOf([0, { sight }], [4_000, { sight: hears('10.0.0.11') }], [5_000, { sight }], [9_999, { sight }]),
    ).toEqual(['none', 'none', 'none', 'none'])
  })

  test('an address of no known node contradicts no entry, and is used if there is none', () => {
    const sight = hears('fe80::13')
    expect(claimsOf([0, { sight }], [600_000, { sight }])).toEqual(['none', 'none'])
    expect(claimsOf([0, { sight, entry: undefined }], [5_000, { sight, entry: undefined }])).toEqual([
      'none',
      'foreign:fe80::13:05',
    ])
  })

  test('a Backup that listens publishes that there is no holder, after ten seconds and its rank', () => {
    expect(claimsOf([0, {}], [9_999, {}], [10_000, {}])).toEqual(['none', 'none', 'foreign::10'])
    expect(claimsOf([0, { rank: 3 }], [15_999, { rank: 3 }], [16_000, { rank: 3 }])).toEqual([
      'none',
      'none',
      'foreign::16',
    ])
    const emptied: Holder = { ...ENTRY, node: '', saidBy: 'node-1' }
    expect(claimsOf([0, { entry: emptied }], [60_000, { entry: emptied }])).toEqual(['none', 'none'])
  })

  test('a Backup that does not listen publishes it later, and only if kube-api is silent as well', () => {
    const sight = { kind: 'deaf', why: 'linkDown' } as const
    expect(claimsOf([0, { sight }], [600_000, { sight }])).toEqual(['none', 'none'])
    expect(
      claimsOf(
        [0, { sight, unanswered: true }],
        [29_999, { sight, unanswered: true }],
        [30_000, { sight, unanswered: true }],
      ),
    ).toEqual(['none', 'none', 'foreign::30'])
  })

  test('a cleared entry that comes back is left to its agent', () => {
    const emptied: Holder = { ...ENTRY, node: '', saidBy: 'node-2', since: '2026-11-22T12:00:10Z' }
    const { claims } = played([
      [0, {}],
      [10_000, {}],
      // The delay has not passed yet.
      [10_500, {}],
      [11_000, { entry: emptied }],
      [12_000, {}],
      [600_000, {}],
    ])
    expect(claims).toEqual(['none', 'foreign::10', 'foreign::10', 'foreign::10', 'none', 'none'])
  })

  test('before the API has answered, nothing is published about other nodes', () => {
    expect(claimsOf([0, { known: false, entry: undefined }], [600_000, { known: false, entry: undefined }])).toEqual([
      'none',
      'none',
    ])
  })

  test('a node without a part in the election publishes nothing, unless no node should hold the address', () => {
    const sight = { kind: 'absent' } as const
    expect(claimsOf([0, { sight }], [600_000, { sight }])).toEqual(['none', 'none'])
    expect(
      claimsOf([0, { sight, unwanted: true }], [4_999, { sight, unwanted: true }], [5_000, { sight, unwanted: true }]),
    ).toEqual(['none', 'none', 'foreign::05'])
  })

  test('two nodes that take the entry from each other twice within minutes are two holders', () => {
    const [mine, theirs]: Holder[] = [{ ...ENTRY, node: 'node-2', saidBy: 'node-2' }, ENTRY]
    const once = played([
      [0, { sight: OURS, entry: mine }],
      [1_000, { sight: OURS, entry: theirs }],
      [2_000, { sight: OURS, entry: mine }],
    ])
    expect(competingHoldersIn(once.memory)).toEqual([])
    const twice = played([
      [0, { sight: OURS, entry: theirs }],
      [500, { sight: OURS, entry: mine }],
      [1_000, { sight: OURS, entry: theirs }],
      [2_000, { sight: OURS, entry: mine }],
      [3_000, { sight: OURS, entry: theirs }],
    ])
    expect(competingHoldersIn(twice.memory)).toEqual(['node-1'])
    const [later] = stepStatement(twice.memory, { ...INPUT, sight: OURS, entry: mine }, at(301_001))
    expect(competingHoldersIn(later)).toEqual([])
  })
})
