/** Another host that has an address and sends no advertisement: which of them are announced over, and how often. */
import { describe, expect, test } from 'vitest'
import type { Effect } from '../../../../src/vrrp/effect.ts'
import type { Event } from '../../../../src/vrrp/event.ts'
import { extendedStep as step } from '../../../../src/vrrp/extensions/index.ts'
import type { State } from '../../../../src/vrrp/state.ts'
import { centis } from '../../../../src/wire/units.ts'
import { ABOVE, active, answered, heard, ms, parameters, reached, VIP, yielded } from '../fsm-fixture.ts'

const told = parameters('holdfast')
const announce: Effect = { kind: 'announce', reason: 'competingActive' }
/** After an advertisement of a competing Active at 100. */
const heardAt100 = (knows = told) => step(active(), heard(ABOVE, 100, 100), knows, ms(100))[0]

describe('hosts that answer our question (docs/adr/0007)', () => {
  const asked = (at: number, state: State = active(), knows = told) => step(state, answered(VIP, at), knows, ms(at))

  test('an Active announces over a host that answers immediately, then once a second', () => {
    const [first, effects] = asked(100)
    expect([first, effects]).toEqual([active({ announcedOverAt: ms(100), announcementsPaidAt: ms(150) }), [announce]])
    expect(asked(1099, first)).toEqual([{ ...first, silentAnswerAt: ms(1099) }, []])
    expect(asked(1100, first)).toEqual([
      active({ announcedOverAt: ms(1100), announcementsPaidAt: ms(1150) }),
      [announce],
    ])
  })

  test('in IPv4 an answer causes no announcement while the batch for an advertisement has repeats', () => {
    const state = heardAt100()
    expect(asked(150, state)).toEqual([{ ...state, silentAnswerAt: ms(150) }, []])
  })

  test('in IPv6 an answer causes an announcement of its own, because repeats come a second later', () => {
    const knows = { ...told, family: 'ipv6' as const }
    const state = heardAt100(knows)
    const [first, effects] = asked(117, state, knows)
    expect(effects).toEqual([announce])
    const [goesOn, silent] = asked(217, first, knows)
    expect([goesOn, silent], 'as long as they answer').toEqual([{ ...first, silentAnswerAt: ms(217) }, []])
    expect(asked(1117, goesOn, knows)[1]).toEqual([announce])
  })

  test('an answer after an unanswered question counts as a new split that has healed', () => {
    const often = parameters('holdfast', { advertisementInterval: centis(10) })
    const [first] = asked(100, active(), often)
    const [goesOn, silent] = asked(200, first, often)
    expect([goesOn, silent]).toEqual([{ ...first, silentAnswerAt: ms(200) }, []])
    expect(asked(399, goesOn, often)).toEqual([{ ...goesOn, silentAnswerAt: ms(399) }, []])
    const again = active({ announcedOverAt: ms(400), announcementsPaidAt: ms(450) })
    expect(asked(400, goesOn, often)).toEqual([again, [announce]])
  })

  test('in IPv6 a host with the virtual MAC has an interval to advertise first (FRR, docs/adr/0007)', () => {
    const event: Event = { kind: 'addressAnswered', address: VIP, heardAt: ms(100), virtualMac: true }
    const [next, effects] = step(active(), event, { ...told, family: 'ipv6' }, ms(100))
    expect(effects).toEqual([{ ...announce, after: 1200 }])
    expect(step(active(), event, told, ms(100))).toEqual([{ ...next, silentAnswerAt: undefined }, [announce]])
  })

  test('an answer changes nothing for a router that does not ask', () => {
    expect(asked(100, active(), parameters('rfc9568'))).toEqual([active(), []])
    const silent = parameters('holdfast', { knobs: { probeRivals: false } })
    expect(asked(100, active(), silent)).toEqual([active(), []])
  })
})

describe('unicast peers that are reachable again and may have been Active (docs/adr/0022)', () => {
  const reach = (at: number, state: State = active(), knows = told) => step(state, reached, knows, ms(at))

  test('an Active announces over a peer that is reachable again, without an advertisement or a changed deadline', () => {
    const over = active({ announcedOverAt: ms(100), announcementsPaidAt: ms(150) })
    expect(reach(100)).toEqual([over, [announce]])
  })

  test('announcements over reachable peers have the limit of those over competing Actives', () => {
    let state: State = active()
    const at: number[] = []
    for (let now = 100; now < 3100; now++) {
      for (const _ of [1, 2]) {
        const [next, effects] = reach(now, state)
        state = next
        for (const effect of effects) {
          expect(effect).toEqual(announce)
          at.push(now)
        }
      }
    }
    expect(at.slice(0, 5)).toEqual([100, 101, 102, 150, 200])
    expect(at, 'announcement batches in 3 s').toHaveLength(2 + 60)
  })

  test('a reachable peer causes no announcement while the takeover announces itself', () => {
    expect(reach(49)).toEqual([active(), []])
    expect(reach(50)[1]).toEqual([announce])
  })

  test('a reachable peer changes nothing for a router that does not ask, or is in Leaving', () => {
    expect(reach(100, active(), parameters('rfc9568'))).toEqual([active(), []])
    expect(reach(100, active(), parameters('holdfast', { knobs: { probeRivals: false } }))).toEqual([active(), []])
    const [leaving] = step(active(), yielded, told, ms(100))
    expect(leaving.name).toBe('Leaving')
    expect(reach(101, leaving)).toEqual([leaving, []])
  })
})
