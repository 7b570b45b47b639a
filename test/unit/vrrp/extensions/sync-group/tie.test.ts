/** Two sync groups of equal priority: one member decides, and the rules if its network is cut. */
import { describe, expect, test } from 'vitest'
import type { Effect } from '../../../../../src/vrrp/effect.ts'
import type { Member } from '../../../../../src/vrrp/extensions/sync-group/member.ts'
import { stepGroup } from '../../../../../src/vrrp/extensions/sync-group/sync-group.ts'
import { ABOVE, active, BELOW, backup, DOWN, heard, ms, parameters, VIPS } from '../../fsm-fixture.ts'

const group = (states: readonly Member['state'][], profile: 'holdfast' | 'rfc9568' = 'holdfast'): Member[] =>
  states.map((state, i) => ({ name: `V${i + 1}`, state, parameters: parameters(profile, { vrid: 51 + i }) }))

const EQUAL = 128
const both = [active(), active()]
const refused: Effect = { kind: 'refused', reason: 'tie-of-group', source: ABOVE }
const said: Effect = { kind: 'sendAdvertisement', priority: EQUAL, reason: 'competingActiveHeard' }

describe('a tie that line (735) would lose', () => {
  test('a tie that the deciding member receives makes all members Backup', () => {
    const steps = stepGroup(group(both), 0, heard(ABOVE, EQUAL, 500), ms(500))
    expect(steps.map(({ state }) => state.name)).toEqual(['Backup', 'Backup'])
  })

  test('a tie that another member receives makes all members advertise', () => {
    expect(stepGroup(group(both), 1, heard(ABOVE, EQUAL, 500), ms(500))).toEqual([
      { state: active(), effects: [said] },
      { state: active({ tiedAt: ms(500) }), effects: [refused, said] },
    ])
  })

  test('within an interval a repeated tie causes no further advertisement', () => {
    const waiting = active({ tiedAt: ms(500) })
    expect(stepGroup(group([active(), waiting]), 1, heard(ABOVE, EQUAL, 1499), ms(1499))).toEqual([
      { state: active(), effects: [] },
      { state: waiting, effects: [refused] },
    ])
  })

  test('if the tie lasts longer than an interval, line (735) applies', () => {
    const steps = stepGroup(group([active(), active({ tiedAt: ms(500) })]), 1, heard(ABOVE, EQUAL, 1500), ms(1500))
    expect(steps.map(({ state }) => state.name)).toEqual(['Backup', 'Backup'])
    expect(steps[0]?.state).toEqual(
      backup({
        enteredAt: ms(1500),
        activeDownAt: ms(1500 + DOWN),
        holderChangedAt: ms(1500),
        stillAnswered: VIPS.map((vip) => ({ address: vip, offAt: ms(1520) })),
      }),
    )
  })

  test('a tie after a long time counts as a new one', () => {
    const steps = stepGroup(group([active(), active({ tiedAt: ms(500) })]), 1, heard(ABOVE, EQUAL, 4501), ms(4501))
    expect(steps[1]?.state).toEqual(active({ tiedAt: ms(4501) }))
  })

  test('the member with the lowest VRID decides, wherever the file lists it', () => {
    const turned = group(both).toReversed()
    expect(stepGroup(turned, 0, heard(ABOVE, EQUAL, 500), ms(500))[0]?.state.name, 'VRID 52').toBe('Active')
    expect(stepGroup(turned, 1, heard(ABOVE, EQUAL, 500), ms(500))[1]?.state.name, 'VRID 51').toBe('Backup')
  })

  test('IPv4 decides before IPv6', () => {
    const [first, second] = group(both)
    if (first === undefined || second === undefined) throw new Error('two members')
    const v6 = { ...first, parameters: { ...first.parameters, family: 'ipv6' as const } }
    const v4 = { ...second, parameters: { ...second.parameters, vrid: v6.parameters.vrid } }
    expect(stepGroup([v6, v4], 1, heard(ABOVE, EQUAL, 500), ms(500))[1]?.state.name).toBe('Backup')
    expect(stepGroup([v6, v4], 0, heard(ABOVE, EQUAL, 500), ms(500))[0]?.state.name).toBe('Active')
  })
})

describe('what is no tie', () => {
  test('a higher priority wins through any member', () => {
    const steps = stepGroup(group(both), 1, heard(ABOVE, EQUAL + 1, 500), ms(500))
    expect(steps.map(({ state }) => state.name)).toEqual(['Backup', 'Backup'])
  })

  test('a lower address loses like any competing Active', () => {
    const [, second] = stepGroup(group(both), 1, heard(BELOW, EQUAL, 500), ms(500))
    expect(second?.effects[0]).toEqual({ kind: 'refused', reason: 'lower-address', source: BELOW })
  })

  test('a router without a group becomes Backup by line (735)', () => {
    expect(stepGroup(group([active()]), 0, heard(ABOVE, EQUAL, 500), ms(500))[0]?.state.name).toBe('Backup')
  })

  test('with profile rfc9568 every member decides a tie for itself', () => {
    const steps = stepGroup(group(both, 'rfc9568'), 1, heard(ABOVE, EQUAL, 500), ms(500))
    expect(steps.map(({ state }) => state.name)).toEqual(['Backup', 'Backup'])
  })
})
