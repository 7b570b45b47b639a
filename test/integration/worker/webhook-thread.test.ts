/** The engine's side of the webhook: the messages to the worker, and the events of a thread that dies. */
import { expect, test } from 'vitest'
import { Chronicle } from '../../../src/daemon/telemetry/chronicle.ts'
import type { Fact } from '../../../src/events/event.ts'
import { webhookBodySchema } from '../../../src/events/event-page.ts'
import type { WebhookOrder, WebhookSpec } from '../../../src/notify/webhook.ts'
import { millis } from '../../../src/wire/units.ts'
import { MOST_WAITING, WebhookThread } from '../../../src/worker/webhook-thread.ts'
import type { EngineMessage } from '../../../src/worker/worker-message.ts'
import type { WorkerClient } from '../../../src/worker/worker-thread.ts'

const SPEC: WebhookSpec = {
  url: 'http://user:geheim@127.0.0.1:1/hook',
  events: ['reloaded', 'foreignChange', 'checkChanged'],
  headers: {},
  timeout: millis(100),
  retry: { first: millis(10), most: millis(20), giveUpAfter: millis(60_000) },
}

/** A simulated worker thread, as far as the engine's side of the webhook uses the thread. */
class FakeThread {
  client: WorkerClient | undefined
  wanted = false
  orders: WebhookOrder[] = []
  register(client: WorkerClient): void {
    this.client = client
  }
  keep(client: WorkerClient, wanted: boolean): void {
    const stayed = this.wanted
    this.wanted = wanted
    if (wanted && !stayed) client.onStart()
  }
  post(message: EngineMessage): void {
    if (message.kind === 'webhookOrder') this.orders.push(message.order)
  }
  /** Starts the simulated thread again. */
  die(): void {
    this.orders = []
    this.client?.onEnd()
    this.client?.onStart()
  }
  get delivered() {
    return this.orders.flatMap((order) => (order.kind === 'deliver' ? [order.delivery] : []))
  }
}

function hook() {
  const thread = new FakeThread()
  const lines: string[] = []
  const webhook = new WebhookThread(thread, ({ level }, message) => lines.push(`${level} ${message}`))
  const chronicle = new Chronicle({ wall: () => 0, monotonic: () => 0 })
  chronicle.subscribe((event) => webhook.happened(event))
  const turn = async (...facts: readonly Fact[]) => {
    for (const fact of facts) chronicle.record(fact)
    const during = thread.orders.length
    await new Promise((resolve) => setImmediate(resolve))
    return during
  }
  const hear = (news: Extract<Parameters<WorkerClient['onMessage']>[0], { kind: 'webhook' }>['news']) =>
    thread.client?.onMessage({ kind: 'webhook', news })
  return { thread, webhook, lines, turn, hear }
}

const reloaded: Fact = { kind: 'reloaded', ok: true }
const removed = (router: string): Fact => ({
  ...{ kind: 'foreignChange', router, address: '10.0.0.1', interface: 'eth0' },
  ...{ change: 'removed', answer: 'addedAgain' },
})

test('nothing is posted without a URL; with one, the chosen events are posted after their turn', async () => {
  const { thread, webhook, turn } = hook()
  await turn(reloaded)
  expect([thread.wanted, thread.orders, webhook.snapshot()]).toEqual([false, [], null])
  webhook.set(SPEC)
  expect(await turn(reloaded, removed('api'), { kind: 'stopped' }), 'orders within the turn').toBe(0)
  expect(thread.delivered.map(({ lane }) => lane)).toEqual(['node', 'api'])
  const [first, second] = thread.delivered.map(({ body }) => webhookBodySchema.parse(JSON.parse(body)))
  expect(first).toMatchObject({ version: 1, id: thread.delivered[0]?.id, event: { kind: 'reloaded' } })
  expect(second?.event).toMatchObject({ kind: 'foreignChange', router: 'api' })
  expect(first?.id).not.toBe(second?.id)
  expect(webhook.snapshot()).toMatchObject({ to: 'http://127.0.0.1:1/…', waiting: 2, delivered: 0, failing: false })
})

test('the answer of a target is not posted', async () => {
  const { thread, webhook, turn } = hook()
  webhook.set(SPEC)
  await turn({ kind: 'checkChanged', check: 'lb', from: 'up', to: 'down', detail: 'geheim', effects: [] })
  expect(thread.delivered[0]?.body).not.toContain('geheim')
})

test('after a thread dies, events that have not arrived go to the next one with the same ids', async () => {
  const { thread, webhook, turn, hear } = hook()
  webhook.set(SPEC)
  await turn(removed('a'), removed('b'), removed('c'))
  const ids = thread.delivered.map(({ id }) => id)
  hear({ kind: 'delivered', id: ids[0] ?? '' })
  thread.die()
  expect(thread.orders[0]).toEqual({ kind: 'setWebhook', spec: SPEC })
  expect(thread.delivered.map(({ id }) => id)).toEqual(ids.slice(1))
  // The next message comes from the earlier thread.
  hear({ kind: 'delivered', id: ids[0] ?? '' })
  expect(webhook.snapshot()).toMatchObject({ delivered: 1, waiting: 2 })
})

test('the number of waiting events is limited; the oldest are lost, counted and logged', async () => {
  const { thread, webhook, turn, lines } = hook()
  webhook.set(SPEC)
  await turn(reloaded)
  await turn(...Array.from({ length: MOST_WAITING + 1 }, () => reloaded))
  const oldest = thread.delivered.slice(0, 2).map(({ id }) => id)
  expect(thread.orders.flatMap((order) => (order.kind === 'forget' ? [order.id] : []))).toEqual(oldest)
  expect(webhook.snapshot()).toMatchObject({ waiting: MOST_WAITING, overflow: 2, failing: true })
  expect(lines).toHaveLength(2)
  expect(lines[0]).toBe(
    'warn Webhook http://127.0.0.1:1/…: an event is lost: overflow (more than 1000 events are waiting)',
  )
})

test('failures, losses and recovery are counted and logged', async () => {
  const { thread, webhook, turn, hear, lines } = hook()
  webhook.set(SPEC)
  await turn(removed('a'), removed('b'))
  const [a = '', b = ''] = thread.delivered.map(({ id }) => id)
  hear({ kind: 'failed', id: a, detail: 'status 500' })
  expect(webhook.snapshot()).toMatchObject({ failing: true, failedAttempts: 1, waiting: 2 })
  hear({ kind: 'lost', id: a, reason: 'refused', detail: 'status 401' })
  hear({ kind: 'delivered', id: b })
  expect(webhook.snapshot()).toMatchObject({ failing: false, refused: 1, delivered: 1, waiting: 0 })
  expect(lines).toEqual([
    'warn Webhook http://127.0.0.1:1/…: Cannot post an event: status 500; holdfast tries again',
    'warn Webhook http://127.0.0.1:1/…: an event is lost: refused (status 401)',
    'info Webhook http://127.0.0.1:1/…: events arrive again',
  ])
})

test('at the end, waiting events are posted without delay for a limited time', async () => {
  const { thread, webhook, turn, hear, lines } = hook()
  webhook.set(SPEC)
  await webhook.finish(60_000)
  await turn(removed('a'))
  const arrived = webhook.finish(60_000)
  expect(thread.orders.at(-1)).toEqual({ kind: 'hurry' })
  hear({ kind: 'delivered', id: thread.delivered[0]?.id ?? '' })
  await arrived
  await turn(removed('b'))
  await webhook.finish(10)
  expect(lines).toEqual([
    'warn Webhook http://127.0.0.1:1/…: holdfast stops: 1 events have not reached the receiver and are dropped',
  ])
})

test('a reload without a URL drops the waiting events and ends the thread', async () => {
  const { thread, webhook, turn } = hook()
  webhook.set(SPEC)
  await turn(removed('a'))
  webhook.set({ ...SPEC, url: 'http://other/' })
  expect(thread.orders.at(-1)).toMatchObject({ kind: 'setWebhook', spec: { url: 'http://other/' } })
  webhook.set(undefined)
  expect([thread.wanted, webhook.snapshot()]).toEqual([false, null])
})
