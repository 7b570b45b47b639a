/**
 * The phase of a switch in the API: it is stored again whenever the API shows another one, and a refused write is reported. The
 * requests to an external load balancer are verified. The API is a function of the test.
 */
import type { RequestOptions } from 'node:https'
import { expect, test } from 'vitest'
import { askByCluster } from '../../../src/cli/operator/operator-run.ts'
import type { ClusterPlan } from '../../../src/cluster/decisions/operator/cluster-plan.ts'
import { BalancerSwitchDuty, type SwitchOptions } from '../../../src/cluster/runtime/operator/balancer-switch.ts'
import { OperatorAccount } from '../../../src/cluster/runtime/operator/operator-account.ts'
import { WriteCounters } from '../../../src/cluster/runtime/operator/write-counters.ts'
import type { ApiRequest, Written } from '../../../src/cluster/runtime/status/status-api.ts'
import { address } from '../../../src/wire/address.ts'

const LB = address('10.9.0.200')
const VIPS = { apiVips: [address('10.9.0.100')], ingressVips: [], apiInt: 'api-int.ostest.example.com' }
const PLAN: ClusterPlan = { ...VIPS, platform: 'BareMetal', elsewhere: undefined, infraNamespace: 'x', problems: [] }
const EXTERNAL = { phase: 'External', since: '2026-11-22T12:00:00Z', address: LB, apiInt: LB, haproxy: 'Stopped' }

const LABELS = { 'node-role.kubernetes.io/master': '' }
const ADDRESSES = [{ type: 'InternalIP', address: '10.9.0.11' }]
const NODES = [{ name: 'n1', labels: LABELS, addresses: ADDRESSES, annotations: {}, kubeletVersion: '' }]

/** An operator of a cluster whose administrator wants the external load balancer. */
function operator(answer: (request: ApiRequest) => Promise<Written>, change: Partial<SwitchOptions> = {}) {
  const written: unknown[] = []
  let changes = 0
  const duty = new BalancerSwitchDuty({
    api: {
      write: (request) => {
        written.push((request.body as { status: { loadBalancer: unknown } }).status.loadBalancer)
        return answer(request)
      },
    },
    writes: new WriteCounters(new OperatorAccount(), () => {}),
    questions: { names: async () => 'no answer', isReady: async () => false, isClosed: async () => false },
    askExternal: async () => undefined,
    ...{ graceMs: 60_000, onPhase: () => {} },
    onChange: () => {
      changes++
    },
    ...change,
  })
  const sees = async (object: unknown) => {
    duty.turn(object, { kind: 'answers', place: LB, failures: 0 }, PLAN, [])
    await settled()
  }
  return { changes: () => changes, duty, sees, written }
}
const settled = () => new Promise((resolve) => setImmediate(resolve))
const accepts = async ({ body }: ApiRequest): Promise<Written> => ({ kind: 'done', object: body })
const object = (loadBalancer?: unknown) => ({ status: loadBalancer === undefined ? {} : { loadBalancer } })

test.each([
  ['a new object without a phase', object()],
  ['a phase that another client wrote', object({ ...EXTERNAL, phase: 'SelfHosted', apiInt: undefined })],
  ['a phase that cannot be read', object({ phase: 'Odd' })],
])('%s is replaced once by the phase of this operator', async (_, shown) => {
  const { sees, written } = operator(accepts)
  const there = object(EXTERNAL)
  for (const each of [there, there, shown, shown, shown]) await sees(each)
  expect(written).toEqual([EXTERNAL])
  await sees(object(EXTERNAL))
  expect(written).toHaveLength(1)
})

test('a phase that is shown during a write is not taken for the written one', async () => {
  let answered: () => void = () => {}
  const { sees, written } = operator(async (request) => {
    await new Promise<void>((resolve) => {
      answered = resolve
    })
    return accepts(request)
  })
  await sees(object(EXTERNAL))
  await sees(object())
  const other = object({ ...EXTERNAL, phase: 'SelfHosted' })
  await sees(other)
  answered()
  await settled()
  await sees(other)
  expect(written).toEqual([EXTERNAL, EXTERNAL])
})

test('api-int leaves a load balancer that is silent three times in a row, before HAProxy runs on any node', async () => {
  const asked: unknown[] = []
  let failed: string | undefined = 'ECONNREFUSED'
  const { duty, written } = operator(accepts, {
    askExternal: async (place, name) => {
      asked.push([place, name])
      return failed
    },
  })
  let shown: unknown = object({ ...EXTERNAL, phase: 'StartingHAProxy', haproxy: 'Running' })
  const turn = async () => {
    duty.turn(shown, { kind: 'own' }, PLAN, NODES)
    await settled()
    if (written.length > 0) shown = object(written.at(-1))
  }
  await turn()
  await turn()
  failed = undefined
  await turn()
  failed = 'ECONNREFUSED'
  for (const _ of [1, 2, 3]) await turn()
  expect(written, 'an answer between failures').toEqual([])
  expect(asked).toEqual(Array(6).fill([LB, PLAN.apiInt]))
  await turn()
  expect(written).toEqual([{ phase: 'StartingHAProxy', since: expect.any(String), address: LB, haproxy: 'Running' }])
  await turn()
  expect(duty.text).toContain('api-int leads to the VIP, because kube-api did not answer at 10.9.0.200')
})

test('HAProxy that runs on all nodes does not end its start while the pool of the control plane writes files', async () => {
  const { duty, written } = operator(accepts, {
    questions: { names: async () => [], isReady: async () => true, isClosed: async () => false },
  })
  const shown = object({ ...EXTERNAL, phase: 'StartingHAProxy', haproxy: 'Running' })
  const turn = async (updated: number) => {
    const pool = { name: 'master', isPaused: false, machines: 3, updated, degraded: undefined }
    duty.turn(shown, { kind: 'own' }, PLAN, NODES, [{ ...pool, name: 'worker', updated: 0 }, pool])
    await settled()
  }
  for (const _ of [1, 2, 3]) await turn(1)
  expect(written).toEqual([])
  expect(duty.text).toContain('; waiting for pool master')
  await turn(3)
  expect(written).toMatchObject([{ phase: 'ReturningNames' }])
})

test('a refused write of the phase is AccessDenied, and is reported once', async () => {
  let answer: (request: ApiRequest) => Promise<Written> = async () => ({ kind: 'refused', why: '403: Forbidden' })
  const { changes, duty, sees } = operator((request) => answer(request))
  const there = object()
  await sees(there)
  await sees(there)
  expect(duty.trouble).toEqual({
    reason: 'AccessDenied',
    message: 'the phase of the load balancer cannot be stored in HostedNetServices: 403: Forbidden',
  })
  expect(changes()).toBe(1)
  answer = accepts
  await sees(there)
  expect(duty.trouble).toBeUndefined()
})

test.each<[string, RequestOptions, string | undefined, string]>([
  ['without a name of the API', { ca: 'x' }, undefined, 'Infrastructure has no usable status.apiServerInternalURI'],
  ['without an authority', {}, 'api-int.x', 'the credentials of the operator have no certificate authority'],
])('an external load balancer is not asked %s', async (_, options, name, why) => {
  const access = async () => [{ server: 'https://10.0.0.1', options }]
  // No program listens on port 9.
  const failed = await askByCluster(access, address('127.0.0.1'), { name, port: 9 })
  expect(failed).toBe(`the certificate cannot be verified: ${why}`)
})
