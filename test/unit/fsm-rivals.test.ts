/** Rivals of an Active (design.md §3): answered and announced, spaced, bounded. */
import { describe, expect, test } from 'vitest'
import type { Effect } from '../../src/vrrp/effect.ts'
import { step } from '../../src/vrrp/fsm.ts'
import type { State } from '../../src/vrrp/state.ts'
import { address } from '../../src/wire/address.ts'
import { centis } from '../../src/wire/units.ts'
import { ABOVE, active, answered, BELOW, heard, ms, OTHER, parameters, VIP } from './fsm-fixture.ts'

describe('rivals (design.md §3)', () => {
  const told = parameters('holdfast')
  const hearing = (state: State, events: readonly (readonly [typeof ABOVE, number])[], knows = told) => {
    const sent: Effect[][] = []
    let now = state
    for (const [source, at] of events) {
      const [next, effects] = step(now, heard(source, 100, at), knows, ms(at))
      sent.push(effects.filter(({ kind }) => kind !== 'refused'))
      now = next
    }
    return { state: now, sent }
  }
  const answer: Effect = { kind: 'sendAdvertisement', priority: 128, reason: 'rivalHeard' }
  const announce: Effect = { kind: 'announce', reason: 'rival' }

  test('one answer per rival in 100 ms, counted from the answer; each rival for itself', () => {
    const { sent } = hearing(active(), [
      [ABOVE, 100],
      [OTHER, 150],
      [ABOVE, 199],
      [ABOVE, 200],
      [OTHER, 249],
      [OTHER, 250],
    ])
    expect(sent).toEqual([
      [answer, announce],
      [answer, announce],
      [announce],
      [answer, announce],
      [announce],
      [answer, announce],
    ])
  })

  test('spaced by the interval where that is shorter', () => {
    const fast = parameters('holdfast', { advertisementInterval: centis(1) })
    const { sent } = hearing(
      active(),
      [
        [ABOVE, 100],
        [ABOVE, 109.9],
        [ABOVE, 110],
      ],
      fast,
    )
    expect(
      sent.map((effects) => effects.includes(answer) || effects.some((e) => e.kind === 'sendAdvertisement')),
    ).toEqual([true, false, true])
  })

  test('packets that were queued together cause one announcement batch', () => {
    const { sent, state } = hearing(active(), [
      [ABOVE, 100],
      [OTHER, 100],
      [BELOW, 100],
      [ABOVE, 101],
    ])
    expect(sent).toEqual([[answer, announce], [answer], [answer], [announce]])
    expect(state).toEqual(
      active({
        asserted: [ABOVE, OTHER, BELOW].map((source) => ({ source, at: ms(100) })),
        rivalAnnouncedAt: ms(101),
      }),
    )
  })

  test("the last word is ours: a loser's last advertisement is announced after, however soon it comes", () => {
    const { sent } = hearing(active(), [
      [ABOVE, 100],
      [ABOVE, 100.4],
    ])
    expect(sent).toEqual([[answer, announce], [announce]])
  })

  describe('that answer our question (docs/adr/0007)', () => {
    const asked = (at: number, state: State = active(), knows = told) => step(state, answered(VIP, at), knows, ms(at))

    test('are announced over at once, then once a second as long as they answer', () => {
      const [first, effects] = asked(100)
      expect([first, effects]).toEqual([active({ rivalAnnouncedAt: ms(100) }), [announce]])
      expect(asked(1099, first)).toEqual([first, []])
      expect(asked(1100, first)).toEqual([active({ rivalAnnouncedAt: ms(1100) }), [announce]])
    })

    test('after an announcement for their advertisement wait for that one to have its repeats', () => {
      const { state } = hearing(active(), [[ABOVE, 100]])
      expect(asked(150, state)).toEqual([state, []])
    })

    test('are nothing to a router that does not ask', () => {
      expect(asked(100, active(), parameters('rfc9568'))).toEqual([active(), []])
      const silent = parameters('holdfast', { knobs: { probeRivals: false } })
      expect(asked(100, active(), silent)).toEqual([active(), []])
    })
  })

  test('a flood of invented rivals does not grow the state; the oldest is forgotten first', () => {
    const flood = Array.from({ length: 40 }, (_, i) => [address(`192.0.2.${150 + i}`), 100 + i] as const)
    const { state } = hearing(active(), flood)
    if (state.name !== 'Active') throw new Error(`Expected Active, found ${state.name}`)
    expect(state.asserted).toHaveLength(16)
    expect(state.asserted.map(({ at }) => at)).toEqual(Array.from({ length: 16 }, (_, i) => 124 + i))
  })

  test('each knob alone', () => {
    const only = (knobs: object) => hearing(active(), [[ABOVE, 100]], parameters('holdfast', { knobs })).sent[0]
    expect(only({ assertOnLower: false })).toEqual([announce])
    expect(only({ announceOnRival: false })).toEqual([answer])
    const letter = hearing(
      active(),
      [
        [ABOVE, 100],
        [ABOVE, 100],
      ],
      parameters('rfc9568'),
    )
    expect(letter).toEqual({ state: active(), sent: [[answer], [answer]] })
    // RFC 3768 is silent: a version 2 router is, too, by the letter; holdfast is not.
    expect(hearing(active(), [[ABOVE, 100]], parameters('rfc9568', { version: 2 })).sent).toEqual([[]])
    expect(hearing(active(), [[ABOVE, 100]], parameters('holdfast', { version: 2 })).sent).toEqual([[answer, announce]])
  })
})
