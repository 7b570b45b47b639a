/** The agent's metrics: /metrics and the documentation have the metrics of the table in the code. */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Account } from '../../../src/cluster/runtime/account.ts'
import { AGENT_METRICS } from '../../../src/cluster/runtime/account-metrics.ts'
import { serveMetrics } from '../../../src/cluster/runtime/metrics-server.ts'

const DOCUMENT = readFileSync(join(import.meta.dirname, '..', '..', '..', 'docs', 'agent.md'), 'utf8')
const NAMES = Object.keys(AGENT_METRICS)
const sampleIn = (text: string, sample: string) =>
  text
    .split('\n')
    .find((line) => line.startsWith(`${sample} `))
    ?.split(' ')
    .at(-1)

test('the documentation has each metric of the agent, and no other', () => {
  const written = DOCUMENT.split('\n').flatMap(
    (line) => /^\| `(holdfast_agent_\w+)(?:\{\w+\})?` \|/.exec(line)?.[1] ?? [],
  )
  expect([...written].sort()).toEqual([...NAMES].sort())
  for (const [name, metric] of Object.entries(AGENT_METRICS))
    expect(DOCUMENT).toContain(`| \`${name}${'label' in metric ? `{${metric.label}}` : ''}\` |`)
})

test("the samples have the agent's counters", () => {
  const account = new Account()
  expect(account.text(0)).not.toMatch(/^holdfast_agent_(events_total|last_list_age_seconds)/m)
  account.phase = 'watching'
  account.lastListAt = 1_000
  account.failed('forbidden')
  account.statusFailed('refused')
  account.handed('accepted')
  account.handed('refused')
  account.status = () => ({
    ...{ writes: { written: 4, overwritten: 1 }, specsRefused: 2 },
    events: { told: 3, dropped: 5, waiting: 1 },
  })
  const text = account.text(61_000)
  for (const [sample, value] of [
    ['holdfast_agent_watch_state{state="watching"}', '1'],
    ['holdfast_agent_watch_state{state="waiting"}', '0'],
    ['holdfast_agent_last_list_age_seconds', '60'],
    ['holdfast_agent_api_failures_total{kind="forbidden"}', '1'],
    ['holdfast_agent_hand_overs_total{result="refused"}', '1'],
    ['holdfast_agent_engine_refuses', '1'],
    ['holdfast_agent_status_writes_total{result="overwritten"}', '1'],
    ['holdfast_agent_status_watch_failures_total{kind="refused"}', '1'],
    ['holdfast_agent_specs_refused_total', '2'],
    ['holdfast_agent_events_total{result="dropped"}', '5'],
    ['holdfast_agent_events_waiting', '1'],
  ] as const)
    expect(sampleIn(text, sample), sample).toBe(value)
  for (const name of NAMES) expect(text).toContain(`# TYPE ${name} `)
  account.handed('lost')
  expect(sampleIn(account.text(0), 'holdfast_agent_engine_refuses'), 'a lost one takes no refusal back').toBe('1')
  account.handed('accepted')
  expect(sampleIn(account.text(0), 'holdfast_agent_engine_refuses')).toBe('0')
})

test('/healthz answers ok while the process runs, whatever API and engine do', async () => {
  const free = createServer().listen(0, '127.0.0.1')
  await once(free, 'listening')
  const address = free.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  free.close()
  await once(free, 'close')
  const account = new Account()
  account.phase = 'waiting'
  const server = await serveMetrics({ host: '127.0.0.1', port }, account)
  if (server instanceof Error) throw server
  const ask = async (path: string, method = 'GET') => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { method })
    return [response.status, await response.text()] as const
  }
  try {
    expect(await ask('/healthz')).toEqual([200, 'ok\n'])
    expect((await ask('/metrics'))[1]).toContain('holdfast_agent_engine_connected 0\n')
    expect((await ask('/else'))[0]).toBe(404)
    expect((await ask('/metrics', 'POST'))[0]).toBe(405)
  } finally {
    server.close()
  }
})
