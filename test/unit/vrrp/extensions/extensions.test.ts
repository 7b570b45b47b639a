/**
 * How the extensions become one machine: which are on in which profile, and which cells several of them wrap, in which
 * order. Without an extension nothing of it remains. The tests beside this one cover each extension.
 */
import { describe, expect, test } from 'vitest'
import { EVENT_KINDS } from '../../../../src/vrrp/event.ts'
import { always, compose, wrappersOf } from '../../../../src/vrrp/extensions/extension.ts'
import { EXTENSIONS, extendedStep, extensionsOf } from '../../../../src/vrrp/extensions/index.ts'
import { step } from '../../../../src/vrrp/fsm.ts'
import { STATE_NAMES } from '../../../../src/vrrp/state.ts'
import { ABOVE, active, backup, heard, leaving, ms, parameters, shutdown, tick, VIP } from '../fsm-fixture.ts'

/** The extensions of this list handle facts that the RFC does not have, so no profile turns them off. */
const IN_EVERY_PROFILE = ['faults', 'lost-packets', 'yield', 'returning', 'priority-change', 'reload']

const namesOf = (...told: Parameters<typeof parameters>) => extensionsOf(parameters(...told)).map(({ name }) => name)

describe('which extensions are on', () => {
  test('profile rfc9568 turns on no extension that has an option', () => {
    expect(namesOf('rfc9568')).toEqual(IN_EVERY_PROFILE)
    expect(namesOf('rfc9568', { version: 2 })).toEqual(IN_EVERY_PROFILE)
    expect(parameters('rfc9568').extensions).toEqual({})
    expect(EXTENSIONS.filter(({ isOn }) => isOn === always).map(({ name }) => name)).toEqual(IN_EVERY_PROFILE)
  })

  test('profiles holdfast and keepalived turn on the extensions of the table in docs/profiles.md', () => {
    const safe = ['release-of-active', 'last-advertisement', 'fast-preempt', 'competing-active', 'silent-active']
    const more = ['grace-period', 'leaving', 'advertise-change']
    expect(new Set(namesOf('holdfast'))).toEqual(new Set([...IN_EVERY_PROFILE, ...safe, ...more]))
    expect(new Set(namesOf('keepalived'))).toEqual(new Set([...namesOf('holdfast'), 'succession']))
  })

  test.each([
    ['phase', { phase: 0.5 }],
    ['margin', { margin: 1 }],
    ['preempt-delay', { preemptDelay: ms(1000) }],
    ['fast-preempt', { assured: 100 }],
    ['stagger', { peers: [{ address: ABOVE }], extensions: { stagger: true } }],
  ])('option %s turns its extension on', (name, option) => {
    expect(namesOf('rfc9568', option)).toContain(name)
    expect(namesOf('rfc9568')).not.toContain(name)
  })
})

describe('the composition of extensions', () => {
  test('without extensions the machine is the state machine of the RFC itself', () => {
    expect(compose([])).toBe(step)
  })

  test('the first extension is the outermost, and an event that it drops does not reach the others', () => {
    const calls: string[] = []
    const note = (name: string, goesOn: boolean) => ({
      name,
      isOn: always,
      wraps: {
        Active: {
          shutdown: (...[inner, state, event, told, now]: Parameters<Wrapped>) => {
            calls.push(name)
            return goesOn ? inner(state, event, told, now) : ([state, []] as const)
          },
        },
      },
    })
    const composed = compose([note('a', true), note('b', false), note('c', true)])
    expect(composed(active(), shutdown, parameters('rfc9568'), ms(0))).toEqual([active(), []])
    expect(calls).toEqual(['a', 'b'])
  })

  test('with profile rfc9568 only cells for facts that the RFC does not have are wrapped', () => {
    const on = extensionsOf(parameters('rfc9568'))
    const cells = (['Initialize', 'Backup', 'Active'] as const).flatMap((name) =>
      (['startup', 'shutdown', 'advertisementReceived', 'deadlineReached'] as const)
        .map((kind) => [`${name} ${kind}`, wrappersOf(on, name, kind)] as const)
        .filter(([, wrappers]) => wrappers.length > 0),
    )
    expect(cells).toEqual([
      // The router has a fault.
      ['Initialize startup', ['faults']],
      // Packets were lost.
      ['Backup deadlineReached', ['lost-packets']],
    ])
  })

  /**
   * Outermost first, and why in this order:
   * - grace-period is outside of all, because a Backup that still answers is a Backup in everything else;
   * - lost-packets before fast-preempt: a deadline that is put off does not ask what the checks have answered;
   * - release-of-active before stagger: it compares two deadlines that both have their stagger;
   * - stagger before margin and preempt-delay, which follow as if Preempt_Mode were False: that is no reason for no stagger;
   * - margin before preempt-delay: within the margin no delay runs;
   * - stagger before competing-active: it staggers a Backup that has just been entered, and nothing of an Active;
   * - succession before leaving, and leaving before yield: the inner one answers where the outer one does not.
   * Faults, phase, last-advertisement, and fast-preempt beside the others of (470) may stand in any order.
   */
  test('only the listed cells have two wrappers, in the listed order', () => {
    const cells = STATE_NAMES.flatMap((name) =>
      EVENT_KINDS.map((kind) => [`${name} ${kind}`, wrappersOf(EXTENSIONS, name, kind)] as const).filter(
        ([, wrappers]) => wrappers.length > 1,
      ),
    )
    expect(Object.fromEntries(cells)).toEqual({
      'Initialize startup': ['faults', 'phase', 'stagger'],
      'Backup advertisementReceived': [
        'grace-period',
        'release-of-active',
        'stagger',
        'margin',
        'preempt-delay',
        'fast-preempt',
      ],
      'Backup deadlineReached': ['grace-period', 'lost-packets', 'phase', 'fast-preempt'],
      'Backup checksAnswered': ['grace-period', 'fast-preempt'],
      'Backup priorityChanged': ['grace-period', 'priority-change'],
      'Backup parametersChanged': ['grace-period', 'reload'],
      'Backup faultRaised': ['grace-period', 'faults'],
      'Active advertisementReceived': ['grace-period', 'last-advertisement', 'stagger', 'competing-active'],
      'Active yield': ['leaving', 'yield'],
      'Leaving advertisementReceived': ['succession', 'leaving'],
      'Leaving deadlineReached': ['succession', 'leaving'],
    })
  })
})

type Wrapped = NonNullable<NonNullable<(typeof EXTENSIONS)[number]['wraps']['Active']>['shutdown']>

/** A reload changes the parameters of a state, and may turn off an extension that is at work. */
describe('an extension that a reload turns off finishes what it has begun', () => {
  const off = parameters('rfc9568')

  test('a router in Leaving stays in Leaving until its end after leaving is turned off', () => {
    const [next, effects] = extendedStep(leaving({ reason: 'shutdown' }), tick, off, ms(2000))
    expect(next.name).toBe('Initialize')
    expect(effects.map(({ kind }) => kind)).toEqual(['removeAddresses', 'transition'])
  })

  test('a grace period removes its addresses after it is turned off', () => {
    const losing = backup({ activeDownAt: ms(9000), stillAnswered: [{ address: VIP, offAt: ms(20) }] })
    const [next, effects] = extendedStep(losing, tick, off, ms(20))
    expect(next).toEqual(backup({ activeDownAt: ms(9000) }))
    expect(effects).toEqual([{ kind: 'removeAddresses', addresses: [VIP] }])
  })

  test('a fast preemption without an answer of the checks is withdrawn at its deadline after it is turned off', () => {
    const pending = backup({
      active: { source: ABOVE, priority: 50, heardAt: ms(0) },
      activeDownAt: ms(500),
      regularDownAt: ms(3500),
      downReason: 'activeDemoted',
      asksChecks: true,
    })
    const [next, effects] = extendedStep(pending, tick, off, ms(500))
    expect(next).toMatchObject({ name: 'Backup', activeDownAt: 3500, regularDownAt: undefined })
    expect(effects).toEqual([{ kind: 'moveSuppressed', reason: 'checksUnanswered', source: ABOVE, at: 500 }])
  })

  test('remembered answers are forgotten with the first answer of the RFC after the extension is turned off', () => {
    const answered = active({ asserted: [{ to: 'competing', source: ABOVE, at: ms(0) }] })
    expect(extendedStep(answered, heard(ABOVE, 0, 10), off, ms(10))[0]).toMatchObject({ asserted: [] })
  })
})
