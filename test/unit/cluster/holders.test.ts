/** Five agents and one status, with a virtual clock and engines that are values: which agent publishes what. */
import { describe, expect, test } from 'vitest'
import type { ClusterNode } from '../../../src/cluster/decisions/cluster-node.ts'
import { CONTROL_PLANE_LABELS } from '../../../src/cluster/decisions/engine/upstream-names.ts'
import { readEngineReport } from '../../../src/cluster/decisions/status/engine-report.ts'
import {
  aged,
  emptyQueue,
  MOST_WAITING,
  nextOf,
  OLDEST,
  offer,
  settled,
} from '../../../src/cluster/decisions/status/event-queue.ts'
import { failoverEvent, failoversIn } from '../../../src/cluster/decisions/status/failover.ts'
import type { Circumstances } from '../../../src/cluster/decisions/status/finding.ts'
import {
  FIRST_HOLDERS,
  type HoldersInput,
  needsProbe,
  stepHolders,
} from '../../../src/cluster/decisions/status/holders.ts'
import { type Published, readPublished } from '../../../src/cluster/decisions/status/published-status.ts'
import { address } from '../../../src/wire/address.ts'
import { FakeWorld, PEER, ROUTER, VIP } from '../daemon/fake-world.ts'

const EPOCH = Date.parse('2026-11-22T12:00:00Z')
const API = '10.0.0.200'
const API6 = 'fd00::200'
const INGRESS = '10.0.0.201'
const vip = (text: string, service: 'api' | 'ingress', index = 0) => ({ address: address(text), service, index })
const node = (i: number): ClusterNode => ({
  ...{ name: `node-${i}`, labels: { [CONTROL_PLANE_LABELS[0]]: '' }, annotations: {}, kubeletVersion: 'v1' },
  addresses: [{ type: 'InternalIP', address: `10.0.0.1${i}` }],
})
const QUIET: Circumstances = {
  ...{ probe: { result: 'answers' }, ingressDisabled: false },
  ...{ progressing: undefined, refused: [], notManaged: undefined },
}
const router = (address: string, change: Record<string, unknown> = {}) => ({
  ...{ name: address, departing: false, state: 'Backup', since: '2026-11-22T11:59:00.000Z', faults: [] },
  ...{ source: '10.0.0.12', advertisementIntervalMs: 1000, duplicates: [], addresses: [{ address, present: false }] },
  ...{ holder: { self: false, address: '10.0.0.11', heardMsAgo: 300 }, ...change },
})
const active = (address: string, duplicates: unknown[] = []) =>
  router(address, {
    ...{ state: 'Active', duplicates, addresses: [{ address, present: true }] },
    holder: { self: true, address: '10.0.0.12', heardMsAgo: 0 },
  })
const report = (...routers: unknown[]) => readEngineReport({ version: 1, takenAt: '2026-11-22T12:00:00.000Z', routers })
const published = (status: unknown): Published | undefined =>
  readPublished({ metadata: { uid: 'u', resourceVersion: '5', generation: 2 }, status })
const entry = (text: string, name: string, more = {}) => ({
  ...{
    address: text,
    service: 'API',
    node: name,
    since: '2026-11-22T11:00:00Z',
    saidBy: name,
    alsoAnswering: [],
    ...more,
  },
})
const AWS = { reason: 'UnsupportedPlatform', message: 'the platform is AWS' } as const
const INPUT: HoldersInput = {
  ...{ self: 'node-2', nodes: [1, 2, 3].map(node), vips: [vip(API, 'api'), vip(INGRESS, 'ingress')] },
  ...{ report: undefined, published: published({}), elsewhere: undefined, circumstances: QUIET },
}
const first = (input: Partial<HoldersInput>, ms = 0) =>
  stepHolders(FIRST_HOLDERS, { ...INPUT, ...input }, { monotonicMs: ms, epochMs: EPOCH + ms })[1]
const conditionOf = (statement: ReturnType<typeof first>, type: string) =>
  statement.conditions?.find((one) => one.type === type)

describe('what an engine says of itself', () => {
  test('the report of a real engine is read: Active, Backup', () => {
    const world = new FakeWorld([ROUTER]).start()
    world.advance(8_000)
    const vipAddress = address(VIP)
    expect(readEngineReport(world.daemon.snapshot())?.sights.get(vipAddress)).toMatchObject({
      kind: 'ours',
      duplicates: [],
    })
    const backup = new FakeWorld().start()
    backup.hear(200, { source: PEER })
    expect(readEngineReport(backup.daemon.snapshot())?.sights.get(vipAddress)).toMatchObject({
      kind: 'heard',
      from: PEER,
    })
  })

  test.each([[undefined], ['<html>'], [{ version: 2, routers: [] }], [{ version: 1, takenAt: 'now', routers: [] }]])(
    '%j is no account',
    (value) => {
      expect(readEngineReport(value)).toBeUndefined()
    },
  )

  test('a fault means that the engine does not listen; an address that the kernel lacks is not held', () => {
    const sights = report(router(API, { state: 'Initialize', faults: ['linkDown'] }), {
      ...active(INGRESS),
      addresses: [{ address: INGRESS, present: false }],
    })?.sights
    expect(sights?.get(address(API))).toEqual({ kind: 'deaf', why: 'linkDown' })
    expect(sights?.get(address(INGRESS))?.kind).toBe('silence')
  })
})

describe('who says what', () => {
  test('the holder of the first API address publishes the holders and the conditions, and other nodes publish nothing', () => {
    const said = first({
      report: report(active(API), router(INGRESS, { holder: { self: false, address: '10.0.0.13', heardMsAgo: 1 } })),
    })
    expect(said.claims).toEqual({
      apiServerInternalIpOwner: 'node-2',
      holders: [entry(API, 'node-2', { since: '2026-11-22T11:59:00.000Z' })],
    })
    expect(said.conditions?.map(({ type, status }) => `${type}=${status}`)).toEqual([
      'Available=True',
      'Degraded=False',
      'Progressing=False',
      'Disabled=False',
    ])
    expect(conditionOf(said, 'Available')?.message).toBe(
      'API 10.0.0.200 is held by node-2; ingress 10.0.0.201 is held by node-3',
    )
    expect(said.observedGeneration).toBe(2)
    const backup = first({ report: report(router(API), active(INGRESS)) })
    expect(backup).toMatchObject({ claims: { ingressIpOwner: 'node-2', holders: [{ service: 'Ingress' }] } })
    expect(backup.conditions).toBeUndefined()
    expect(backup.claims).not.toHaveProperty('apiServerInternalIpOwner')
    const deaf = first({ report: undefined })
    expect(deaf).toEqual({ claims: { holders: [] }, conditions: undefined, observedGeneration: undefined })
  })

  test('a holder that has not asked kube-api yet publishes its addresses, and no conditions', () => {
    const said = first({ report: report(active(API)), circumstances: { ...QUIET, probe: { result: 'unasked' } } })
    expect(said.claims.apiServerInternalIpOwner).toBe('node-2')
    expect(said.conditions).toBeUndefined()
  })

  test.each<readonly [string, unknown[] | undefined, boolean]>([
    ['the holder', [active(API)], true],
    ['a Backup', [router(API), active(INGRESS)], false],
    ['a worker', [active(INGRESS)], false],
    ['a Backup that hears nobody', [router(API, { holder: { self: false, address: null, heardMsAgo: null } })], true],
    ['a node with a fault', [router(API, { state: 'Initialize', faults: ['linkDown'] })], true],
    ['a node without an engine', undefined, true],
  ])('%s has to know if kube-api answers: %j %j', (_, routers, expected) => {
    const input = { ...INPUT, report: routers && report(...routers) }
    const [memory] = stepHolders(FIRST_HOLDERS, input, { monotonicMs: 0, epochMs: EPOCH })
    expect(needsProbe(memory, input)).toBe(expected)
    const [elsewhere] = stepHolders(memory, { ...input, elsewhere: AWS }, { monotonicMs: 1, epochMs: EPOCH })
    expect(needsProbe(elsewhere, input)).toBe(false)
  })

  test('a Backup that publishes for a holder without an agent needs the answer of kube-api', () => {
    const input = { ...INPUT, report: report(router(API)), published: published({ holders: [entry(API, 'node-3')] }) }
    let memory = FIRST_HOLDERS
    const needed = [0, 1, 30].map((s) => {
      memory = stepHolders(memory, input, { monotonicMs: s * 1_000, epochMs: EPOCH })[0]
      return needsProbe(memory, input)
    })
    expect(needed).toEqual([false, false, true])
  })

  test('with the families on two nodes, the text names the holder of the first address, and each entry its own', () => {
    const vips = [vip(API, 'api'), vip(API6, 'api', 1)]
    const six = first({ vips, report: report(router(API), active(API6)) })
    expect(six.claims).not.toHaveProperty('apiServerInternalIpOwner')
    expect(six.claims.holders.map(({ address: one, node: who }) => `${one} ${who}`)).toEqual([`${API6} node-2`])
    const linkLocal = router(API6, { holder: { self: false, address: 'fe80::13', heardMsAgo: 1 } })
    const four = first({
      vips,
      report: report(active(API), linkLocal),
      published: published({ holders: [entry(API6, 'node-3')] }),
    })
    expect(four.claims.apiServerInternalIpOwner).toBe('node-2')
    expect(conditionOf(four, 'Available')?.message).toBe(
      'API 10.0.0.200 is held by node-2; API fd00::200 is held by node-3',
    )
  })

  test('O3: a duplicate names both nodes, or the MAC of another host', () => {
    const twice = (other: unknown) => [{ address: API, mac: '02:00:00:00:00:07', router: other, foundMsAgo: 1 }]
    const both = first({ report: report(active(API, twice({ address: '10.0.0.13', priority: null }))) })
    expect(conditionOf(both, 'Degraded')).toMatchObject({
      ...{ status: 'True', reason: 'SeveralHolders', message: 'API 10.0.0.200 is held by node-2 and node-3' },
    })
    expect(both.claims.holders[0]?.alsoAnswering).toEqual(['node-3'])
    const unknown = first({ report: report(active(API, twice(null))) })
    expect(conditionOf(unknown, 'Degraded')?.message).toBe('API 10.0.0.200 is held by 02:00:00:00:00:07 and node-2')
  })

  test("O3: a duplicate of ingress that its holder found is in the conditions of the API's holder", () => {
    const status = { holders: [entry(INGRESS, 'node-3', { service: 'Ingress', alsoAnswering: ['node-1'] })] }
    const elsewhere = router(INGRESS, { holder: { self: false, address: '10.0.0.13', heardMsAgo: 1 } })
    const said = first({ report: report(active(API), elsewhere), published: published(status) })
    expect(conditionOf(said, 'Degraded')?.message).toBe('ingress 10.0.0.201 is held by node-1 and node-3')
  })

  test('O3: with kube-api silent behind the address, Available and Degraded report it', () => {
    const probe = { result: 'silent', address: address(API), why: 'ECONNREFUSED' } as const
    const said = first({ report: report(active(API)), circumstances: { ...QUIET, probe } })
    expect(conditionOf(said, 'Available')).toMatchObject({ status: 'False', reason: 'ApiNotAnswering' })
    expect(conditionOf(said, 'Degraded')?.message).toBe('kube-api does not answer through 10.0.0.200: ECONNREFUSED')
  })

  test('O3: a Backup publishes that there is no holder, after ten seconds and its rank', () => {
    const silent = {
      ...INPUT,
      report: report(router(API, { holder: { self: false, address: null, heardMsAgo: null } })),
    }
    let memory = FIRST_HOLDERS
    const at = (ms: number) => {
      const [next, statement] = stepHolders(memory, silent, { monotonicMs: ms, epochMs: EPOCH + ms })
      memory = next
      return statement
    }
    expect([at(0), at(11_999)].map(({ conditions }) => conditions)).toEqual([undefined, undefined])
    const said = at(12_000)
    expect(said.claims).toMatchObject({ apiServerInternalIpOwner: '', holders: [{ node: '', saidBy: 'node-2' }] })
    expect(conditionOf(said, 'Available')).toMatchObject({ status: 'False', reason: 'NobodyHolds' })
    expect(conditionOf(said, 'Degraded')?.message).toBe('API 10.0.0.200 has no holder, according to node-2')
  })

  test('a condition keeps its time until its status changes, whichever node publishes it', () => {
    const before = {
      type: 'Available',
      status: 'True',
      reason: 'Other',
      message: '',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    }
    const degraded = { ...before, type: 'Degraded' }
    const said = first({ report: report(active(API)), published: published({ conditions: [before, degraded] }) }, 999)
    expect(conditionOf(said, 'Available')?.lastTransitionTime).toBe('2026-01-01T00:00:00Z')
    expect(conditionOf(said, 'Degraded')?.lastTransitionTime).toBe('2026-11-22T12:00:00Z')
  })

  test('O4: on another platform, one node publishes Disabled once when the engine holds nothing', () => {
    const input = { ...INPUT, self: 'node-2', elsewhere: AWS, report: report() }
    const [memory, early] = stepHolders(FIRST_HOLDERS, input, { monotonicMs: 0, epochMs: EPOCH })
    expect(early).toEqual({ claims: { holders: [] }, conditions: undefined, observedGeneration: undefined })
    const [, said] = stepHolders(memory, input, { monotonicMs: 3_000, epochMs: EPOCH })
    expect(said.conditions?.map(({ type, status, reason }) => `${type}=${status} ${reason}`)).toEqual([
      'Available=True UnsupportedPlatform',
      'Degraded=False UnsupportedPlatform',
      'Progressing=False UnsupportedPlatform',
      'Disabled=True UnsupportedPlatform',
    ])
    expect(conditionOf(said, 'Disabled')?.message).toBe('nodes hold no virtual addresses: the platform is AWS')
    const there = published({ conditions: said.conditions })
    expect(
      stepHolders(memory, { ...input, published: there }, { monotonicMs: 9_000, epochMs: EPOCH })[1].conditions,
    ).toBeUndefined()
  })

  test.each([
    ['its own engine has it', { report: report(active(API)) }, 'node-2'],
    ['another node says so', { report: report(), published: published({ holders: [entry(API, 'node-3')] }) }, 'node-3'],
    ['its engine does not answer, and had it', { published: published({ holders: [entry(API, 'node-2')] }) }, 'node-2'],
    ['the node has left', { report: report(), published: published({ holders: [entry(API, 'node-9')] }) }, undefined],
    ['it is released', { report: report(), published: published({ holders: [entry(API, 'node-2')] }) }, undefined],
  ])('a VIP that a node still holds on another platform is Degraded: %s', (_, there, holder) => {
    const input = { ...INPUT, self: 'node-2', elsewhere: AWS, ...there }
    const [memory] = stepHolders(FIRST_HOLDERS, input, { monotonicMs: 0, epochMs: EPOCH })
    const [, said] = stepHolders(memory, input, { monotonicMs: 9_000, epochMs: EPOCH })
    const degraded = conditionOf(said, 'Degraded')
    expect([conditionOf(said, 'Disabled')?.status, degraded?.status]).toEqual(
      holder === undefined ? ['True', 'False'] : ['False', 'True'],
    )
    if (holder !== undefined)
      expect(degraded?.message).toBe(`API ${API} is still held by ${holder}, although the platform is AWS`)
    if (holder === 'node-2' && 'report' in there) expect(said.claims.apiServerInternalIpOwner).toBe('node-2')
  })

  test('O9: disabled ingress has no holder and is not degraded, and a dead holder does not stay in it', () => {
    const circumstances = { ...QUIET, ingressDisabled: true, notManaged: 'no program does x' }
    const input = {
      ...INPUT,
      circumstances,
      report: report(active(API)),
      published: published({ holders: [entry(INGRESS, 'node-9', { service: 'Ingress' })] }),
    }
    const [memory] = stepHolders(FIRST_HOLDERS, input, { monotonicMs: 0, epochMs: EPOCH })
    const [, said] = stepHolders(memory, input, { monotonicMs: 5_000, epochMs: EPOCH })
    expect(said.claims.ingressIpOwner).toBe('')
    expect(conditionOf(said, 'Available')?.message).toContain('ingress 10.0.0.201 is disabled')
    expect(conditionOf(said, 'Degraded')?.status).toBe('False')
    expect(conditionOf(said, 'Progressing')).toMatchObject({ status: 'False', reason: 'NotManaged' })
  })
})

describe('an Event for each failover', () => {
  const WHERE = { nodes: INPUT.nodes, self: 'node-2', vips: INPUT.vips }
  const transition = {
    ...{
      kind: 'transition',
      seq: 7,
      at: '2026-11-22T12:00:00.123Z',
      from: 'Backup',
      to: 'Active',
      reason: 'activeSilent',
    },
    ...{ addresses: [API], heard: { peer: '10.0.0.11', priority: 90, agoMs: 3_500 } },
  }

  test('an Event names both nodes, the address and the reason, and is the same if it is created twice', () => {
    const [failover] = failoversIn(transition, WHERE)
    if (failover === undefined) throw new Error('Expected a failover')
    const event = failoverEvent(failover, 'uid')
    expect(event).toMatchObject({
      ...{
        reason: 'VipMoved',
        message: 'API 10.0.0.200 moved from node-1 to node-2: node-1 fell silent (activeSilent)',
      },
      ...{ firstTimestamp: '2026-11-22T12:00:00Z', involvedObject: { uid: 'uid', name: 'cluster' } },
    })
    expect(event.metadata.name).toMatch(/^cluster\.[0-9a-f]{16}$/)
    expect(failoverEvent(failover, undefined).metadata.name).toBe(event.metadata.name)
    expect(failoverEvent({ ...failover, to: 'node-3' }, undefined).metadata.name).not.toBe(event.metadata.name)
  })

  test('the first holder has no former one; a router that comes back to Active and an invalid event give no Event', () => {
    const alone = failoversIn({ ...transition, heard: undefined, reason: 'activeSilent' }, WHERE)[0]
    expect(alone && failoverEvent(alone, undefined)).toMatchObject({
      reason: 'VipTaken',
      message: 'API 10.0.0.200 is held by node-2: activeSilent',
    })
    for (const from of ['Leaving', 'Returning']) expect(failoversIn({ ...transition, from }, WHERE)).toEqual([])
    for (const other of [{ ...transition, to: 'Backup' }, { ...transition, addresses: ['10.9.9.9'] }, 'x', null])
      expect(failoversIn(other, WHERE)).toEqual([])
  })

  test('the queue sends each Event once, five immediately and one in ten seconds, and counts what it drops', () => {
    let queue = emptyQueue(0) as ReturnType<typeof offer<number>>
    for (let i = 0; i < MOST_WAITING + 3; i++) queue = offer(queue, `e${i}`, i, i)
    queue = offer(queue, 'e10', 10, 50)
    expect(queue).toMatchObject({ dropped: 3, waiting: { length: MOST_WAITING, 0: { event: 3 } } })
    let told = 0
    for (let next = nextOf(queue); next !== undefined; next = nextOf(queue), told++)
      queue = settled(queue, next.name, 'told')
    expect(told).toBe(5)
    expect(nextOf(aged(queue, 9_999))).toBeUndefined()
    expect(nextOf(aged(queue, 10_000))?.event).toBe(8)
    const gone = aged(queue, OLDEST + 1_000)
    expect(gone).toMatchObject({ waiting: [], dropped: 3 + MOST_WAITING - 5, told: 5 })
  })
})
