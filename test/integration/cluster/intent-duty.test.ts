/**
 * The administrator's wishes, from the object in the API to the published conditions. The test decides whether kube-api
 * answers.
 */
import { afterEach, expect, test } from 'vitest'
import type { DnsReport } from '../../../src/cluster/decisions/dns/dns-report.ts'
import { findingsOf } from '../../../src/cluster/decisions/status/finding.ts'
import type { Intent } from '../../../src/cluster/decisions/status/intent.ts'
import { IntentDuty } from '../../../src/cluster/runtime/status/intent-duty.ts'
import { eventually, sleep } from '../../../src/lab/wait.ts'
import { type Address, address } from '../../../src/wire/address.ts'

const [VIP, INGRESS, LB] = [address('10.0.0.200'), address('10.0.0.201'), address('10.0.0.9')]
const SOON = { within: 5_000, every: 5 }
let duty: IntentDuty | undefined
afterEach(() => duty?.end())

function follow(answer: (address: Address) => string | undefined, dns?: () => DnsReport | undefined) {
  const changes: Intent[] = []
  const asked: Address[] = []
  const made = new IntentDuty({
    ...{ apiVips: [VIP], ingressVips: [INGRESS], onIntent: (intent) => changes.push(intent), askEveryMs: 10, dns },
    ask: async (one) => {
      asked.push(one)
      return answer(one)
    },
  })
  duty = made
  const says = (spec: unknown) => made.news({ kind: 'object', value: { metadata: { name: 'cluster' }, spec } })
  const conditions = () =>
    findingsOf([], made.circumstances({ result: 'answers' })).map(
      ({ message, reason, status, type }) => `${type}=${status} ${reason}: ${message}`,
    )
  return { asked, changes, conditions, made, says }
}

test('the node that publishes asks kube-api at the wanted address, and says what is not switched', async () => {
  let why: string | undefined = 'EHOSTUNREACH'
  const { asked, changes, conditions, made, says } = follow(() => why)
  says({ dns: { apiintIpAddress: LB } })
  await sleep(50)
  expect(asked, 'by a node that does not publish').toEqual([])
  made.want(true)
  const told = (type: number, line: string) =>
    eventually(line, () => conditions()[type] === line, { sight: conditions, ...SOON })
  await told(1, `Degraded=True LoadBalancerRefused: kube-api does not answer at ${LB}: EHOSTUNREACH`)
  await sleep(100)
  expect(new Set(asked)).toEqual(new Set([LB]))
  why = undefined
  const rest =
    'no holdfast corednsmonitor of this node reports where api-int leads; HAProxy stays on the nodes, because the cluster has no operator'
  const note = `kube-api answers at ${LB} (3 times in a row); ${rest}`
  await told(2, `Progressing=False NotManaged: ${note}`)
  expect(conditions()[1]).toMatch(/^Degraded=False/)
  says({ dns: { apiintIpAddress: LB, nodesResolution: 'Disabled' } })
  expect(conditions()[2]).toBe(
    `Progressing=False NotManaged: ${note}; no holdfast corednsmonitor of this node reports: dns.nodesResolution=Disabled (CoreDNS)`,
  )
  // The wishes that the engine receives have not changed.
  expect(new Set(changes.map(({ ingressHa }) => ingressHa))).toEqual(new Set(['Enabled']))
  // A second agent that begins to publish computes the same conditions, and publishes nothing before.
  const other = follow(() => undefined)
  other.says({ dns: { apiintIpAddress: LB } })
  expect(other.conditions()[2]).toBe(
    `Progressing=True LoadBalancerSwitch: checking kube-api at ${LB} until it has answered 3 times in a row; ${rest}`,
  )
  other.made.end()
  why = 'ECONNREFUSED'
  await told(1, `Degraded=True LoadBalancerRefused: kube-api does not answer at ${LB}: ECONNREFUSED`)
  says({})
  expect(conditions().slice(1)).toEqual([
    'Degraded=False AsExpected: each virtual address has one holder',
    'Progressing=False AsExpected: no change is in progress',
    'Disabled=False AsExpected: the nodes of this platform hold the virtual addresses',
  ])
})

test('a node, an address of ingress and an invalid text are refused without a request', async () => {
  const { asked, conditions, made, says } = follow(() => undefined)
  made.want(true)
  made.nodesAre([address('10.0.0.11')])
  for (const wish of ['10.0.0.11', INGRESS, 'lb.example.com']) {
    says({ dns: { apiintIpAddress: wish } })
    expect(conditions()[1]).toContain(`LoadBalancerRefused: dns.apiintIpAddress "${wish}" is refused`)
  }
  says({ ingressHa: 'off' })
  expect(conditions()[1]).toMatch(/Degraded=True SpecInvalid: spec.ingressHa: .*; the last valid spec stays in force/)
  made.news({ kind: 'failed', why: '403: Forbidden', isNoWish: true })
  expect(conditions()[1]).toMatch(/^Degraded=True SpecInvalid: .*; 403: Forbidden; the last valid spec stays in force/)
  says({})
  made.news({ kind: 'failed', why: '403: Forbidden', isNoWish: true })
  expect(conditions()[1]).toBe('Degraded=True SpecUnreadable: 403: Forbidden; the last valid spec stays in force')
  made.news({ kind: 'readable' })
  expect(conditions()[1]).toMatch(/^Degraded=False/)
  await sleep(50)
  expect(asked).toEqual([])
  expect(made).toMatchObject({ refused: 3, intent: { ingressHa: 'Enabled' } })
})

test('nothing is reported before an answer; a first answer without the object means the defaults, and a later one changes nothing', () => {
  const { changes, conditions, made, says } = follow(() => undefined)
  made.news({ kind: 'readable' })
  made.news({ kind: 'failed', why: 'no JSON', isNoWish: false })
  says({ ingressHa: 'off' })
  expect(changes).toEqual([])
  expect(conditions()[1]).toContain('; no valid spec is known: ingress stays as the engine has it')
  made.news({ kind: 'failed', why: '404: Not Found', isNoWish: true })
  says({ ingressHa: 'Disabled' })
  made.news({ kind: 'failed', why: '403: Forbidden', isNoWish: true })
  made.news({ kind: 'none' })
  expect(changes.map(({ ingressHa }) => ingressHa)).toEqual(['Enabled', 'Disabled', 'Disabled', 'Enabled'])
})

test('the report of corednsmonitor on this node replaces NotManaged, and a Corefile that stays is Degraded', () => {
  let report: DnsReport | undefined
  const { conditions, says } = follow(
    () => undefined,
    () => report,
  )
  says({ dns: { appsResolution: 'Disabled' } })
  expect(conditions()[2]).toMatch(
    /^Progressing=False NotManaged: no holdfast corednsmonitor of this node reports: dns.appsResolution=Disabled/,
  )
  report = { wishes: { apps: false, nodes: true, apiInt: undefined }, kept: undefined }
  expect(conditions().slice(1, 3)).toEqual([
    'Degraded=False AsExpected: each virtual address has one holder',
    'Progressing=False AsExpected: no change is in progress',
  ])
  report = { ...report, kept: 'a reason' }
  expect(conditions()[1]).toBe('Degraded=True CorefileKept: CoreDNS on this node keeps its Corefile: a reason')
})
