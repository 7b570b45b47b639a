/** What of HostedNetServices the agent's log says: a cluster that has none, or forbids it, is no flood. */
import { expect, test } from 'vitest'
import { statusNews } from '../../../src/cli/agent/agent-status.ts'
import { ApiFailure } from '../../../src/cluster/runtime/api/api-failure.ts'

function listened() {
  const told: string[] = []
  const news = statusNews(({ level }, message) => {
    if (level !== 'debug') told.push(`${level} ${message}`)
  })
  return { told, ...news }
}
const forbidden = (times: number) =>
  new ApiFailure('forbidden', `Cannot list hostednetservices, attempt ${times}: 403`, { status: 403 })

test('no such resource is told once, whoever finds it out, and again after it was there', () => {
  const { told, onFailure, onNews } = listened()
  const missing = {
    kind: 'missing',
    part: 'claims',
    why: 'the object HostedNetServices "cluster" does not exist',
  } as const
  const absent = 'info this cluster has no HostedNetServices: the holders of the VIPs are not published'
  for (let i = 0; i < 3; i++) {
    onFailure(new ApiFailure('refused', `Cannot list: 404, attempt ${i}`, { status: 404 }))
    onNews(missing)
  }
  expect(told).toEqual([absent])
  onNews({ kind: 'published', part: 'claims', body: '{}' })
  onNews(missing)
  expect(told).toEqual([absent, absent])
})

test('no right is a warning for each that is missed, once; an API that is gone is told elsewhere', () => {
  const { told, onFailure, onNews } = listened()
  for (let i = 1; i <= 3; i++) {
    onFailure(forbidden(i))
    onNews({ kind: 'refused', part: 'claims', why: '403: may not patch' })
    onNews({ kind: 'refused', part: 'conditions', why: '403: may not patch' })
    onFailure(new ApiFailure('unreachable', 'Cannot list: connection refused'))
  }
  expect(told).toEqual([
    'warn Cannot follow HostedNetServices: Cannot list hostednetservices, attempt 1: 403',
    'warn Cannot write the status of HostedNetServices: refused (403: may not patch)',
  ])
})
