/** The administrator's wish from the object to the conditions, with a kube-api that the test lets answer or not. */
import { afterEach, expect, test } from 'vitest'
import { IntentDuty } from '../../../src/agent/intent-duty.ts'
import { findingsOf } from '../../../src/kubernetes/finding.ts'
import type { Intent } from '../../../src/kubernetes/intent.ts'
import { type Address, address } from '../../../src/wire/address.ts'
import { eventually, sleep } from '../../support/wait.ts'

const [VIP, INGRESS, LB] = [address('10.0.0.200'), address('10.0.0.201'), address('10.0.0.9')]
const SOON = { within: 5_000, every: 5 }
let duty: IntentDuty | undefined
afterEach(() => duty?.end())

function follow(answer: (address: Address) => string | undefined) {
  const changes: Intent[] = []
  const asked: Address[] = []
  const made = new IntentDuty({
    ...{ apiVips: [VIP], ingressVips: [INGRESS], onIntent: (intent) => changes.push(intent), askEveryMs: 10 },
    ask: async (one) => {
      asked.push(one)
      return answer(one)
    },
  })
  duty = made
  const says = (spec: unknown) => made.news({ kind: 'object', value: { metadata: { name: 'cluster' }, spec } })
  const conditions = () =>
    findingsOf([], made.circumstances({ verdict: 'answers' })).map(
      ({ message, reason, status, type }) => `${type}=${status} ${reason}: ${message}`,
    )
  return { asked, changes, conditions, made, says }
}

test('unreachable: asked, and nothing changes but a condition; when it answers, the API moves; keepalived’s part is the same', async () => {
  let why: string | undefined = 'EHOSTUNREACH'
  const { asked, changes, conditions, made, says } = follow(() => why)
  says({ dns: { apiintIpAddress: LB } })
  const told = () => conditions()[1]
  const wrong = `Degraded=True LoadBalancerRefused: kube-api does not answer at ${LB}: EHOSTUNREACH; the API stays at the API's own address`
  await eventually('the condition to say why', () => told() === wrong, conditions, SOON)
  await sleep(100)
  expect(made.balancer.at).toBeUndefined()
  expect(new Set(asked)).toEqual(new Set([LB]))
  why = undefined
  await eventually(
    'it to be in force',
    () => made.balancer.at === LB,
    () => made.balancer,
    SOON,
  )
  expect(conditions()[1]).toMatch(/^Degraded=False/)
  expect(conditions()[2]).toBe(
    `Progressing=True LoadBalancerSwitch: the API is at ${LB}; the API's own address has to answer for another grace period; not managed by holdfast: dns.apiintIpAddress (HAProxy, CoreDNS)`,
  )
  // What concerns the engine has not changed.
  expect(new Set(changes.map(({ ingressHa }) => ingressHa))).toEqual(new Set(['Enabled']))
  says({})
  expect(made.balancer).toMatchObject({ at: LB, phase: { kind: 'pending', to: undefined } })
  await eventually(
    'it to be back',
    () => made.balancer.at === undefined,
    () => made.balancer,
    SOON,
  )
  expect(asked.at(-1)).toBe(VIP)
})

test('a node, an address of ingress and garbage are refused without a question', async () => {
  const { asked, conditions, made, says } = follow(() => undefined)
  made.nodesAre([address('10.0.0.11')])
  for (const wish of ['10.0.0.11', INGRESS, 'lb.example.com']) {
    says({ dns: { apiintIpAddress: wish } })
    expect(conditions()[1]).toContain(`LoadBalancerRefused: dns.apiintIpAddress "${wish}" is refused`)
  }
  says({ ingressHa: 'off' })
  expect(conditions()[1]).toMatch(/Degraded=True SpecInvalid: spec.ingressHa: .*; the last good spec stays in force/)
  made.news({ kind: 'failed', why: '403: Forbidden', isNoWish: true })
  expect(conditions()[1]).toMatch(/^Degraded=True SpecInvalid: .*; 403: Forbidden; the last good spec stays in force/)
  says({})
  made.news({ kind: 'failed', why: '403: Forbidden', isNoWish: true })
  expect(conditions()[1]).toBe('Degraded=True SpecUnreadable: 403: Forbidden; the last good spec stays in force')
  made.news({ kind: 'readable' })
  expect(conditions()[1]).toMatch(/^Degraded=False/)
  await sleep(50)
  expect(asked).toEqual([])
  expect(made).toMatchObject({ refused: 3, intent: { ingressHa: 'Enabled' } })
})

test('nothing is told before an answer; the first that shows no object means the defaults, a later one changes nothing', () => {
  const { changes, conditions, made, says } = follow(() => undefined)
  made.news({ kind: 'readable' })
  made.news({ kind: 'failed', why: 'no JSON', isNoWish: false })
  says({ ingressHa: 'off' })
  expect(changes).toEqual([])
  expect(conditions()[1]).toContain('; no good spec is known: ingress stays as the engine has it')
  made.news({ kind: 'failed', why: '404: Not Found', isNoWish: true })
  says({ ingressHa: 'Disabled' })
  made.news({ kind: 'failed', why: '403: Forbidden', isNoWish: true })
  made.news({ kind: 'none' })
  expect(changes.map(({ ingressHa }) => ingressHa)).toEqual(['Enabled', 'Disabled', 'Disabled', 'Enabled'])
})
