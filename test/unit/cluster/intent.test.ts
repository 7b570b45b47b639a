/** The spec of HostedNetServices: its meaning, invalid values, and the tables of O4, O5, O6, O7 and O9. */
import { describe, expect, test } from 'vitest'
import { FIRST_BALANCER, stepBalancer, toAsk } from '../../../src/cluster/decisions/status/balancer.ts'
import { newsOf } from '../../../src/cluster/decisions/status/balancer-news.ts'
import {
  DEFAULT_INTENT,
  firstIntent,
  notManaged,
  readIntent,
  stepIntent,
} from '../../../src/cluster/decisions/status/intent.ts'
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
  ])('%s is named and counted, and the last valid spec stays in force', (_, object, path) => {
    const good = stepIntent(firstIntent(undefined), { kind: 'object', value: specOf({ ingressHa: 'Disabled' }) })
    const bad = stepIntent(good, { kind: 'object', value: object })
    expect(bad).toMatchObject({ intent: { ingressHa: 'Disabled' }, refused: 1 })
    expect(bad.problems[0]).toMatch(new RegExp(`^${path}:`))
    // The watch repeats it.
    expect(stepIntent(bad, { kind: 'object', value: object }).refused).toBe(1)
    expect(stepIntent(bad, { kind: 'object', value: specOf({}) })).toMatchObject({
      intent: DEFAULT_INTENT,
      problems: [],
    })
  })

  test('a 403 or an invalid answer changes nothing; a deleted object means the defaults', () => {
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

  test('without a report of corednsmonitor, a wish about CoreDNS is named', () => {
    expect(notManaged(DEFAULT_INTENT)).toBeUndefined()
    expect(notManaged({ ...DEFAULT_INTENT, nodesResolution: 'Disabled', apiintIpAddress: '192.168.111.9' })).toBe(
      'no holdfast corednsmonitor of this node reports: dns.nodesResolution=Disabled (CoreDNS)',
    )
  })

  test.each([
    ['no Corefile of this run', undefined, {}, undefined],
    ['no Corefile of this run, and a toggle', undefined, { appsResolution: 'Disabled' }, 'dns.appsResolution=Disabled'],
    [
      'the names of the nodes',
      { nodes: true, apps: true },
      { nodesResolution: 'Disabled' },
      'dns.nodesResolution=Disabled',
    ],
    ['no names of the nodes', { nodes: false, apps: true }, { nodesResolution: 'Disabled' }, undefined],
    ['no names of the nodes any more', { nodes: false, apps: true }, {}, 'dns.nodesResolution=Enabled'],
  ] as const)(
    'with a report of CoreDNS that has %s, a toggle that is in force is not named',
    (_, wishes, spec, missing) => {
      const report = { wishes: wishes && { ...wishes, apiInt: undefined }, kept: undefined }
      const text = missing === undefined ? undefined : `not yet in the Corefile: ${missing}`
      expect(notManaged({ ...DEFAULT_INTENT, ...spec }, report)).toBe(text)
    },
  )
})

describe('O5, O6, O7: where the API is to be reached', () => {
  const LB = address('192.168.111.9')
  const wish = (apiintIpAddress: string | undefined) =>
    ({ kind: 'wished', wish: { apiintIpAddress, apiVips: VIPS, taken: [address('192.168.111.20')] } }) as const
  const answers = (place = LB) => ({ kind: 'asked', place, failed: undefined }) as const
  const fails = (failed: string) => ({ kind: 'asked', place: LB, failed }) as const
  const played = (events: readonly Parameters<typeof stepBalancer>[1][], from = FIRST_BALANCER) =>
    events.reduce((state, event) => stepBalancer(state, event), from)
  const STAYS = 'HAProxy stays on the nodes, because the cluster has no operator'
  const UNSWITCHED = `no holdfast corednsmonitor of this node reports where api-int leads; ${STAYS}`
  const ANSWERS = {
    progressing: undefined,
    wrong: undefined,
    inForce: undefined,
    notManaged: `kube-api answers at ${LB} (3 times in a row); ${UNSWITCHED}`,
  }

  test.each([
    ['leads', LB, 'CoreDNS leads api-int there'],
    ['does not lead', undefined, 'CoreDNS does not lead api-int there yet'],
  ])('without an operator the texts say that CoreDNS %s api-int to the address', (_, apiInt, text) => {
    const dns = { wishes: { apps: true, nodes: true, apiInt }, kept: undefined }
    const asking = played([wish('192.168.111.9')])
    expect(newsOf(asking, { dns }).progressing).toMatch(new RegExp(`; ${text}; ${STAYS}$`))
    const state = played([answers(), answers(), answers()], asking)
    expect(newsOf(state, { dns }).notManaged).toBe(`kube-api answers at ${LB} (3 times in a row); ${text}; ${STAYS}`)
  })

  test.each([
    ['Checking', undefined, 'Running', `(Checking): api-int leads to the virtual address, HAProxy runs`],
    ['SwitchingNames', LB, 'Running', `(SwitchingNames): api-int leads to ${LB}, HAProxy runs`],
    ['StoppingHAProxy', LB, 'Stopped', `(StoppingHAProxy): api-int leads to ${LB}, HAProxy is stopped`],
    ['ReturningNames', undefined, 'Running', `(ReturningNames): api-int leads to the virtual address, HAProxy runs`],
  ] as const)(
    'with an operator in phase %s the agent says that a switch is in progress',
    (name, apiInt, haproxy, text) => {
      const phase = { phase: name, since: '2026-11-28T00:00:00Z', address: LB, apiInt, haproxy }
      for (const state of [FIRST_BALANCER, played([wish('192.168.111.9'), answers(), answers(), answers()])])
        expect(newsOf(state, { phase })).toEqual({
          ...{ progressing: `the operator switches the load balancer ${text}`, wrong: undefined },
          ...{ notManaged: undefined, inForce: undefined },
        })
    },
  )

  test('with an operator in a last phase the agent names the load balancer in force, and a wish that waits', () => {
    const last = { since: '2026-11-28T00:00:00Z', address: undefined }
    const own = { ...last, phase: 'SelfHosted', apiInt: undefined, haproxy: 'Running' } as const
    const external = { ...last, phase: 'External', apiInt: LB, haproxy: 'Stopped' } as const
    const there = played([wish('192.168.111.9'), answers(), answers(), answers()])
    const nothing = { progressing: undefined, wrong: undefined, notManaged: undefined, inForce: undefined }
    expect(newsOf(FIRST_BALANCER, { phase: own })).toEqual(nothing)
    const inForce = `the load balancer of the API is at ${LB}`
    expect(newsOf(there, { phase: external })).toEqual({ ...nothing, inForce })
    const waits = 'the operator has not begun to switch the load balancer to'
    expect(newsOf(there, { phase: own })).toEqual({ ...nothing, notManaged: `${waits} ${LB}` })
    expect(newsOf(FIRST_BALANCER, { phase: external })).toEqual({
      ...{ ...nothing, inForce, notManaged: `${waits} the virtual address` },
    })
  })

  test.each([
    ['left out', undefined],
    ['the API address', '192.168.111.5'],
    ['its other family', 'fd2e:6f44:5dd8::5'],
    ['the same address in other words', 'FD2E:6F44:5DD8:0::5'],
  ])('with apiintIpAddress %s there is no request and no text', (_, wished) => {
    const state = played([wish('192.168.111.9'), answers(), wish(wished)])
    expect(state).toEqual({ kind: 'own' })
    expect(toAsk(state)).toBeUndefined()
    expect(Object.values(newsOf(state)).filter((text) => text !== undefined)).toEqual([])
  })

  test.each([
    ['api.example.com', 'expected an IP address'],
    ['192.168.111.9/24', 'expected an IP address'],
    ['192.168.111.20', 'it is the address of a node or of ingress'],
    ['127.0.0.1', 'a load balancer cannot have this address'],
    ['0.0.0.0', 'a load balancer cannot have this address'],
    ['224.0.0.18', 'a load balancer cannot have this address'],
    ['fe80::1', 'a load balancer cannot have this address'],
    ['::1', 'a load balancer cannot have this address'],
  ])('%s is refused without a request', (text, why) => {
    const state = played([wish(text)])
    expect(state).toEqual({ kind: 'refused', wished: text, why })
    expect(toAsk(state)).toBeUndefined()
    const wrong = `dns.apiintIpAddress "${text}" is refused: ${why}`
    expect(newsOf(state)).toEqual({ progressing: undefined, notManaged: undefined, inForce: undefined, wrong })
  })

  test('a family that the API does not have is refused', () => {
    const event = {
      kind: 'wished',
      wish: { apiintIpAddress: 'fd00::9', apiVips: VIPS.slice(0, 1), taken: [] },
    } as const
    expect(stepBalancer(FIRST_BALANCER, event)).toMatchObject({
      kind: 'refused',
      why: 'it is ipv6, but the addresses of the API are ipv4',
    })
  })

  test('kube-api must answer three times in a row, and the requests go on', () => {
    const asking = played([wish('192.168.111.9'), answers(), answers(), fails('ECONNREFUSED'), answers(), answers()])
    expect(asking).toEqual({ kind: 'asking', place: LB, answers: 2, failed: 'ECONNREFUSED' })
    expect(toAsk(asking)).toBe(LB)
    // The texts do not change with each answer of a load balancer with one dead server.
    expect(newsOf(asking)).toEqual({
      progressing: `checking kube-api at ${LB} until it has answered 3 times in a row; ${UNSWITCHED}`,
      ...{ wrong: `kube-api does not answer at ${LB}: ECONNREFUSED`, notManaged: undefined, inForce: undefined },
    })
    expect(newsOf(played([fails('ECONNREFUSED')], asking))).toEqual(newsOf(asking))
    const there = played([answers(), wish('192.168.111.9')], asking)
    expect(newsOf(there)).toEqual(ANSWERS)
    expect(toAsk(there)).toBe(LB)
    const once = played([fails('ETIMEDOUT'), fails('ETIMEDOUT'), answers(), fails('ETIMEDOUT')], there)
    expect(newsOf(once)).toEqual(ANSWERS)
    const gone = played([fails('ETIMEDOUT'), fails('ETIMEDOUT')], once)
    expect(gone).toEqual({ kind: 'asking', place: LB, answers: 0, failed: 'ETIMEDOUT' })
  })

  test('the condition says why kube-api does not answer; an answer to an earlier wish does not count', () => {
    const state = played([wish('192.168.111.9'), fails('EHOSTUNREACH')])
    expect(newsOf(state).wrong).toBe('kube-api does not answer at 192.168.111.9: EHOSTUNREACH')
    const next = played([wish('192.168.111.10')], state)
    expect(played([answers(), answers(), answers()], next)).toBe(next)
  })
})
