/**
 * The agent's duty for the HostedNetServices object, through the agent's own client and watch: object, platform, spec
 * and the resulting status.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { CONTROL_PLANE_LABELS } from '../../../src/cluster/decisions/engine/upstream-names.ts'
import type { Intent } from '../../../src/cluster/decisions/status/intent.ts'
import { GROUP, PLURAL, readPublished, VERSION } from '../../../src/cluster/decisions/status/published-status.ts'
import { ClusterClient } from '../../../src/cluster/runtime/api/cluster-client.ts'
import { StatusDuty } from '../../../src/cluster/runtime/status/status-duty.ts'
import { eventually, sleep } from '../../../src/lab/wait.ts'
import { address } from '../../../src/wire/address.ts'
import { FakeEngine } from '../../support/fake-engine.ts'
import { KubeApi } from '../../support/kube-api/server.ts'

const COLLECTION = `${GROUP}/${VERSION}/${PLURAL}`
/** Addresses at which the stand-in of the API answers readyz as well. */
const VIP = '127.0.0.1'
const SOON = { within: 10_000, every: 10 }

const endings: (() => unknown)[] = []
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end()
})

async function started(prepare: (api: KubeApi) => void = () => {}) {
  const api = await new KubeApi({ kinds: { [COLLECTION]: 'HostedNetServices' } }).start()
  endings.push(() => api.stop())
  prepare(api)
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-status-'))
  endings.push(() => rmSync(folder, { recursive: true, force: true }))
  const engine = await new FakeEngine(join(folder, 'engine.sock')).start()
  endings.push(() => engine.kill())
  const intents: Intent[] = []
  const duty = new StatusDuty({
    ...{ self: 'node-1', vips: [{ address: address(VIP), service: 'api', index: 0 }], socket: engine.socket },
    client: new ClusterClient(async () => [{ server: `http://127.0.0.1:${api.port}`, options: {} }], { within: 1_000 }),
    probe: { port: api.port, everyMs: 50, withinMs: 1_000, failures: 3, scheme: 'http' },
    ...{ onIntent: (intent) => intents.push(intent), onNews: () => {}, onFailure: () => {} },
  })
  endings.push(() => duty.end())
  duty.nodesAre([
    {
      ...{ name: 'node-1', labels: { [CONTROL_PLANE_LABELS[0]]: '' }, annotations: {}, kubeletVersion: 'v1' },
      addresses: [{ type: 'InternalIP', address: '10.0.0.11' }],
    },
  ])
  engine.sees({ address: VIP, holder: 'self' })
  const put = (spec: unknown) => {
    const there = api.store.get(COLLECTION, 'cluster')
    const head = { apiVersion: `${GROUP}/${VERSION}`, kind: 'HostedNetServices', metadata: { name: 'cluster' } }
    api.store.put(COLLECTION, { ...(there ?? head), spec })
  }
  const published = () => readPublished(api.store.get(COLLECTION, 'cluster'))
  const says = (line: string) =>
    eventually(
      line,
      () => published()?.conditions.some(({ type, status, reason }) => `${type}=${status} ${reason}` === line),
      { sight: published, ...SOON },
    )
  /** The agent decides again after each event of its engine, and every 5 s. */
  const decide = () => engine.tell({ kind: 'anything' })
  return { api, decide, duty, engine, intents, published, put, says }
}

test('the status follows a new object, its wishes and an invalid spec, and the last valid spec stays', async () => {
  const { api, duty, intents, published, put, says } = await started()
  put({})
  await says('Available=True AsExpected')
  await eventually('the holder', () => published()?.apiServerInternalIpOwner === 'node-1', {
    sight: published,
    ...SOON,
  })
  put({ ingressHa: 'Disabled' })
  await eventually('the wish', () => intents.at(-1)?.ingressHa === 'Disabled', { sight: () => intents, ...SOON })
  put({ ingressHa: 'perhaps' })
  await says('Degraded=True SpecInvalid')
  expect(duty.intent.intent.ingressHa).toBe('Disabled')
  put({ ingressHa: 'Disabled', dns: { apiintIpAddress: '10.0.0.11' } })
  await says('Degraded=True LoadBalancerRefused')
  put({ ingressHa: 'Disabled' })
  await says('Degraded=False AsExpected')
  api.store.remove(COLLECTION, 'cluster')
  await eventually('the defaults', () => intents.at(-1)?.ingressHa === 'Enabled', { sight: () => intents, ...SOON })
})

test('a refused object has a reason of its own, and a 5xx sets no condition', async () => {
  const { api, decide, duty, put, says } = await started()
  const watched = (status: number) =>
    eventually(`a watch that is answered ${status}`, () => api.asked('watch').at(-1)?.status === status, {
      sight: () => api.asked('watch').map((one) => one.status),
      ...SOON,
    })
  const refused = () => duty.intent.circumstances({ result: 'answers' }).refused
  put({ ingressHa: 'Disabled' })
  await says('Available=True AsExpected')
  const broken = api.fail('watch', { kind: 'status', code: 500 })
  for (const watch of api.watches) watch.end()
  await watched(500)
  await sleep(100)
  expect([refused(), duty.intent.refused]).toEqual([[], 0])
  broken()
  const forbidden = api.fail('watch', { kind: 'status', code: 403 })
  await watched(403)
  await eventually('the trouble', () => refused().length === 1, { sight: refused, ...SOON })
  // The query of a watch differs in each attempt, and would be written each time.
  expect(refused()[0]?.message).not.toContain('?')
  decide()
  await says('Degraded=True SpecUnreadable')
  expect(duty.intent.intent.ingressHa).toBe('Disabled')
  forbidden()
  await eventually('no trouble', () => refused().length === 0, { sight: refused, ...SOON })
  decide()
  await says('Degraded=False AsExpected')
})

test('on another platform, Degraded is True while the engine holds a VIP, then Disabled, and no holder is named', async () => {
  const { decide, duty, engine, published, put, says } = await started()
  put({})
  await says('Disabled=False AsExpected')
  duty.elsewhereIs({ reason: 'UnsupportedPlatform', message: 'the platform is AWS' })
  await says('Degraded=True StillHeld')
  await says('Disabled=False StillHeld')
  engine.sees()
  decide()
  await says('Disabled=True UnsupportedPlatform')
  await says('Available=True UnsupportedPlatform')
  await says('Degraded=False UnsupportedPlatform')
  expect(published()).toMatchObject({ holders: [] })
  expect(published()?.apiServerInternalIpOwner).toBeUndefined()
  duty.elsewhereIs(undefined)
  engine.sees({ address: VIP, holder: 'self' })
  decide()
  await says('Disabled=False AsExpected')
})
