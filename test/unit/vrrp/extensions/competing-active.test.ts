/**
 * Competing Actives (docs/architecture.md, Protocol decisions): they are answered and announced over, with a spacing
 * and a limit.
 */
import { describe, expect, test } from 'vitest'
import type { Effect } from '../../../../src/vrrp/effect.ts'
import { extendedStep as step } from '../../../../src/vrrp/extensions/index.ts'
import type { State } from '../../../../src/vrrp/state.ts'
import { address } from '../../../../src/wire/address.ts'
import { centis } from '../../../../src/wire/units.ts'
import { ABOVE, active, BELOW, heard, ms, OTHER, parameters, tick } from '../fsm-fixture.ts'

describe('an Active that receives a competing Active (docs/architecture.md, Protocol decisions)', () => {
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
  const answer: Effect = { kind: 'sendAdvertisement', priority: 128, reason: 'competingActiveHeard' }
  const announce: Effect = { kind: 'announce', reason: 'competingActive' }

  test('an Active answers each competing router at most once in 100 ms, counted from its answer', () => {
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

  test('after a reload that turned the extension off, an Active answers each competing Active as RFC 9568 says', () => {
    const { state } = hearing(active(), [[ABOVE, 100]])
    const { sent } = hearing(
      state,
      [
        [ABOVE, 101],
        [ABOVE, 102],
      ],
      parameters('rfc9568'),
    )
    expect(sent).toEqual([[answer], [answer]])
  })

  test('an Active spaces its answers by the advertisement interval if that is shorter than 100 ms', () => {
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

  test('packets that were read together cause one batch of announcements', () => {
    const { sent, state } = hearing(active(), [
      [ABOVE, 100],
      [OTHER, 100],
      [BELOW, 100],
      [ABOVE, 101],
    ])
    expect(sent).toEqual([[answer, announce], [answer], [answer], [announce]])
    expect(state).toEqual(
      active({
        asserted: [ABOVE, OTHER, BELOW].map((source) => ({ to: 'competing', source, at: ms(100) })),
        announcedOverAt: ms(101),
        announcementsPaidAt: ms(200),
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

  test('many advertisements of any senders cause three batches together, then one in 50 ms', () => {
    // 1000 a second for 3 s, as in a flood from a valid sender or from many.
    const flood = Array.from({ length: 3000 }, (_, i) => [i % 2 === 0 ? ABOVE : BELOW, 100 + i] as const)
    const { sent } = hearing(active(), flood)
    const at = sent.flatMap((effects, i) => (effects.some(({ kind }) => kind === 'announce') ? [100 + i] : []))
    expect(at.slice(0, 5)).toEqual([100, 101, 102, 150, 200])
    expect(at, 'announcement batches in 3 s').toHaveLength(2 + 60)
    const answers = sent.filter((effects) => effects.some(({ kind }) => kind === 'sendAdvertisement'))
    expect(answers, 'advertisements in 3 s, 10 a second and source').toHaveLength(60)
  })

  test('after 150 ms of silence an Active may send three batches together again', () => {
    const loser = (from: number) => [from, from + 0.4, from + 0.8, from + 1.2].map((at) => [ABOVE, at] as const)
    const announced = hearing(active(), [...loser(100), ...loser(251)]).sent.map((effects) =>
      effects.some(({ kind }) => kind === 'announce'),
    )
    expect(announced).toEqual([true, true, true, false, true, true, true, false])
  })

  test('an IPv6 Active announces again after a packet beyond the credit when the rate limit allows it', () => {
    const knows = { ...told, family: 'ipv6' as const }
    const at = [100, 100.4, 100.8, 101.2, 102, 149.9, 150.5].map((each) => [ABOVE, each] as const)
    const said = hearing(active(), at, knows).sent.map((effects) =>
      effects.flatMap((effect) => (effect.kind === 'announce' ? [Math.round((effect.after ?? 0) * 10) / 10] : [])),
    )
    expect(said, 'ms until each is announced over; none: one that is to come follows it').toEqual([
      ...[[0], [0], [0]],
      ...[[48.8], [], []],
      [49.5],
    ])
    const flood = Array.from({ length: 3000 }, (_, i) => [ABOVE, 100 + i] as const)
    const batches = hearing(active(), flood, knows)
      .sent.flat()
      .filter(({ kind }) => kind === 'announce')
    expect(batches, 'announcement batches in 3 s').toHaveLength(3 + 60)
  })

  describe('an Active that receives priority 0 from another router (705)', () => {
    const zero = (state: State, source: typeof ABOVE, at: number, knows = told) =>
      step(state, heard(source, 0, at), knows, ms(at))
    const reply: Effect = { kind: 'sendAdvertisement', priority: 128, reason: 'priorityZeroHeard' }

    test('an Active answers priority 0 immediately, and a repeated one at the end of the spacing', () => {
      const [first, effects] = zero(active(), ABOVE, 100)
      expect([first, effects]).toEqual([
        active({
          adverAt: ms(1100),
          asserted: [{ to: 'release', source: ABOVE, at: ms(100) }],
          announcedOverAt: ms(100),
          announcementsPaidAt: ms(150),
        }),
        [reply, announce],
      ])
      // After the second priority 0 the Active announces as after the first, because the sender answers until it has
      // received our announcement.
      const [second, more] = zero(first, ABOVE, 102)
      const over = { announcedOverAt: ms(102), announcementsPaidAt: ms(200) }
      expect([second, more]).toEqual([{ ...first, ...over, adverAt: ms(200) }, [announce]])
      expect(zero(second, ABOVE, 102.5)[0], 'a third one does not put the answer off').toMatchObject({ adverAt: 200 })
      const [third, sent] = step(second, tick, told, ms(200))
      expect(sent).toEqual([{ kind: 'sendAdvertisement', priority: 128, reason: 'periodic' }])
      expect(third).toEqual({ ...second, adverAt: ms(1200) })
    })

    test('an Active answers priority 0 of a router that it has just answered as a competing Active', () => {
      const { state } = hearing(active(), [[ABOVE, 100]])
      expect(zero(state, ABOVE, 101)[1]).toEqual([reply, announce])
    })

    test('an Active answers the priority 0 of each source, and does not delay an earlier periodic advertisement', () => {
      const [first] = zero(active(), ABOVE, 100)
      expect(zero(first, OTHER, 101)[1]).toEqual([reply, announce])
      const soon = { ...first, adverAt: ms(130) }
      expect(zero(soon, ABOVE, 102)[0]).toMatchObject({ adverAt: 130 })
    })

    test('3000 forged priority 0 packets in 3 s cause three batches together, then one in 50 ms', () => {
      const announcedAt = (sourceOf: (i: number) => typeof ABOVE, knows = told) => {
        const at: number[] = []
        let state: State = active()
        for (let i = 0; i < 3000; i++) {
          const [next, effects] = zero(state, sourceOf(i), 100 + i, knows)
          state = next
          for (const effect of effects) if (effect.kind === 'announce') at.push(100 + i)
        }
        return at
      }
      const one = announcedAt(() => ABOVE)
      expect(one.slice(0, 5)).toEqual([100, 101, 102, 150, 200])
      expect(one, 'announcement batches in 3 s').toHaveLength(2 + 60)
      expect(announcedAt((i) => address(`192.0.${i >> 8}.${i & 255}`))).toEqual(one)
      expect(
        announcedAt(() => ABOVE, { ...told, family: 'ipv6' }),
        'IPv6',
      ).toHaveLength(3 + 60)
      expect(
        announcedAt(() => ABOVE, parameters('rfc9568')),
        'by the letter',
      ).toEqual([])
    })

    test('priority 0 and lower advertisements share one limit of announcements', () => {
      let state: State = active()
      let batches = 0
      for (let i = 0; i < 3000; i++) {
        const [next, effects] = step(state, heard(ABOVE, i % 2 === 0 ? 0 : 100, 100 + i), told, ms(100 + i))
        state = next
        batches += effects.filter(({ kind }) => kind === 'announce').length
      }
      expect(batches, 'announcement batches in 3 s').toBe(2 + 60)
    })

    test('priority 0 causes no announcement if announceOnRival is off', () => {
      const quiet = parameters('holdfast', { knobs: { announceOnRival: false } })
      expect(zero(active(), ABOVE, 100, quiet)[1]).toEqual([reply])
    })

    test('3000 packets in 3 s cause at most 20 advertisements a second with holdfast, and one each with rfc9568', () => {
      const count = (knows: typeof told) => {
        let state: State = active()
        let sent = 0
        for (let at = 100; at < 3100; at++) {
          for (const event of [heard(ABOVE, 0, at), tick]) {
            const [next, effects] = step(state, event, knows, ms(at))
            state = next
            sent += effects.filter(({ kind }) => kind === 'sendAdvertisement').length
          }
        }
        return sent
      }
      expect(count(told)).toBeLessThanOrEqual(60)
      expect(count(parameters('rfc9568'))).toBe(3000)
    })
  })

  describe('an Active that receives lower advertisements from many invented addresses', () => {
    const invented = (count: number, from: number, every: number) =>
      Array.from({ length: count }, (_, i) => [address(`192.0.${i >> 8}.${i & 255}`), from + i * every] as const)
    const answers = (sent: readonly Effect[][]) =>
      sent.flatMap((effects, i) => (effects.some(({ kind }) => kind === 'sendAdvertisement') ? [i] : []))

    test('an Active answers 16 sources in 100 ms, and the others together after that', () => {
      const { sent, state } = hearing(active(), invented(40, 100, 1))
      expect(answers(sent), 'who was answered at once').toEqual(Array.from({ length: 16 }, (_, i) => i))
      if (state.name !== 'Active') throw new Error(`Expected Active, found ${state.name}`)
      expect(state.asserted).toHaveLength(16)
      expect(state.adverAt, 'when the first place is free').toBe(200)
      const [next, effects] = step(state, tick, told, ms(200))
      expect(effects).toEqual([{ kind: 'sendAdvertisement', priority: 128, reason: 'periodic' }])
      expect(next).toMatchObject({ adverAt: 1200 })
    })

    test('10 000 packets in a second cause at most 16 answers in 100 ms, and use no memory', () => {
      const { sent, state } = hearing(active(), invented(10_000, 100, 0.1))
      expect(answers(sent).length).toBeLessThanOrEqual(16 * 10)
      if (state.name !== 'Active') throw new Error(`Expected Active, found ${state.name}`)
      expect(state.asserted.length).toBeLessThanOrEqual(16)
    })

    test('an Active sends no delayed answer to a router that it has answered', () => {
      const { state } = hearing(active(), [...invented(16, 100, 1), [address('192.0.0.15'), 116]])
      expect(state).toMatchObject({ adverAt: active().adverAt })
    })

    test('an Active answers a router that becomes Active again within the spacing at the end of the spacing', () => {
      const { sent, state } = hearing(active(), [
        [ABOVE, 100],
        [ABOVE, 199],
      ])
      expect(sent).toEqual([[answer, announce], [announce]])
      expect(state).toMatchObject({ adverAt: 200 })
    })

    test('an Active delays the answer to a repeated priority 0 in the same way', () => {
      let state: State = active()
      let sent = 0
      for (const [source, at] of invented(1_000, 100, 0.1)) {
        const [next, effects] = step(state, heard(source, 0, at), told, ms(at))
        sent += effects.filter(({ kind }) => kind === 'sendAdvertisement').length
        state = next
      }
      expect(sent).toBe(16)
      expect(state).toMatchObject({ adverAt: 200 })
    })

    test('with profile rfc9568 an Active answers every lower advertisement', () => {
      const { sent } = hearing(active(), invented(40, 100, 1), parameters('rfc9568'))
      expect(answers(sent)).toHaveLength(40)
    })
  })

  test('announceOnRival, assertOnLower and assertSpacing each work alone', () => {
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
    // RFC 3768 does not require an answer, so version 2 with profile rfc9568 sends none; holdfast does.
    expect(hearing(active(), [[ABOVE, 100]], parameters('rfc9568', { version: 2 })).sent).toEqual([[]])
    expect(hearing(active(), [[ABOVE, 100]], parameters('holdfast', { version: 2 })).sent).toEqual([[answer, announce]])
  })
})
