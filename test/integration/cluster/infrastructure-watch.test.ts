/**
 * The location of the VIPs in the Infrastructure object, as the agent's own client reads it: only a readable answer
 * counts, and the request is repeated.
 */
import { afterEach, expect, test } from 'vitest'
import type { Elsewhere } from '../../../src/cluster/decisions/engine/platform.ts'
import { ClusterClient } from '../../../src/cluster/runtime/api/cluster-client.ts'
import { watchInfrastructure } from '../../../src/cluster/runtime/api/infrastructure-watch.ts'
import { eventually } from '../../../src/lab/wait.ts'
import { KubeApi } from '../../support/kube-api/server.ts'

const INFRASTRUCTURES = 'config.openshift.io/v1/infrastructures'
const SOON = { within: 10_000, every: 10 }
const end: (() => unknown)[] = []
afterEach(async () => {
  for (const each of end.splice(0).reverse()) await each()
})

test("a cloud platform and a user's load balancer are reported; silence, 403, 404, 5xx and invalid answers change nothing", async () => {
  const api = await new KubeApi().start()
  end.push(() => api.stop())
  const answers: (Elsewhere | undefined)[] = []
  const ending = new AbortController()
  const client = new ClusterClient(async () => [{ server: `http://127.0.0.1:${api.port}`, options: {} }], {
    within: 300,
  })
  const over = watchInfrastructure(client, (one) => answers.push(one), ending.signal, { again: 20, afterFailure: 20 })
  end.push(async () => {
    ending.abort()
    await over
  })
  const told = (count: number) =>
    eventually(`${count} answers`, () => answers.length >= count, { sight: () => answers, ...SOON })
  const asked = () => api.requests.filter(({ path }) => path.includes('infrastructures')).length
  const askedTwice = async () => {
    const before = asked()
    await eventually('two more questions', () => asked() >= before + 3, { sight: asked, ...SOON })
  }
  const put = (status: unknown) => api.store.put(INFRASTRUCTURES, { metadata: { name: 'cluster' }, status })
  // The API answers with status 404.
  await askedTwice()
  expect(answers).toEqual([])
  put({ platformStatus: { type: 'AWS' } })
  await told(2)
  expect(answers.at(-1)?.reason).toBe('UnsupportedPlatform')
  for (const failure of [
    { kind: 'status', code: 403 },
    { kind: 'status', code: 500 },
    { kind: 'silence' },
    { kind: 'garbage' },
  ] as const) {
    const over = api.fail('get', failure)
    await askedTwice()
    const { length } = answers
    await askedTwice()
    expect(answers, JSON.stringify(failure)).toHaveLength(length)
    over()
  }
  put({})
  await askedTwice()
  const { length } = answers
  await askedTwice()
  expect(answers).toHaveLength(length)
  put({ platformStatus: { type: 'BareMetal', baremetal: { loadBalancer: { type: 'UserManaged' } } } })
  await told(length + 1)
  expect(answers.at(-1)?.reason).toBe('UserManagedLoadBalancer')
  put({ platformStatus: { type: 'BareMetal' } })
  await eventually('the nodes to hold the VIPs', () => answers.at(-1) === undefined, {
    sight: () => answers.slice(-3),
    ...SOON,
  })
})
