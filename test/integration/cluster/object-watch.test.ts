/** List and watch of objects against a stand-in of the Kubernetes API, with all failures that the stand-in can make. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ApiFailure, FailureKind } from '../../../src/cluster/runtime/api/api-failure.ts'
import { clusterAccess } from '../../../src/cluster/runtime/api/cluster-access.ts'
import { ClusterClient, type Limits } from '../../../src/cluster/runtime/api/cluster-client.ts'
import { watchDebugFlag } from '../../../src/cluster/runtime/api/flag-watch.ts'
import { isLost, onAddressLost } from '../../../src/cluster/runtime/api/lost-address.ts'
import { PATIENCE, type WatchPhase, watchObjects } from '../../../src/cluster/runtime/api/object-watch.ts'
import { eventually, monotonicMs } from '../../../src/lab/wait.ts'
import { createAuthority } from '../../support/certificates.ts'
import { clusterCases } from '../../support/cluster-cases.ts'
import type { Fault } from '../../support/kube-api/fault.ts'
import { type KubeconfigPlan, writeKubeconfig } from '../../support/kube-api/kubeconfig.ts'
import { NODES, type NodePlan, nodeObject } from '../../support/kube-api/node-object.ts'
import { KubeApi, type KubeApiOptions } from '../../support/kube-api/server.ts'

const HASTY = { ...PATIENCE, first: 20, longest: 100 }
let directory: string
const apis: KubeApi[] = []
const ends: AbortController[] = []
const loops: Promise<void>[] = []

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'hf-object-watch-'))
})
afterEach(async () => {
  for (const end of ends.splice(0)) end.abort()
  await Promise.all(loops.splice(0))
  await Promise.all(apis.splice(0).map((api) => api.stop()))
  rmSync(directory, { recursive: true, force: true })
})

async function started(options?: KubeApiOptions): Promise<KubeApi> {
  const api = await new KubeApi(options).start()
  apis.push(api)
  return api
}

type Kept = { readonly name: string; readonly labels: unknown; readonly phase: unknown }
const read = (object: unknown): Kept => {
  const { metadata, status } = object as ReturnType<typeof nodeObject> & { status?: { phase?: string } }
  return { name: metadata.name, labels: metadata.labels, phase: status?.phase }
}

function clientOf(plan: KubeconfigPlan, limits: Partial<Limits> = {}, local?: string) {
  const kubeconfig = writeKubeconfig(join(directory, 'kubeconfig'), plan)
  const attempts: FailureKind[] = []
  const client = new ClusterClient(clusterAccess({ kubeconfig, local }), limits, ({ kind }) => attempts.push(kind))
  return { client, attempts }
}

/** A watch of Node objects, and everything that the watch reports. */
function watching(api: KubeApi, limits?: Partial<Limits>, plan: Partial<KubeconfigPlan> = {}, local?: string) {
  const { client, attempts } = clientOf({ server: `http://127.0.0.1:${api.port}`, ...plan }, limits, local)
  return Object.assign(watchingWith(client), { attempts })
}

function watchingWith(client: ClusterClient, patience = HASTY) {
  const end = new AbortController()
  ends.push(end)
  const seen = {
    names: undefined as string[] | undefined,
    objects: new Map<string, Kept>() as ReadonlyMap<string, Kept>,
    failures: [] as ApiFailure[],
    waits: [] as number[],
    phases: [] as WatchPhase[],
    ended: false,
    abort: () => end.abort(),
    get kinds() {
      return this.failures.map(({ kind }) => kind)
    },
  }
  const loop = watchObjects<Kept>(
    client,
    {
      path: '/api/v1/nodes',
      read,
      onObjects: (objects) => {
        seen.objects = new Map(objects)
        seen.names = [...objects.keys()]
      },
      onFailure: (failure, wait) => {
        seen.failures.push(failure)
        seen.waits.push(wait)
      },
      onPhase: (phase) => seen.phases.push(phase),
    },
    end.signal,
    patience,
  ).then(() => {
    seen.ended = true
  })
  loops.push(loop)
  return seen
}
type Seen = ReturnType<typeof watchingWith>

const sight = (seen: Seen, api: KubeApi) => ({
  names: seen.names,
  failures: seen.failures.map(({ message }) => message),
  asked: api.requests.map(({ verb, query, status }) => `${verb} ${query.resourceVersion ?? ''} ${status}`),
})
const until = (seen: Seen, api: KubeApi, names: readonly string[]) =>
  eventually(`the nodes ${names}`, () => JSON.stringify(seen.names) === JSON.stringify(names), {
    sight: () => sight(seen, api),
    within: 20_000,
  })
const oneWatch = (seen: Seen, api: KubeApi) =>
  eventually('an open watch', () => (api.watches.size === 1 ? [...api.watches][0] : undefined), {
    sight: () => sight(seen, api),
    within: 20_000,
  })
const another = (seen: Seen, api: KubeApi, watches: number) =>
  eventually(`watch ${watches}`, () => api.asked('watch').length === watches && api.watches.size === 1, {
    sight: () => sight(seen, api),
    within: 20_000,
  })
const node = (name: string) => nodeObject({ name })

describe('a collection of the API, watched', () => {
  test('the collection is listed once and then watched from its version', async () => {
    const api = await started()
    api.store.put(NODES, node('n1'))
    const seen = watching(api)
    await oneWatch(seen, api)
    for (const name of ['n2', 'n3', 'n4']) api.store.put(NODES, node(name))
    api.store.remove(NODES, 'n3')
    await until(seen, api, ['n1', 'n2', 'n4'])
    await new Promise((resolve) => setTimeout(resolve, 500))
    expect(api.requests.map(({ verb, query }) => [verb, query.resourceVersion, query.allowWatchBookmarks])).toEqual([
      ['list', undefined, undefined],
      ['watch', '1001', 'true'],
    ])
    expect(Number(api.requests[1]?.query.timeoutSeconds)).toBeGreaterThanOrEqual(240)
    expect([seen.kinds, seen.phases]).toEqual([[], ['listing', 'watching']])
  })

  test('a watch that the server ends continues from the last version or bookmark, without a list', async () => {
    const api = await started()
    api.store.put(NODES, node('n1'))
    const seen = watching(api)
    const first = await oneWatch(seen, api)
    // The version grows as after changes of other objects in the cluster.
    first.bookmark('v1', 'Node', 1001)
    api.store.put(NODES, node('n2'))
    await until(seen, api, ['n1', 'n2'])
    first.end()
    await another(seen, api, 2)
    const second = await oneWatch(seen, api)
    second.bookmark('v1', 'Node', api.store.version)
    api.store.put('v1/configmaps', { metadata: { name: 'x', namespace: 'default' } })
    second.bookmark('v1', 'Node', api.store.version)
    await new Promise((resolve) => setTimeout(resolve, 100))
    second.end()
    await another(seen, api, 3)
    expect(api.asked('watch').map(({ query }) => query.resourceVersion)).toEqual(['1001', '1002', '1003'])
    expect([api.asked('list').length, seen.kinds]).toEqual([1, []])
  })

  test('410 Gone, as a status and as an event, leads to one list, and deleted objects are gone', async () => {
    const api = await started()
    for (const name of ['n1', 'n2', 'n3']) api.store.put(NODES, node(name))
    const seen = watching(api)
    const first = await oneWatch(seen, api)
    api.store.compact()
    first.reset()
    api.store.remove(NODES, 'n2')
    await until(seen, api, ['n1', 'n3'])
    await another(seen, api, 3)
    expect(seen.kinds).toEqual(['cut', 'gone'])
    const second = await oneWatch(seen, api)
    // The event of this change is lost together with the stream.
    second.silence()
    api.store.remove(NODES, 'n1')
    second.drop()
    second.error(410, 'Expired')
    await eventually('a third list', () => api.asked('list').length === 3, {
      sight: () => sight(seen, api),
      within: 20_000,
    })
    await until(seen, api, ['n3'])
    expect(seen.kinds).toEqual(['cut', 'gone', 'gone'])
  })

  test('an event of a stream that was cut in a line counts when it is complete', async () => {
    const api = await started()
    api.store.put(NODES, node('n1'))
    const seen = watching(api)
    const first = await oneWatch(seen, api)
    first.silence()
    const stored = api.store.put(NODES, node('n2'))
    first.cutInLine('ADDED', stored)
    await until(seen, api, ['n1', 'n2'])
    await another(seen, api, 2)
    expect(api.asked('watch').map(({ query }) => query.resourceVersion)).toEqual(['1001', '1001'])
    expect([api.asked('list').length, seen.kinds]).toEqual([1, ['cut']])
  })

  test('a stream is closed when its local address leaves this machine, and no other one is', async () => {
    expect([await isLost('127.0.0.1'), await isLost('192.0.2.1'), await isLost('no address')]).toEqual([
      false,
      true,
      false,
    ])
    const lost: string[] = []
    const ends = ['127.0.0.1', '192.0.2.1', undefined].map((localAddress) =>
      onAddressLost({ localAddress }, (address) => lost.push(address), 20),
    )
    await eventually('it to be told', () => lost.length > 0, { sight: () => lost, within: 20_000 })
    for (const end of ends) end()
    expect(new Set(lost)).toEqual(new Set(['192.0.2.1']))
  })

  test('a silent stream is closed, and another one continues from the same version', async () => {
    const api = await started()
    api.store.put(NODES, node('n1'))
    const seen = watching(api, { silence: 300 })
    const first = await oneWatch(seen, api)
    first.silence()
    api.store.put(NODES, node('n2'))
    await until(seen, api, ['n1', 'n2'])
    expect(seen.kinds[0]).toBe('silent')
    expect(seen.failures[0]?.message).toBe(
      `${api.asked('watch')[0] === undefined ? '' : '/api/v1/nodes'}?${new URLSearchParams(api.asked('watch')[0]?.query)} sent nothing for 300 ms`,
    )
    await eventually('the first one closed', () => !api.watches.has(first), {
      sight: () => sight(seen, api),
      within: 20_000,
    })
  })

  const faults: [string, Fault, FailureKind][] = [
    ['401', { kind: 'status', code: 401 }, 'unauthorized'],
    ['403', { kind: 'status', code: 403 }, 'forbidden'],
    ['500', { kind: 'status', code: 500 }, 'serverError'],
    ['404', { kind: 'status', code: 404 }, 'refused'],
    ['no JSON', { kind: 'garbage' }, 'garbage'],
    ['another kind of JSON', { kind: 'wrong', json: { items: 'three' } }, 'garbage'],
    ['a list without a version', { kind: 'wrong', json: { metadata: {}, items: [] } }, 'garbage'],
    ['no answer', { kind: 'silence' }, 'timeout'],
    ['a reset', { kind: 'reset' }, 'cut'],
    ['half of an answer', { kind: 'half' }, 'cut'],
  ]
  test.each(faults)(
    '%s to a list is named, what was known stays, and it is asked again later',
    async (_, fault, kind) => {
      const api = await started()
      api.store.put(NODES, node('n1'))
      const seen = watching(api, { within: 300 })
      const first = await oneWatch(seen, api)
      const heal = api.fail('list', fault)
      first.error(410, 'Expired')
      await eventually('three attempts', () => seen.failures.length >= 4, {
        sight: () => sight(seen, api),
        within: 20_000,
      })
      expect(new Set(seen.kinds.slice(1))).toEqual(new Set([kind]))
      expect(seen.names).toEqual(['n1'])
      api.store.put(NODES, node('n2'))
      heal()
      await until(seen, api, ['n1', 'n2'])
      await oneWatch(seen, api)
    },
  )

  test('the delays double up to a limit, half of each is random, and Retry-After is respected', async () => {
    const api = await started()
    api.fail('list', { kind: 'status', code: 500 }, 6)
    api.fail('list', { kind: 'status', code: 429, retryAfter: 1 }, 1)
    const { client } = clientOf({ server: `http://127.0.0.1:${api.port}` })
    const seen = watchingWith(client, { ...HASTY, random: () => 0.5 })
    const at = monotonicMs()
    await oneWatch(seen, api)
    expect(seen.waits).toEqual([15, 30, 60, 75, 75, 75, 1_000])
    expect(seen.kinds.at(-1)).toBe('rateLimited')
    expect(monotonicMs() - at).toBeGreaterThan(1_330)
  })

  test('an invalid event is reported and leads to a list; a watch that ends immediately is delayed', async () => {
    const api = await started()
    api.store.put(NODES, node('n1'))
    const seen = watching(api)
    for (const text of [
      '<html>\n',
      '{"type":"ADDED"}\n',
      '{"type":"STRANGE","object":{"metadata":{"resourceVersion":"1"}}}\n',
      '[]\n',
    ]) {
      const watch = await oneWatch(seen, api)
      watch.sendText(text)
      await eventually('it to be left', () => !api.watches.has(watch), {
        sight: () => sight(seen, api),
        within: 20_000,
      })
    }
    await oneWatch(seen, api)
    expect([seen.kinds, api.asked('list').length, seen.names]).toEqual([
      ['garbage', 'garbage', 'garbage', 'garbage'],
      5,
      ['n1'],
    ])
    for (let i = 0; i < 6; i++) {
      const watch = await oneWatch(seen, api)
      watch.end()
      await eventually('it to be left', () => !api.watches.has(watch), {
        sight: () => sight(seen, api),
        within: 20_000,
      })
    }
    await oneWatch(seen, api)
    expect(seen.kinds.slice(4)).toEqual(['cut', 'cut', 'cut', 'cut', 'cut', 'cut'])
    expect(seen.waits.at(-1)).toBeGreaterThanOrEqual(HASTY.longest / 2)
  })

  test('a watch continues from the same version when the API comes back', async () => {
    const api = await started()
    api.store.put(NODES, node('n1'))
    const seen = watching(api)
    let most = 0
    const count = setInterval(() => {
      most = Math.max(most, api.watches.size)
    }, 1)
    await oneWatch(seen, api)
    await api.stop()
    await eventually('it to be missed', () => seen.kinds.includes('unreachable'), {
      sight: () => sight(seen, api),
      within: 20_000,
    })
    expect(seen.names).toEqual(['n1'])
    api.store.put(NODES, node('n2'))
    await api.start()
    await until(seen, api, ['n1', 'n2'])
    clearInterval(count)
    expect([most, api.asked('list').length]).toEqual([1, 1])
    seen.abort()
    await eventually('its end', () => seen.ended && api.watches.size === 0, {
      sight: () => sight(seen, api),
      within: 20_000,
    })
  })

  test("the node's own API server is asked if the address of the cluster does not answer", async () => {
    const [api, local] = [await started(), await started()]
    for (const each of [api, local]) each.store.put(NODES, node('n1'))
    await api.stop()
    const seen = watching(api, {}, {}, `http://127.0.0.1:${local.port}`)
    await until(seen, local, ['n1'])
    await oneWatch(seen, local)
    expect([seen.kinds, seen.attempts]).toEqual([[], ['unreachable', 'unreachable']])
  })
})

describe('who we are to the API', () => {
  test('certificates are used in both directions, and an unknown authority is the failure "tls"', async () => {
    const [authority, otherAuthority] = [createAuthority(), createAuthority()]
    try {
      const server = authority.issue('DNS:api-int.ostest.example.com')
      const own = authority.issue('DNS:agent')
      const ca = readFileSync(authority.caFile)
      const api = await started({
        tls: { ...server, ca, requestCert: true, rejectUnauthorized: false },
        tokens: ['leaf2'],
      })
      const [certFile, keyFile] = [join(directory, 'cert'), join(directory, 'key')]
      writeFileSync(certFile, own.cert)
      writeFileSync(keyFile, own.key)
      const plan = {
        server: `https://127.0.0.1:${api.port}`,
        certFile,
        keyFile,
        tlsServerName: 'api-int.ostest.example.com',
      }
      const { client } = clientOf({ ...plan, caFile: authority.caFile })
      expect(await client.ask({ path: '/api/v1/nodes' })).toMatchObject({ kind: 'NodeList' })
      for (const wrong of [
        { caFile: otherAuthority.caFile },
        { caFile: authority.caFile, tlsServerName: 'api.other' },
      ]) {
        const { client: other } = clientOf({ ...plan, ...wrong })
        await expect(other.ask({ path: '/api/v1/nodes' })).rejects.toMatchObject({ kind: 'tls' })
      }
      const { client: nobody } = clientOf({
        server: plan.server,
        caFile: authority.caFile,
        tlsServerName: plan.tlsServerName,
      })
      await expect(nobody.ask({ path: '/api/v1/nodes' })).rejects.toMatchObject({ kind: 'unauthorized' })
    } finally {
      authority.remove()
      otherAuthority.remove()
    }
  })

  test('a token is read for each request, so a rotated one is used', async () => {
    const api = await started({ tokens: ['old'] })
    api.store.put(NODES, node('n1'))
    const seen = watching(api, {}, { token: 'old' })
    const first = await oneWatch(seen, api)
    api.tokens = new Set(['new'])
    first.end()
    await eventually('a refusal', () => seen.kinds.includes('unauthorized'), {
      sight: () => sight(seen, api),
      within: 20_000,
    })
    writeKubeconfig(join(directory, 'kubeconfig'), { server: `http://127.0.0.1:${api.port}`, token: 'new' })
    api.store.put(NODES, node('n2'))
    await until(seen, api, ['n1', 'n2'])
  })

  test('the token file that a kubeconfig names is read for each request, and counts more than its token', async () => {
    const api = await started({ tokens: ['first'] })
    writeFileSync(join(directory, 'token'), 'first\n')
    const { client } = clientOf({ server: `http://127.0.0.1:${api.port}`, token: 'old', tokenFile: 'token' })
    expect(await client.ask({ path: '/api/v1/nodes' })).toMatchObject({ kind: 'NodeList' })
    api.tokens = new Set(['second'])
    await expect(client.ask({ path: '/api/v1/nodes' })).rejects.toMatchObject({ kind: 'unauthorized' })
    writeFileSync(join(directory, 'token'), 'second\n')
    expect(await client.ask({ path: '/api/v1/nodes' })).toMatchObject({ kind: 'NodeList' })
    rmSync(join(directory, 'token'))
    await expect(client.ask({ path: '/api/v1/nodes' })).rejects.toMatchObject({ kind: 'credentials' })
  })

  test.each([
    ['is not there', undefined],
    ['is no YAML', 'users: [{user: {token: s3cret}}, {{{'],
    ['has no cluster', '{"apiVersion":"v1","kind":"Config"}'],
  ])('a kubeconfig that %s is the failure "credentials", with its path in the text', async (_, text) => {
    const kubeconfig = join(directory, 'other')
    if (text !== undefined) writeFileSync(kubeconfig, text)
    const client = new ClusterClient(clusterAccess({ kubeconfig }))
    const failure = await client.ask({ path: '/api/v1/nodes' }).catch((error: unknown) => error)
    expect(failure).toMatchObject({
      kind: 'credentials',
      message: expect.stringContaining(`Cannot use ${kubeconfig}: `),
    })
    expect(String(failure)).not.toContain('s3cret')
  })
})

type WatcherCase = {
  initial: (NodePlan & { name: string })[]
  events?: { type: string; node: NodePlan }[]
  thenCancel?: boolean
  adds?: number
  distinctNames?: number
}
type WatcherEnd = {
  nodes?: string[]
  count?: number
  countGreaterThan?: number
  phaseOf?: Record<string, string>
  labelOf?: Record<string, Record<string, string>>
  loopExits?: boolean
}

/** Cases of upstream for objects that holdfast does not have: its locks, and a watch that was never started. */
describe("upstream's cases of its watch of nodes", () => {
  test.each(clusterCases<WatcherCase, WatcherEnd>('nodeWatcher').map((one) => [one.id, one] as const))(
    '%s',
    async (_, { input, expect: wanted = {} }) => {
      const api = await started()
      for (const plan of input.initial ?? []) api.store.put(NODES, nodeObject(plan))
      const seen = watching(api)
      const watch = await oneWatch(seen, api)
      for (let i = 0; i < (input.adds ?? 0); i++) api.store.put(NODES, node(`node-${i % (input.distinctNames ?? 1)}`))
      for (const { type, node: plan } of input.events ?? []) {
        if (type === 'BOOKMARK') watch.bookmark('v1', 'Node', api.store.version)
        else if (type === 'DELETED') api.store.remove(NODES, plan.name)
        else if (type === 'ERROR') watch.error(500, 'InternalError')
        else api.store.put(NODES, nodeObject(plan))
      }
      const count = wanted.count ?? wanted.nodes?.length ?? input.distinctNames ?? 0
      const isThere = () =>
        seen.names?.length === count &&
        Object.entries(wanted.phaseOf ?? {}).every(([name, phase]) => seen.objects.get(name)?.phase === phase) &&
        Object.entries(wanted.labelOf ?? {}).every(([name, labels]) =>
          Object.entries(labels).every(([key, value]) =>
            JSON.stringify(seen.objects.get(name)?.labels).includes(`"${key}":"${value}"`),
          ),
        )
      await eventually(JSON.stringify(wanted), isThere, { sight: () => sight(seen, api), within: 20_000 })
      if (wanted.nodes !== undefined) expect(seen.names).toEqual(wanted.nodes)
      expect(count).toBeGreaterThan(wanted.countGreaterThan ?? -1)
      if (input.thenCancel === true) {
        seen.abort()
        await eventually('the loop to end', () => seen.ended, { sight: () => sight(seen, api), within: 20_000 })
      }
    },
  )
})

type LoggingCase = { events: { type: string; data: Record<string, string> | null }[] }
type LoggingEnd = { debug: boolean; error: boolean }[]

describe("upstream's cases of its watch of the log level", () => {
  test.each(clusterCases<LoggingCase, LoggingEnd>('loggingConfigWatcher').map((one) => [one.id, one] as const))(
    '%s',
    async (_, { input, expect: wanted = [] }) => {
      const api = await started()
      const { client } = clientOf({ server: `http://127.0.0.1:${api.port}` })
      const end = new AbortController()
      ends.push(end)
      const told: boolean[] = []
      const kinds: FailureKind[] = []
      const handlers = {
        onDebug: (on: boolean) => told.push(on),
        onFailure: (failure: ApiFailure) => kinds.push(failure.kind),
      }
      loops.push(watchDebugFlag(client, 'openshift-kni-infra', handlers, end.signal, HASTY))
      const sight = () => ({ told, kinds, asked: api.requests })
      const open = () => eventually('a watch', () => [...api.watches][0], { sight, within: 20_000 })
      let watch = await open()
      for (const [i, { type, data }] of input.events.entries()) {
        const before = told.length
        const metadata = { name: 'logging', namespace: 'openshift-kni-infra' }
        if (type === 'ERROR') watch.error(500, 'InternalError')
        else if (type === 'DELETED') api.store.remove('v1/configmaps', 'logging', 'openshift-kni-infra')
        else api.store.put('v1/configmaps', { metadata, data: data ?? {} })
        const { debug = false, error = false } = wanted[i] ?? {}
        if (error) {
          await eventually('a failure', () => kinds.length > 0, { sight, within: 20_000 })
          watch = await open()
        } else await eventually(`event ${i} told`, () => told.length > before, { sight, within: 20_000 })
        expect(told.at(-1) ?? false, `after event ${i}`).toBe(debug)
      }
    },
  )
})
