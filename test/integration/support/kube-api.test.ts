/** The stand-in of the Kubernetes API, asked directly: what other tests assume about the stand-in is true. */
import { request } from 'node:http'
import { afterEach, describe, expect, test } from 'vitest'
import { eventually } from '../../../src/lab/wait.ts'
import { NODES, nodeObject } from '../../support/kube-api/node-object.ts'
import { KubeApi } from '../../support/kube-api/server.ts'

const apis: KubeApi[] = []
afterEach(async () => {
  await Promise.all(apis.splice(0).map((api) => api.stop()))
})

async function started(options?: ConstructorParameters<typeof KubeApi>[0]): Promise<KubeApi> {
  const api = await new KubeApi(options).start()
  apis.push(api)
  return api
}

type Got = { status: number; json: Record<string, unknown>; text: string }
async function ask(api: KubeApi, path: string, init: RequestInit = {}): Promise<Got> {
  const response = await fetch(`http://127.0.0.1:${api.port}${path}`, init)
  const text = await response.text()
  return { status: response.status, text, json: JSON.parse(text) }
}

/** Lines of a watch, in the order of their arrival. */
function watched(api: KubeApi, query: string) {
  const lines: string[] = []
  const watch = { lines, rest: '', status: 0, ended: false }
  const asked = request({ port: api.port, host: '127.0.0.1', path: `/api/v1/nodes?watch=1&${query}` }, (response) => {
    watch.status = response.statusCode ?? 0
    response.setEncoding('utf8')
    response.on('data', (chunk: string) => {
      const all = (watch.rest + chunk).split('\n')
      watch.rest = all.pop() ?? ''
      lines.push(...all)
    })
    response.on('error', () => {})
    response.on('close', () => {
      watch.ended = true
    })
  })
  asked.on('error', () => {
    watch.ended = true
  })
  asked.end()
  return watch
}
const seen = (expected: string, watch: ReturnType<typeof watched>, look: () => boolean) =>
  eventually(expected, look, { sight: () => watch, within: 10_000 })

describe('the stand-in of the Kubernetes API', () => {
  test('lists nodes with one version for all, selects by label, and remembers who asked', async () => {
    const api = await started()
    api.store.put(NODES, nodeObject({ name: 'n1' }))
    api.store.put(NODES, nodeObject({ name: 'w1', roles: ['worker'] }))
    const all = await ask(api, '/api/v1/nodes')
    expect(all.json).toMatchObject({ kind: 'NodeList', metadata: { resourceVersion: '1002' } })
    expect(all.json.items).toHaveLength(2)
    const workers = await ask(
      api,
      `/api/v1/nodes?labelSelector=${encodeURIComponent('node-role.kubernetes.io/worker')}`,
    )
    expect(workers.json.items).toMatchObject([{ metadata: { name: 'w1' } }])
    expect(api.requests.map(({ verb, status }) => [verb, status])).toEqual([
      ['list', 200],
      ['list', 200],
    ])
  })

  test('a watch resumes where it was told, says bookmarks, and 410 after a compaction', async () => {
    const api = await started({ bookmarksEvery: 20 })
    api.store.put(NODES, nodeObject({ name: 'n1' }))
    const from = api.store.version
    api.store.put(NODES, nodeObject({ name: 'n2' }))
    const watch = watched(api, `resourceVersion=${from}&allowWatchBookmarks=true`)
    await seen('n2 and a bookmark', watch, () => watch.lines.some((line) => line.includes('"BOOKMARK"')))
    expect(watch.lines.map((line) => JSON.parse(line).type)[0]).toBe('ADDED')
    expect(watch.lines[0]).toContain('"n2"')
    expect(watch.lines.some((line) => line.includes('"n1"'))).toBe(false)
    api.store.remove(NODES, 'n1')
    await seen('the removal', watch, () => watch.lines.some((line) => line.includes('"DELETED"')))
    api.store.compact()
    expect(await ask(api, `/api/v1/nodes?watch=1&resourceVersion=${from}`)).toMatchObject({
      status: 410,
      json: { reason: 'Expired', code: 410 },
    })
  })

  test('an open watch can be silenced, told an error and cut in the middle of a line', async () => {
    const api = await started()
    const watch = watched(api, `resourceVersion=${api.store.version}`)
    const [open] = await eventually('a watch', () => api.watches.size === 1 && [...api.watches], {
      sight: () => api.requests,
      within: 10_000,
    })
    open?.silence()
    api.store.put(NODES, nodeObject({ name: 'n1' }))
    open?.speak()
    open?.error(410, 'Expired')
    await seen('two lines', watch, () => watch.lines.length === 2)
    expect(watch.lines.map((line) => JSON.parse(line).type)).toEqual(['ADDED', 'ERROR'])
    open?.cutInLine('MODIFIED', nodeObject({ name: 'n1' }))
    await seen('its end in half a line', watch, () => watch.ended && watch.rest.length > 10)
  })

  test('obeys faults as often as told, and dies and comes back on its port', async () => {
    const api = await started()
    api.fail('list', { kind: 'status', code: 429, retryAfter: 3 }, 1)
    const tooMany = await fetch(`http://127.0.0.1:${api.port}/api/v1/nodes`)
    expect([tooMany.status, tooMany.headers.get('retry-after')]).toEqual([429, '3'])
    expect((await ask(api, '/api/v1/nodes')).status).toBe(200)
    api.fail('list', { kind: 'silence' }, 1)
    await expect(ask(api, '/api/v1/nodes', { signal: AbortSignal.timeout(100) })).rejects.toThrow(/abort|timeout/i)
    const { port } = api
    await api.stop()
    await expect(ask(api, '/api/v1/nodes')).rejects.toThrow()
    await api.start()
    expect([api.port, (await ask(api, '/api/v1/nodes')).status]).toEqual([port, 200])
  })

  test('knows tokens', async () => {
    const api = await started({ tokens: ['good'], authorize: ({ verb }) => (verb === 'create' ? 403 : undefined) })
    const as = (token: string, init: RequestInit = {}) =>
      ask(api, '/api/v1/nodes', { ...init, headers: { authorization: `Bearer ${token}` } })
    expect((await as('bad')).status).toBe(401)
    expect((await as('good')).status).toBe(200)
    expect((await as('good', { method: 'POST', body: '{}' })).json).toMatchObject({ code: 403, reason: 'Forbidden' })
  })

  test('applies a status by fields: conditions merged by type, what is no longer sent goes, others stay', async () => {
    const collection = 'holdfast.example/v1/things'
    const path = '/apis/holdfast.example/v1/things/cluster/status'
    const api = await started({ kinds: { [collection]: 'Thing' } })
    api.store.put(collection, {
      ...{ apiVersion: 'holdfast.example/v1', kind: 'Thing', metadata: { name: 'cluster' }, spec: { a: 1 } },
    })
    const apply = (manager: string, status: unknown, more = '') =>
      ask(api, `${path}?fieldManager=${manager}${more}`, {
        method: 'PATCH',
        headers: { 'content-type': 'application/apply-patch+yaml' },
        body: JSON.stringify({
          ...{ apiVersion: 'holdfast.example/v1', kind: 'Thing', metadata: { name: 'cluster' }, status },
        }),
      })
    const condition = (type: string, status: string) => ({ type, status })
    await apply('n1', { owner: 'n1', conditions: [condition('A', 'True')] })
    const both = await apply('n2', { conditions: [condition('B', 'False')] })
    expect(both.json).toMatchObject({
      spec: { a: 1 },
      status: { owner: 'n1', conditions: [condition('A', 'True'), condition('B', 'False')] },
    })
    const conflict = await apply('n2', { owner: 'n2' })
    expect([conflict.status, conflict.json.message]).toEqual([409, 'conflict with "n1": .status.owner'])
    const forced = await apply('n2', { owner: 'n2' }, '&force=true')
    expect(forced.json.status).toEqual({ owner: 'n2', conditions: [condition('A', 'True')] })
    expect([...api.ownersOf(collection, 'cluster')].map(([manager, fields]) => [manager, [...fields]])).toEqual([
      ['n1', ['.status.conditions[type=A].type', '.status.conditions[type=A].status']],
      ['n2', ['.status.owner']],
    ])
    const event = await ask(api, '/api/v1/namespaces/default/events', {
      ...{ method: 'POST', body: JSON.stringify({ metadata: { generateName: 'x.' }, reason: 'Failover' }) },
    })
    expect(event).toMatchObject({ status: 201, json: { reason: 'Failover', metadata: { namespace: 'default' } } })
  })
})
