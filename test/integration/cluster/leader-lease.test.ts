/** The tests run two operators with one Lease, against the stand-in of the API. */
import { expect, onTestFinished, test } from 'vitest'
import { ClusterClient } from '../../../src/cluster/runtime/api/cluster-client.ts'
import { LEASE_NAME, LeaderLease } from '../../../src/cluster/runtime/operator/leader-lease.ts'
import { StatusApi, sendBy } from '../../../src/cluster/runtime/status/status-api.ts'
import { eventually, sleep } from '../../../src/lab/wait.ts'
import { KubeApi } from '../../support/kube-api/server.ts'

const LEASES = 'coordination.k8s.io/v1/leases'
const SOON = { within: 10_000, every: 20 }
const TIMES = { duration: 2_000, renewEvery: 100, renewWithin: 1_200 }

async function started(work: Promise<void> = Promise.resolve()) {
  const api = await new KubeApi().start()
  onTestFinished(() => api.stop())
  const client = new ClusterClient(async () => [{ server: `http://127.0.0.1:${api.port}`, options: {} }], {
    within: 300,
  })
  const operators = ['a', 'b'].map((self) => {
    const ending = new AbortController()
    const seen = { isLeading: false, changes: [] as boolean[], others: [] as string[], failures: [] as string[] }
    const lease = new LeaderLease({
      ...{ self, namespace: 'ns', times: TIMES, api: new StatusApi(sendBy(client)) },
      onLeading(isLeading) {
        seen.isLeading = isLeading
        seen.changes.push(isLeading)
        return isLeading ? undefined : work
      },
      onOther: (holder) => seen.others.push(holder),
      onFailure: ({ kind }) => seen.failures.push(kind),
    })
    const isOver = lease.run(ending.signal)
    const end = async () => {
      ending.abort()
      await isOver
    }
    onTestFinished(end)
    return { self, seen, end }
  })
  const leaders = () => operators.filter(({ seen }) => seen.isLeading)
  const leads = async () => {
    await eventually('one operator to lead', () => leaders().length === 1, { sight: () => operators, ...SOON })
    const [one] = leaders()
    const other = operators.find((each) => each !== one)
    if (one === undefined || other === undefined) throw new Error('No operator leads')
    return { one, other }
  }
  return { api, leads }
}

test('one of two operators leads; the other follows immediately when the first gives the Lease back', async () => {
  const { api, leads } = await started()
  const { one, other } = await leads()
  await sleep(TIMES.duration + 500)
  expect([one.seen.changes, other.seen.changes]).toEqual([[true], []])
  expect(other.seen.others).toEqual([one.self])
  await one.end()
  const before = performance.now()
  await eventually('the other one', () => other.seen.isLeading, { sight: () => other, ...SOON })
  expect(performance.now() - before).toBeLessThan(TIMES.duration)
  expect(one.seen.changes).toEqual([true, false])
  expect(api.store.get(LEASES, LEASE_NAME, 'ns')?.spec).toMatchObject({ holderIdentity: other.self })
})

test('an operator that cannot renew the Lease stops before another one may take it', async () => {
  const { api, leads } = await started()
  const { one } = await leads()
  const ends = api.fail('update', { kind: 'silence' })
  const silentAt = performance.now()
  await eventually('the end of the lead', () => !one.seen.isLeading, { sight: () => one, ...SOON })
  expect(performance.now() - silentAt).toBeLessThan(TIMES.duration)
  expect(one.seen.failures).toContain('failed')
  ends()
  await leads()
})

test('an operator gives the Lease back after its work has ended', async () => {
  let finish = () => {}
  const { api, leads } = await started(new Promise((resolve) => (finish = resolve)))
  const { one, other } = await leads()
  const holder = () => Object(api.store.get(LEASES, LEASE_NAME, 'ns')?.spec).holderIdentity
  const isOver = one.end()
  await sleep(500)
  expect([one.seen.isLeading, holder()]).toEqual([false, one.self])
  finish()
  await isOver
  expect(holder()).not.toBe(one.self)
  await eventually('the other one', () => other.seen.isLeading, { sight: () => other, ...SOON })
})
