/**
 * The test has three agents with simulated engines, and a stand-in of the Kubernetes API. The right agent publishes the
 * holder of the address, once, whichever node dies. The test uses real sockets and real time, so its time limits are
 * generous.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { CONTROL_PLANE_LABELS } from '../../../src/cluster/decisions/engine/upstream-names.ts'
import type { Circumstances } from '../../../src/cluster/decisions/status/finding.ts'
import {
  GROUP,
  PLURAL,
  type Published,
  readPublished,
  VERSION,
} from '../../../src/cluster/decisions/status/published-status.ts'
import { VipProbe } from '../../../src/cluster/runtime/api/vip-probe.ts'
import { HolderDuty } from '../../../src/cluster/runtime/status/holder-duty.ts'
import { StatusApi } from '../../../src/cluster/runtime/status/status-api.ts'
import { eventually, sleep } from '../../../src/lab/wait.ts'
import { address } from '../../../src/wire/address.ts'
import { FakeEngine } from '../../support/fake-engine.ts'
import { sendTo } from '../../support/kube-api/send.ts'
import { KubeApi } from '../../support/kube-api/server.ts'

const COLLECTION = `${GROUP}/${VERSION}/${PLURAL}`
const VIP = '10.0.0.200'
const NODES = [1, 2, 3].map((i) => ({
  ...{ name: `node-${i}`, labels: { [CONTROL_PLANE_LABELS[0]]: '' }, annotations: {}, kubeletVersion: 'v1' },
  addresses: [{ type: 'InternalIP', address: `10.0.0.1${i}` }],
}))
const at = (i: number) => `10.0.0.1${i}`
const SOON = { within: 10_000, every: 10 }

class Cluster {
  readonly api = new KubeApi({ kinds: { [COLLECTION]: 'HostedNetServices' } })
  readonly folder = mkdtempSync(join(tmpdir(), 'holdfast-holder-'))
  readonly engines: readonly FakeEngine[] = [1, 2, 3].map((i) => new FakeEngine(join(this.folder, `${i}.sock`)))
  readonly duties: HolderDuty[] = []
  readonly news: string[] = []
  probe: Circumstances['probe'] = { result: 'answers' }
  #forget: () => void = () => {}

  async start(): Promise<this> {
    await this.api.start()
    this.make()
    for (const engine of this.engines) await engine.start()
    const around = { ingressDisabled: false, progressing: undefined, refused: [], notManaged: undefined }
    for (const [i, { name }] of NODES.entries()) {
      const engine = this.engine(i + 1)
      const duty = new HolderDuty({
        ...{ self: name, vips: [{ address: address(VIP), service: 'api', index: 0 }], socket: engine.socket },
        ...{ api: new StatusApi(sendTo(this.api)), circumstances: () => ({ ...around, probe: this.probe }) },
        onProbeNeeded: () => {},
        onNews: (news) => this.news.push(`${name} ${news.kind} ${'why' in news ? news.why : news.part}`),
      })
      duty.nodesAre(NODES)
      duty.objectIs(this.api.store.get(COLLECTION, 'cluster'))
      this.duties.push(duty)
    }
    // The watch of the API reports an object in this form.
    this.#forget = this.api.store.subscribe(({ collection, object }) => {
      if (collection === COLLECTION) for (const duty of this.duties) setTimeout(() => duty.objectIs(object), 5)
    })
    return this
  }

  make(): void {
    this.api.store.put(COLLECTION, {
      apiVersion: `${GROUP}/${VERSION}`,
      kind: 'HostedNetServices',
      metadata: { name: 'cluster' },
    })
  }

  engine(i: number): FakeEngine {
    const found = this.engines[i - 1]
    if (found === undefined) throw new Error(`Cannot find engine ${i}`)
    return found
  }

  /** Makes node `i` Active; the engines of `others` receive the advertisements of node `i`. */
  holds(i: number, ...others: number[]): void {
    this.engine(i).sees({ address: VIP, holder: 'self', since: `2026-11-22T12:00:0${i}.000Z` })
    for (const other of others) this.engine(other).sees({ address: VIP, holder: at(i) })
  }

  get published(): Published | undefined {
    return readPublished(this.api.store.get(COLLECTION, 'cluster'))
  }

  condition(type: string) {
    return this.published?.conditions.find((one) => one.type === type)
  }

  async owned(by: string): Promise<void> {
    const look = () => this.published?.apiServerInternalIpOwner === by && this.published.holders[0]?.node === by
    await eventually(`the status to name ${by}`, look, {
      sight: () => ({ status: this.published, news: this.news.slice(-5) }),
      ...SOON,
    })
  }

  async end(): Promise<void> {
    this.#forget()
    for (const duty of this.duties) duty.end()
    for (const engine of this.engines) await engine.kill()
    await this.api.stop()
    rmSync(this.folder, { recursive: true, force: true })
  }
}

let cluster: Cluster | undefined
afterEach(async () => {
  await cluster?.end()
  cluster = undefined
})
async function started(): Promise<Cluster> {
  cluster = await new Cluster().start()
  cluster.holds(1, 2, 3)
  await cluster.owned('node-1')
  await eventually(
    'conditions of node-1',
    () => cluster?.condition('Available')?.message === `API ${VIP} is held by node-1`,
    { sight: () => cluster?.published, ...SOON },
  )
  return cluster
}
const applies = ({ api }: Cluster) => api.asked('apply')

describe('who holds the address, in the API', () => {
  test('when the holder is killed, its successor is published within a second, with conditions, and the writes end', async () => {
    const group = await started()
    expect(group.published?.holders).toMatchObject([{ address: VIP, service: 'API', node: 'node-1', saidBy: 'node-1' }])
    await group.engine(1).kill()
    group.duties[0]?.end()
    const from = performance.now()
    group.holds(2, 3)
    group.engine(2).tell({
      ...{ kind: 'transition', from: 'Backup', to: 'Active', reason: 'activeSilent', addresses: [VIP] },
      heard: { peer: at(1), priority: 90, agoMs: 3_000 },
    })
    await group.owned('node-2')
    expect(performance.now() - from).toBeLessThan(3_000)
    expect(group.published?.holders).toHaveLength(1)
    const settledAt = () => group.condition('Available')?.message === `API ${VIP} is held by node-2`
    await eventually('the conditions to follow', settledAt, { sight: () => group.published?.conditions, ...SOON })
    const events = () => group.api.store.list('v1/events', 'default')
    await eventually('one Event', () => events().length === 1, { sight: events, ...SOON })
    expect(events()[0]).toMatchObject({
      ...{ reason: 'VipMoved', message: `API ${VIP} moved from node-1 to node-2: node-1 fell silent (activeSilent)` },
    })
    await sleep(500)
    const count = applies(group).length
    await sleep(1_500)
    expect(applies(group).slice(count)).toEqual([])
  })

  test("when an engine dies alone, its agent's entry is corrected", async () => {
    const group = await started()
    await group.engine(1).kill()
    const gone = () => group.published?.apiServerInternalIpOwner === undefined && group.published?.holders.length === 0
    await eventually('the claim to go', gone, { sight: () => group.published, ...SOON })
    group.holds(3, 2)
    await group.owned('node-3')
  })

  test('a duplicate sets Degraded and names both, and its end clears it', async () => {
    const group = await started()
    expect(group.condition('Degraded')?.status).toBe('False')
    const duplicates = [{ mac: '02:00:00:00:00:03', router: at(3) }]
    group.engine(1).sees({ address: VIP, holder: 'self', since: '2026-11-22T12:00:01.000Z', duplicates })
    const both = () => group.condition('Degraded')?.message === `API ${VIP} is held by node-1 and node-3`
    await eventually('both names', both, { sight: () => group.published, ...SOON })
    expect(group.condition('Degraded')).toMatchObject({ status: 'True', reason: 'SeveralHolders' })
    expect(group.published?.holders[0]?.alsoAnswering).toEqual(['node-3'])
    group.holds(1, 2, 3)
    await eventually('it to be over', () => group.condition('Degraded')?.status === 'False', {
      sight: () => group.published,
      ...SOON,
    })
  })

  test('after the API was away, only the present state is written', async () => {
    const group = await started()
    await group.api.stop()
    for (const i of [2, 3, 2, 3]) {
      group.holds(i, ...[1, 2, 3].filter((other) => other !== i))
      await sleep(200)
    }
    const before = group.api.requests.length
    await group.api.start()
    await group.owned('node-3')
    await eventually('its conditions', () => group.condition('Available')?.message.includes('node-3'), {
      sight: () => group.published,
      ...SOON,
    })
    const said = group.api.requests.slice(before).filter(({ verb }) => verb === 'apply')
    const names = said.flatMap(({ body }) => /apiServerInternalIpOwner":"([^"]*)/.exec(JSON.stringify(body))?.[1] ?? [])
    expect(names).toEqual(['node-3'])
  })

  test('after 500, 403, invalid answers and silence, the write is tried again until it succeeds', async () => {
    const group = await started()
    group.api.fail('apply', { kind: 'status', code: 500 }, 2)
    group.api.fail('apply', { kind: 'status', code: 403 }, 1)
    group.api.fail('apply', { kind: 'garbage' }, 1)
    group.api.fail('apply', { kind: 'silence' }, 1)
    group.holds(2, 1, 3)
    await group.owned('node-2')
    expect(group.news.join('\n')).toMatch(/node-\d failed 500/)
    expect(group.news.join('\n')).toMatch(/node-\d refused 403/)
  })

  test('a part that another client overwrites is written again after a pause, and a missing object when it appears', async () => {
    const group = await started()
    const there = group.api.store.get(COLLECTION, 'cluster')
    if (there === undefined) throw new Error('Expected the object')
    group.api.store.put(COLLECTION, { ...there, status: { ...(there.status ?? {}), apiServerInternalIpOwner: 'me' } })
    await group.owned('node-1')
    expect(group.duties[0]?.publisher.counters.overwritten).toBe(1)
    group.api.store.remove(COLLECTION, 'cluster')
    for (const duty of group.duties) duty.objectIsGone()
    group.holds(2, 1, 3)
    await eventually('to be told that it is missing', () => group.news.some((line) => line.includes('missing')), {
      sight: () => group.news,
      ...SOON,
    })
    group.make()
    await group.owned('node-2')
  })

  test('two holders that do not hear each other set Degraded and are both named', { timeout: 30_000 }, async () => {
    const group = await started()
    group.holds(2, 3)
    const both = () => group.condition('Degraded')?.message === `API ${VIP} is held by node-1 and node-2`
    await eventually('both to be named', both, { sight: () => group.published, within: 25_000, every: 10 })
  })

  test('an Event that exists already counts as sent, and one that the API refuses is dropped', async () => {
    const group = await started()
    group.api.fail('create', { kind: 'status', code: 409 }, 1)
    group.api.fail('create', { kind: 'status', code: 403 }, 1)
    const moved = { kind: 'transition', from: 'Backup', to: 'Active', reason: 'activeReleased', addresses: [VIP] }
    for (const i of [1, 2, 3]) group.engine(2).tell({ ...moved, at: `2026-11-22T12:00:0${i}.000Z` })
    const duty = group.duties[1]
    await eventually('three to be settled', () => duty?.events.told === 2 && duty.events.dropped === 1, {
      sight: () => duty?.events,
      ...SOON,
    })
    expect(group.api.store.list('v1/events', 'default')).toHaveLength(1)
  })
})

describe('kube-api through its address', () => {
  test('kube-api counts as silent after three failures, and as answering after one answer', async () => {
    let status = 200
    const server = createServer((_, response) => {
      response.statusCode = status
      response.end('ok')
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    const probe = new VipProbe([address('127.0.0.1')], {
      port,
      everyMs: 20,
      withinMs: 1_000,
      failures: 3,
      scheme: 'http',
    })
    expect(probe.finding).toEqual({ result: 'unasked' })
    probe.want(true)
    const probeIs = (wanted: string) =>
      eventually(wanted, () => probe.finding.result === wanted, { sight: () => probe.finding, ...SOON })
    await probeIs('answers')
    status = 500
    await probeIs('silent')
    expect(probe.finding).toEqual({ result: 'silent', address: '127.0.0.1', why: 'status 500' })
    status = 200
    await probeIs('answers')
    server.close()
    server.closeAllConnections()
    await probeIs('silent')
    expect(probe.finding).toMatchObject({ why: 'ECONNREFUSED' })
    probe.want(false)
    expect(probe.finding).toEqual({ result: 'unasked' })
  })
})
