/**
 * Several successors of a router in Leaving (docs/adr/0045): which one is the winner, and when it is reminded to
 * announce again.
 */
import { describe, expect, test } from 'vitest'
import type { Event } from '../../../../src/vrrp/event.ts'
import { extendedStep as step } from '../../../../src/vrrp/extensions/index.ts'
import { profileKnobs } from '../../../../src/vrrp/profile.ts'
import { nextDeadline, type State } from '../../../../src/vrrp/state.ts'
import { type Address, address } from '../../../../src/wire/address.ts'
import { ABOVE, announcementIn, BELOW, heard, leaving, ms, OTHER, parameters, tick, VIP, VIP2 } from '../fsm-fixture.ts'

const told = parameters('keepalived')
/** Below BELOW. */
const BELOW_THAT = address('192.0.2.8')
const quiet = leaving({ repeatAt: undefined })

const hears = (source: Address, priority: number, at: number) => [at, heard(source, priority, at)] as const

/** Returns the effects with their times, and the end; deadlines are exact. */
function play(events: readonly (readonly [number, Event])[], from: State = quiet, by = told): string[] {
  const lines: string[] = []
  let state = from
  const waiting = [...events]
  for (let turns = 0; turns < 50; turns++) {
    const deadline = nextDeadline(state)
    const [at, event] = waiting[0] ?? [Number.POSITIVE_INFINITY, tick]
    if (deadline === undefined && waiting.length === 0) break
    const isTick = deadline !== undefined && deadline < at
    const now = ms(isTick ? deadline : at)
    if (!isTick) waiting.shift()
    const [next, effects] = step(state, isTick ? tick : event, by, now)
    state = next
    for (const effect of effects) {
      if (effect.kind === 'sendAdvertisement') lines.push(`${now} sends ${effect.priority} (${effect.reason})`)
      else if (effect.kind === 'removeAddresses') lines.push(`${now} removes ${effect.addresses.length}`)
      else if (effect.kind === 'transition')
        lines.push(`${now} ${effect.to}, ${effect.reason} ${effect.peer ?? ''}`.trim())
      else lines.push(`${now} ${effect.kind}`)
    }
    if (state.name !== 'Leaving') break
  }
  return lines
}

describe('a router in Leaving beside keepalived routers', () => {
  test('a router in Leaving does not remind a single successor, and ends 200 ms after its first advertisement', () => {
    expect(play([hears(OTHER, 128, 500)])).toEqual(['520 removes 2', '700 Initialize, successorHeard'])
  })

  test('a repeated advertisement of the successor does not count as another router', () => {
    const events = [500, 510, 650].map((at) => [at, heard(OTHER, 128, at)] as const)
    expect(play(events)).toEqual(['520 removes 2', '700 Initialize, successorHeard'])
  })

  test.each([
    ['comes first', OTHER, BELOW],
    ['comes last', BELOW, OTHER],
  ])(
    'a router in Leaving reminds the winner, which %s, twice after the last advertisement of a loser',
    (_, first, second) => {
      expect(play([hears(first, 128, 500), hears(second, 128, 504)])).toEqual([
        '520 removes 2',
        '534 sends 1 (contested)',
        '624 sends 1 (contested)',
        '700 Initialize, successorHeard',
      ])
    },
  )

  test('a router in Leaving does not wait for a router that keeps advertising after the race', () => {
    const goesOn = Array.from({ length: 40 }, (_, i) => 600 + 90 * i).map((at) => [at, heard(BELOW, 90, at)] as const)
    const said = play([hears(OTHER, 128, 500), ...goesOn])
    expect(said.at(-1), 'the end, a reminder after the last of the first 200 ms').toBe('810 Initialize, successorHeard')
  })

  test('an answer of the winner causes no other reminder', () => {
    const events = [
      hears(OTHER, 128, 500),
      hears(BELOW, 128, 504),
      hears(OTHER, 128, 535),
      [536, announcementIn(VIP, 536)],
    ] as const
    expect(play(events).filter((line) => line.includes('sends'))).toEqual([
      '534 sends 1 (contested)',
      '624 sends 1 (contested)',
    ])
  })

  test('a late competitor restarts the reminders, and Leaving waits for them', () => {
    const events = [hears(OTHER, 128, 500), hears(BELOW, 128, 690)] as const
    expect(play(events)).toEqual([
      '520 removes 2',
      '720 sends 1 (contested)',
      '810 sends 1 (contested)',
      '810 Initialize, successorHeard',
    ])
  })

  test('a router whose addresses were announced before any advertisement stays as long', () => {
    const events = [[500, announcementIn(VIP, 500)], [500, announcementIn(VIP2, 500)], hears(OTHER, 128, 510)] as const
    expect(play(events)).toEqual(['505 removes 2', '710 Initialize, successorHeard'])
  })

  test('after a yield the router follows the winner, not the last sender', () => {
    const events = [hears(ABOVE, 128, 500), hears(BELOW, 128, 504)] as const
    expect(play(events, leaving({ reason: 'yield', repeatAt: undefined })).at(-1)).toBe(
      `700 Backup, successorHeard ${ABOVE}`,
    )
  })

  test('the router with the higher priority is the winner, whatever its address', () => {
    const events = [hears(ABOVE, 100, 500), hears(BELOW, 128, 504)] as const
    expect(play(events, leaving({ reason: 'yield', repeatAt: undefined })).at(-1)).toBe(
      `700 Backup, successorHeard ${BELOW}`,
    )
  })

  test('a winner with priority 1 and a lower address is not reminded, because it would give way', () => {
    const events = [hears(BELOW, 1, 500), hears(BELOW, 1, 504)] as const
    const late = hears(OTHER, 1, 506)
    expect(play(events)).toEqual(['520 removes 2', '700 Initialize, successorHeard'])
    // OTHER has a higher address than ours, so it does not give way.
    expect(play([...events, late]).filter((line) => line.includes('sends'))).toHaveLength(2)
    const lowest = hears(BELOW, 1, 506)
    const loser = hears(BELOW_THAT, 1, 500)
    expect(play([loser, lowest]).filter((line) => line.includes('sends'))).toEqual([])
  })
})

test('only profile keepalived observes successors; others end when their addresses are removed', () => {
  const events = [hears(OTHER, 128, 500), hears(BELOW, 128, 504)] as const
  expect(profileKnobs('holdfast', 3).remindSuccessor).toBe(false)
  expect(profileKnobs('rfc9568', 3).remindSuccessor).toBe(false)
  expect(play(events, quiet, parameters('holdfast'))).toEqual(['520 removes 2', '520 Initialize, successorHeard'])
})
