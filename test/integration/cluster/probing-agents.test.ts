/**
 * Five agents, three of them on control plane nodes, and one kube-api behind two addresses. A real listener counts the
 * connections of their probes.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { CONTROL_PLANE_LABELS } from '../../../src/cluster/decisions/engine/upstream-names.ts'
import type { Condition } from '../../../src/cluster/decisions/status/condition.ts'
import { GROUP, PLURAL, readPublished, VERSION } from '../../../src/cluster/decisions/status/published-status.ts'
import { ClusterClient } from '../../../src/cluster/runtime/api/cluster-client.ts'
import { StatusDuty } from '../../../src/cluster/runtime/status/status-duty.ts'
import { eventually, monotonicMs, sleep } from '../../../src/lab/wait.ts'
import { address } from '../../../src/wire/address.ts'
import { FakeEngine } from '../../support/fake-engine.ts'
import { KubeApi } from '../../support/kube-api/server.ts'

const COLLECTION = `${GROUP}/${VERSION}/${PLURAL}`
const VIPS = ['127.0.0.1', '127.0.0.2']
const AGENTS = 5
const CONTROL_PLANE = 3
const EVERY = 50
const SOON = { within: 10_000, every: 10 }
const at = (i: number) => `10.0.0.1${i}`
const NODES = Array.from({ length: AGENTS }, (_, i) => ({
  ...{ name: `node-${i + 1}`, labels: i < CONTROL_PLANE ? { [CONTROL_PLANE_LABELS[0]]: '' } : {}, annotations: {} },
  ...{ kubeletVersion: 'v1', addresses: [{ type: 'InternalIP', address: at(i + 1) }] },
}))

const endings: (() => unknown)[] = []
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end()
})

async function started() {
  const api = await new KubeApi({ kinds: { [COLLECTION]: 'HostedNetServices' } }).start()
  endings.push(() => api.stop())
  api.store.put(COLLECTION, {
    ...{ apiVersion: `${GROUP}/${VERSION}`, kind: 'HostedNetServices', metadata: { name: 'cluster' }, spec: {} },
  })
  let status = 200
  const connections: number[] = []
  const behindVip = createServer((_, response) => response.writeHead(status).end())
  behindVip.on('connection', () => connections.push(monotonicMs()))
  await new Promise<void>((resolve) => behindVip.listen(0, resolve))
  endings.push(() => behindVip.close())
  const { port } = behindVip.address() as AddressInfo
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-probing-'))
  endings.push(() => rmSync(folder, { recursive: true, force: true }))
  const engines = await Promise.all(NODES.map(({ name }) => new FakeEngine(join(folder, `${name}.sock`)).start()))
  endings.push(() => Promise.all(engines.map((engine) => engine.kill())))
  /** Node `i` holds both addresses; workers have no router for them. */
  const holds = (i: number) => {
    for (const [k, engine] of engines.entries()) {
      const holder = k + 1 === i ? 'self' : at(i)
      engine.sees(...(k < CONTROL_PLANE ? VIPS.map((vip) => ({ address: vip, holder })) : []))
    }
  }
  holds(1)
  const available: Condition[] = []
  api.store.subscribe(({ collection, object }) => {
    const found = readPublished(object)?.conditions.find(({ type }) => type === 'Available')
    if (collection === COLLECTION && found !== undefined) available.push(found)
  })
  for (const [k, { name }] of NODES.entries()) {
    const duty = new StatusDuty({
      ...{ self: name, vips: VIPS.map((vip, index) => ({ address: address(vip), service: 'api' as const, index })) },
      socket: engines[k]?.socket ?? '',
      client: new ClusterClient(async () => [{ server: `http://127.0.0.1:${api.port}`, options: {} }], {
        within: 1_000,
      }),
      probe: { port, everyMs: EVERY, withinMs: 1_000, failures: 3, scheme: 'http' },
      ...{ onIntent: () => {}, onNews: () => {}, onFailure: () => {} },
    })
    duty.nodesAre(NODES)
    endings.push(() => duty.end())
  }
  const availableIs = (line: string) =>
    eventually(
      line,
      () => available.at(-1) !== undefined && `${available.at(-1)?.status} ${available.at(-1)?.message}` === line,
      { sight: () => available.at(-1), ...SOON },
    )
  /** Observed time, and the largest number of connections of one agent in it. */
  const counted = async () => {
    const [from, before] = [monotonicMs(), connections.length]
    await sleep(1_000)
    const elapsed = monotonicMs() - from
    return { made: connections.length - before, most: VIPS.length * (elapsed / (EVERY - 1) + 2) }
  }
  const answers = (code: number) => {
    status = code
  }
  return { answers, available, availableIs, counted, holds }
}

const heldBy = (i: number) => VIPS.map((vip) => `API ${vip} is held by node-${i}`).join('; ')

test('one of five agents probes the addresses of the API: the holder, also after a move', async () => {
  const { availableIs, counted, holds } = await started()
  await availableIs(`True ${heldBy(1)}`)
  for (const holder of [2, 1, 3]) {
    const { made, most } = await counted()
    expect(made).toBeGreaterThan(0)
    expect(made).toBeLessThanOrEqual(most)
    holds(holder)
    await availableIs(`True ${heldBy(holder)}`)
  }
})

test('Available stays True during a move: the new holder asks first and publishes then', async () => {
  const { available, availableIs, holds } = await started()
  await availableIs(`True ${heldBy(1)}`)
  for (const holder of [2, 3, 1, 2]) {
    holds(holder)
    await availableIs(`True ${heldBy(holder)}`)
  }
  expect(available.map(({ status }) => status).filter((status) => status !== 'True')).toEqual([])
})

test('a new holder whose kube-api does not answer publishes Unknown, and False after three failures', async () => {
  const { answers, available, availableIs, holds } = await started()
  await availableIs(`True ${heldBy(1)}`)
  answers(500)
  holds(2)
  await availableIs(`False ${heldBy(2)}`)
  const reasons = available.filter(({ message }) => message === heldBy(2)).map(({ reason }) => reason)
  expect(reasons.at(-1)).toBe('ApiNotAnswering')
  expect(reasons).not.toContain('AsExpected')
  answers(200)
  await availableIs(`True ${heldBy(2)}`)
})
