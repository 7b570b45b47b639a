/** The spec of HostedNetServices: what it means, what it may not, and the tables of O4, O5, O6, O7 and O9. */
import { describe, expect, test } from 'vitest'
import { type Balancer, FIRST_BALANCER, GRACE, newsOf, stepBalancer, toAsk } from '../../../src/kubernetes/balancer.ts'
import {
  balancesItself,
  DEFAULT_INTENT,
  firstIntent,
  notManaged,
  readIntent,
  stepIntent,
} from '../../../src/kubernetes/intent.ts'
import { address } from '../../../src/wire/address.ts'

const VIPS = [address('192.168.111.5'), address('fd2e:6f44:5dd8::5')]
const specOf = (spec: unknown) => ({ metadata: { name: 'cluster' }, spec })

describe('the spec', () => {
  test.each([
    ['no spec', {}, DEFAULT_INTENT],
    ['an empty one', specOf({}), DEFAULT_INTENT],
    ['ingress off', specOf({ ingressHa: 'Disabled' }), { ...DEFAULT_INTENT, ingressHa: 'Disabled' }],
    ['names off', specOf({ dns: { nodesResolution: 'Disabled' } }), { ...DEFAULT_INTENT, nodesResolution: 'Disabled' }],
    ['fields of a later version', specOf({ dns: { other: 1 }, more: true }), DEFAULT_INTENT],
    [
      'an external load balancer',
      specOf({ dns: { apiintIpAddress: '192.168.111.9' } }),
      { ...DEFAULT_INTENT, apiintIpAddress: '192.168.111.9' },
    ],
  ])('%s', (_, object, intent) => {
    expect(readIntent(object)).toEqual(intent)
  })

  test.each([
    ['a word in small letters', specOf({ ingressHa: 'disabled' }), 'spec.ingressHa'],
    ['a number', specOf({ dns: { appsResolution: 1 } }), 'spec.dns.appsResolution'],
    ['an address that is a list', specOf({ dns: { apiintIpAddress: ['1.2.3.4'] } }), 'spec.dns.apiintIpAddress'],
    ['a text', specOf('Enabled'), 'spec'],
    ['no object', '<html>', 'object'],
    ['nothing', null, 'object'],
  ])('%s is named, counted, and the last one stays', (_, object, path) => {
    const good = stepIntent(firstIntent(undefined), { kind: 'object', value: specOf({ ingressHa: 'Disabled' }) })
    const bad = stepIntent(good, { kind: 'object', value: object })
    expect(bad).toMatchObject({ intent: { ingressHa: 'Disabled' }, refused: 1 })
    expect(bad.problems[0]).toMatch(new RegExp(`^${path}:`))
    // The watch says it again.
    expect(stepIntent(bad, { kind: 'object', value: object }).refused).toBe(1)
    expect(stepIntent(bad, { kind: 'object', value: specOf({}) })).toMatchObject({
      intent: DEFAULT_INTENT,
      problems: [],
    })
  })

  test('an API that answers 403 or garbage changes nothing; an object that is gone means the defaults', () => {
    const good = stepIntent(firstIntent(undefined), { kind: 'object', value: specOf({ ingressHa: 'Disabled' }) })
    const failed = stepIntent(good, { kind: 'failed', why: '403: Forbidden', isNoWish: true })
    expect(failed).toEqual({
      intent: good.intent,
      isKnown: true,
      problems: [],
      unreadable: '403: Forbidden',
      refused: 1,
    })
    expect(stepIntent(failed, { kind: 'readable' })).toEqual({ ...good, refused: 1 })
    const bad = stepIntent(failed, { kind: 'object', value: specOf({ ingressHa: 'off' }) })
    expect(bad).toMatchObject({ unreadable: undefined, refused: 2 })
    expect(bad.problems).toHaveLength(1)
    expect(stepIntent(failed, { kind: 'none' })).toMatchObject({ intent: DEFAULT_INTENT, problems: [] })
  })

  test.each([
    ['left out', undefined, true],
    ['the API address', '192.168.111.5', true],
    ['its other family', 'fd2e:6f44:5dd8::5', true],
    ['the same address in other words', 'FD2E:6F44:5DD8:0::5', true],
    ['another address', '192.168.111.9', false],
    ['no address', 'api.example', false],
  ])('O7: the load balancer of the cluster runs with apiintIpAddress %s', (_, wished, runs) => {
    expect(balancesItself(VIPS, wished)).toBe(runs)
  })

  test('what is wished of HAProxy and CoreDNS is said to be not managed', () => {
    expect(notManaged(DEFAULT_INTENT, VIPS)).toBeUndefined()
    expect(notManaged({ ...DEFAULT_INTENT, nodesResolution: 'Disabled', apiintIpAddress: '192.168.111.9' }, VIPS)).toBe(
      'not managed by holdfast: dns.nodesResolution=Disabled (CoreDNS), dns.apiintIpAddress (HAProxy, CoreDNS)',
    )
  })
})

describe('O5, O6: where the API is reached', () => {
  const LB = address('192.168.111.9')
  const wish = (apiintIpAddress: string | undefined) =>
    ({ kind: 'wished', wish: { apiintIpAddress, apiVips: VIPS, taken: [address('192.168.111.20')] } }) as const
  const answers = (place: Balancer['at'], failed?: string) => ({ kind: 'asked', place, failed }) as const
  const played = (events: readonly Parameters<typeof stepBalancer>[1][], from = FIRST_BALANCER) =>
    events.reduce((state, event, i) => stepBalancer(state, event, i * 1_000), from)

  test.each([
    ['api.example.com', 'it is no IP address'],
    ['192.168.111.9/24', 'it is no IP address'],
    ['192.168.111.20', 'it is a node, or an address of ingress'],
    ['127.0.0.1', 'no load balancer can have it'],
    ['0.0.0.0', 'no load balancer can have it'],
    ['224.0.0.18', 'no load balancer can have it'],
    ['fe80::1', 'no load balancer can have it'],
    ['::1', 'no load balancer can have it'],
  ])('%s is refused, nothing changes, and nobody is asked', (text, why) => {
    const state = played([wish(text)])
    expect(state).toEqual({ at: undefined, phase: { kind: 'refused', wished: text, why } })
    expect(toAsk(state)).toBeUndefined()
    expect(newsOf(state)).toMatchObject({ progressing: undefined, wrong: expect.stringContaining(why) })
  })

  test('a family that the API does not have is refused', () => {
    const event = {
      kind: 'wished',
      wish: { apiintIpAddress: 'fd00::9', apiVips: VIPS.slice(0, 1), taken: [] },
    } as const
    expect(stepBalancer(FIRST_BALANCER, event, 0).phase).toMatchObject({
      kind: 'refused',
      why: 'it is ipv6, and the API has ipv4',
    })
  })

  test('pending until kube-api has answered three times in a row, then draining, then done; and back', () => {
    const pending = played([
      wish('192.168.111.9'),
      answers(LB),
      answers(LB),
      answers(LB, 'ECONNREFUSED'),
      answers(LB),
      answers(LB),
    ])
    expect(pending).toMatchObject({ at: undefined, phase: { kind: 'pending', to: LB, answers: 2 } })
    expect(toAsk(pending)).toEqual({ place: LB })
    const draining = stepBalancer(pending, answers(LB), 6_000)
    expect(draining).toEqual({ at: LB, phase: { kind: 'draining', from: undefined, until: 6_000 + GRACE } })
    expect(stepBalancer(draining, wish('192.168.111.9'), 7_000)).toBe(draining)
    expect(stepBalancer(draining, { kind: 'time' }, 5_999 + GRACE)).toBe(draining)
    const done = stepBalancer(draining, { kind: 'time' }, 6_000 + GRACE)
    expect(done).toEqual({ at: LB, phase: { kind: 'done' } })
    const back = [wish('192.168.111.5'), answers(undefined), answers(undefined), answers(undefined)]
    expect(played(back.slice(0, 2), done)).toMatchObject({ at: LB, phase: { kind: 'pending', to: undefined } })
    const returned = played(back, done)
    expect(returned).toMatchObject({ at: undefined, phase: { kind: 'draining', from: LB } })
    expect(newsOf(returned).progressing).toContain('192.168.111.9 has to answer for another grace period')
    expect(played([{ kind: 'time' }], { ...returned, phase: { kind: 'draining', from: LB, until: 0 } }).phase).toEqual({
      kind: 'done',
    })
  })

  test('unreachable: no change, and the condition says why; a wish that is taken back ends it', () => {
    const state = played([wish('192.168.111.9'), answers(LB, 'EHOSTUNREACH')])
    expect(newsOf(state).wrong).toBe(
      "kube-api does not answer at 192.168.111.9: EHOSTUNREACH; the API stays at the API's own address",
    )
    expect(played([wish(undefined)], state)).toEqual(FIRST_BALANCER)
    // An answer to an earlier question.
    expect(played([answers(LB), answers(LB), answers(LB)], played([wish('192.168.111.10')], state)).at).toBeUndefined()
  })
})
