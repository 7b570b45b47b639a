/**
 * Delivery of events to a URL: to a real server that fails, hangs and comes back, and to a simulated receiver made of
 * promises.
 */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { expect, test } from 'vitest'
import { EVENT_KINDS } from '../../../src/config/schema/webhook.ts'
import { parseConfig } from '../../../src/config/text/yaml.ts'
import { eventSchema } from '../../../src/events/event.ts'
import { monotonicNow } from '../../../src/healthcheck/probe.ts'
import { eventually } from '../../../src/lab/wait.ts'
import { type WebhookDelivery, type WebhookNews, type WebhookSpec, whereOf } from '../../../src/notify/webhook.ts'
import { type Outcome, posting } from '../../../src/notify/webhook-post.ts'
import { WebhookService } from '../../../src/notify/webhook-service.ts'
import { millis } from '../../../src/wire/units.ts'
import { closeServersAfterEach, serveHttp } from '../../support/loopback-server.ts'

closeServersAfterEach()

const RETRY = { first: millis(20), most: millis(80), giveUpAfter: millis(60_000) }
const spec = (port: number, more: Partial<WebhookSpec> = {}): WebhookSpec => ({
  url: `http://127.0.0.1:${port}/hook?key=geheim`,
  events: ['transition'],
  headers: { authorization: 'Bearer geheim' },
  timeout: millis(200),
  retry: RETRY,
  ...more,
})
const delivery = (id: string, lane = 'api', ageMs = 0): WebhookDelivery => ({
  id,
  lane,
  body: JSON.stringify({ id }),
  postedAt: millis(monotonicNow() - ageMs),
})

type Seen = {
  readonly id: string
  readonly attempt: number
  readonly headers: IncomingHttpHeaders
  readonly at: number
}

/**
 * Starts a server that answers each request as the test orders, by the number of the request, and stores the requests.
 */
async function receiver(answer: (nth: number, response: ServerResponse) => void) {
  const seen: Seen[] = []
  const take = async (request: IncomingMessage, response: ServerResponse) => {
    let body = ''
    for await (const chunk of request.setEncoding('utf8')) body += chunk
    const { id } = JSON.parse(body)
    seen.push({
      id,
      attempt: Number(request.headers['holdfast-attempt']),
      headers: request.headers,
      at: monotonicNow(),
    })
    answer(seen.length, response)
  }
  const server = await serveHttp((request, response) => void take(request, response).catch(() => response.destroy()))
  return { seen, port: server.port, stop: () => server.stop('rst') }
}

const status =
  (code: number, headers: Readonly<Record<string, string>> = {}) =>
  (response: ServerResponse) =>
    void response.writeHead(code, headers).end('not read')

function service(post = posting('holdfast/test')) {
  const news: WebhookNews[] = []
  const made = new WebhookService((one) => news.push(one), post)
  const ends = () => news.filter(({ kind }) => kind !== 'failed').map(({ kind, id }) => `${id} ${kind}`)
  const hears = (expected: readonly string[]) =>
    eventually(`this to become of the events: ${expected}`, () => ends().join() === expected.join(), {
      sight: () => news,
      within: 10_000,
    })
  return { service: made, news, hears, ends }
}

test('the receiver gets the body, its id and the configured headers', async () => {
  const { seen, port } = await receiver((_, response) => status(204)(response))
  const { service: hook, hears } = service()
  hook.obey({ kind: 'setWebhook', spec: spec(port) })
  hook.obey({ kind: 'deliver', delivery: delivery('a') })
  await hears(['a delivered'])
  expect(seen).toHaveLength(1)
  expect(seen[0]).toMatchObject({ id: 'a', attempt: 1 })
  expect(seen[0]?.headers).toMatchObject({
    authorization: 'Bearer geheim',
    'content-type': 'application/json',
    'idempotency-key': 'a',
    'user-agent': 'holdfast/test',
  })
  expect(whereOf(spec(port)), 'what may be told').toBe(`http://127.0.0.1:${port}/…`)
})

test('events are posted again in order with their own ids if the server fails, hangs or closes', async () => {
  const answers = [status(500), status(429), () => {}, (response: ServerResponse) => void response.destroy()]
  const { seen, port } = await receiver((nth, response) => (answers[nth - 1] ?? status(200))(response))
  const { service: hook, news, hears } = service()
  hook.obey({ kind: 'setWebhook', spec: spec(port) })
  for (const id of ['a', 'b', 'c']) hook.obey({ kind: 'deliver', delivery: delivery(id) })
  await hears(['a delivered', 'b delivered', 'c delivered'])
  expect(seen.map(({ id, attempt }) => `${id}${attempt}`)).toEqual(['a1', 'a2', 'a3', 'a4', 'a5', 'b1', 'c1'])
  const details = news.flatMap((one) => (one.kind === 'failed' ? [one.detail] : []))
  expect(details).toEqual(['status 500', 'status 429', expect.stringContaining('200 ms'), expect.any(String)])
  expect(JSON.stringify(news), 'no secret is told').not.toContain('geheim')
})

test('events are delivered when an unreachable server returns', async () => {
  const first = await receiver((_, response) => status(200)(response))
  await first.stop()
  const { service: hook, news, hears } = service()
  hook.obey({ kind: 'setWebhook', spec: spec(first.port) })
  hook.obey({ kind: 'deliver', delivery: delivery('a') })
  await eventually('two attempts to fail', () => news.length >= 2, { sight: () => news, within: 10_000 })
  const back = await receiver((_, response) => status(200)(response))
  hook.obey({ kind: 'setWebhook', spec: spec(back.port) })
  await hears(['a delivered'])
  expect(back.seen[0]?.attempt).toBeGreaterThan(2)
})

test.each([400, 401, 404, 302])('status %i refuses the event, and the next one is posted', async (code) => {
  const { seen, port } = await receiver((nth, response) =>
    status(nth === 1 ? code : 200, { location: '/other' })(response),
  )
  const { service: hook, news, hears } = service()
  hook.obey({ kind: 'setWebhook', spec: spec(port) })
  hook.obey({ kind: 'deliver', delivery: delivery('a') })
  hook.obey({ kind: 'deliver', delivery: delivery('b') })
  await hears(['a lost', 'b delivered'])
  expect(news[0]).toEqual({ kind: 'lost', id: 'a', reason: 'refused', detail: `status ${code}` })
  expect(seen).toHaveLength(2)
})

test('Retry-After is used up to the longest wait', async () => {
  const { seen, port } = await receiver((nth, response) =>
    status(nth === 1 ? 503 : 200, { 'retry-after': '3600' })(response),
  )
  const { service: hook, hears } = service()
  hook.obey({ kind: 'setWebhook', spec: spec(port, { retry: { ...RETRY, most: millis(300) } }) })
  hook.obey({ kind: 'deliver', delivery: delivery('a') })
  await hears(['a delivered'])
  const [first, second] = seen.map(({ at }) => at)
  expect((second ?? 0) - (first ?? 0)).toBeGreaterThanOrEqual(290)
})

/** Attempts to post that end when the test orders it. */
function byHand() {
  const open: { readonly id: string; readonly attempt: number; readonly end: (outcome: Outcome) => void }[] = []
  const post = (_: WebhookSpec, { id }: WebhookDelivery, attempt: number) =>
    new Promise<Outcome>((end) => void open.push({ id, attempt, end }))
  const end = async (id: string, outcome: Outcome) => {
    const at = open.findIndex((each) => each.id === id)
    open.splice(at, 1)[0]?.end(outcome)
    await Promise.resolve()
    await Promise.resolve()
  }
  return { post, end, open: () => open.map(({ id }) => id) }
}
const DELIVERED: Outcome = { kind: 'delivered' }
const FAILED: Outcome = { kind: 'failed', detail: 'status 500' }

test('one event per router and four in total are posted in parallel, and a failing router delays no other', async () => {
  const { post, end, open } = byHand()
  const { service: hook, ends } = service(post)
  hook.obey({
    kind: 'setWebhook',
    spec: spec(1, { retry: { first: millis(60_000), most: millis(60_000), giveUpAfter: millis(3_600_000) } }),
  })
  for (const lane of ['a', 'b', 'c', 'd', 'e']) {
    for (const nth of [1, 2]) hook.obey({ kind: 'deliver', delivery: delivery(`${lane}${nth}`, lane) })
  }
  expect(open()).toEqual(['a1', 'b1', 'c1', 'd1'])
  await end('b1', DELIVERED)
  expect(open(), 'the others first').toEqual(['a1', 'c1', 'd1', 'e1'])
  await end('a1', FAILED)
  expect(open(), 'a waits for its time').toEqual(['c1', 'd1', 'e1', 'b2'])
  for (const id of ['c1', 'd1', 'e1', 'b2']) await end(id, DELIVERED)
  expect(open()).toEqual(['c2', 'd2', 'e2'])
  hook.obey({ kind: 'hurry' })
  expect(open(), 'the daemon ends: a is tried now').toEqual(['c2', 'd2', 'e2', 'a1'])
  await end('a1', DELIVERED)
  expect(open()).toEqual(['c2', 'd2', 'e2', 'a2'])
  expect(ends()).toEqual(['b1', 'c1', 'd1', 'e1', 'b2', 'a1'].map((id) => `${id} delivered`))
})

test('expired events are dropped, also waiting ones, and newer events are posted', async () => {
  const { post, end, open } = byHand()
  const { service: hook, news } = service(post)
  hook.obey({ kind: 'setWebhook', spec: spec(1) })
  hook.obey({ kind: 'deliver', delivery: delivery('a', 'api', 61_000) })
  hook.obey({ kind: 'deliver', delivery: delivery('b', 'api', 61_000) })
  hook.obey({ kind: 'deliver', delivery: delivery('c', 'api', 0) })
  await end('a', FAILED)
  expect(news).toEqual(['a', 'b'].map((id) => ({ kind: 'lost', id, reason: 'expired', detail: 'status 500' })))
  await eventually('c to be tried', () => open().join() === 'c', { sight: open, within: 5_000 })
})

test('a dropped event is not posted or reported again, and no event is posted without a URL', async () => {
  const { post, end, open } = byHand()
  const { service: hook, news } = service(post)
  hook.obey({ kind: 'setWebhook', spec: spec(1) })
  for (const id of ['a', 'b', 'c']) hook.obey({ kind: 'deliver', delivery: delivery(id) })
  hook.obey({ kind: 'forget', id: 'b' })
  hook.obey({ kind: 'forget', id: 'a' })
  await end('a', FAILED)
  expect([open(), news]).toEqual([['c'], []])
  hook.obey({ kind: 'setWebhook', spec: undefined })
  await end('c', FAILED)
  expect([open(), news]).toEqual([[], []])
})

test('waits double up to the longest, each between half and the whole wait', async () => {
  const attempts: number[] = []
  const post = async () => {
    attempts.push(monotonicNow())
    return FAILED
  }
  for (const [random, factor] of [
    [0, 0.5],
    [1, 1],
  ] as const) {
    attempts.length = 0
    const hook = new WebhookService(
      () => {},
      post,
      () => random,
    )
    hook.obey({ kind: 'setWebhook', spec: spec(1, { retry: { ...RETRY, first: millis(40), most: millis(160) } }) })
    hook.obey({ kind: 'deliver', delivery: delivery('a') })
    await eventually('five attempts', () => attempts.length >= 5, { sight: () => attempts, within: 10_000 })
    hook.obey({ kind: 'setWebhook', spec: undefined })
    const waits = attempts.slice(1).map((at, i) => at - (attempts[i] ?? 0))
    // A timer is never early by more than 2 ms. How late a timer is depends on the machine.
    for (const [i, least] of [40, 80, 160, 160].entries())
      expect(waits[i], `wait ${i + 1} of ${waits}`).toBeGreaterThanOrEqual(least * factor - 2)
  }
})

const file = (notify: string) =>
  `notify: ${notify}\nvirtualRouters:\n  - { name: a, vrid: 1, interface: eth0, addresses: [10.0.0.1] }\n`
const told = (notify: string) => {
  const parsed = parseConfig(file(notify), 'h.yaml')
  return 'problems' in parsed ? parsed.problems.map(({ message }) => message) : []
}

test('the configuration has defaults and accepts the kinds of the journal', () => {
  const parsed = parseConfig(file('{ webhook: { url: "https://x.example/hook" } }'), 'h.yaml')
  if ('problems' in parsed) throw new Error(JSON.stringify(parsed.problems))
  expect(parsed.config.notify?.webhook).toMatchObject({
    url: 'https://x.example/hook',
    events: expect.arrayContaining(['transition', 'duplicateHolder']),
    headers: {},
    timeout: 5_000,
    retry: { first: 500, most: 60_000, giveUpAfter: 3_600_000 },
  })
  expect([...EVENT_KINDS].sort()).toEqual(eventSchema.options.map(({ shape }) => shape.kind.value).sort())
})

test.each([
  [
    '{ webhook: { url: "ftp://geheim" } }',
    /notify\.webhook\.url: cannot use this value, expected a URL such as https:/,
  ],
  ['{ webhook: { url: geheim } }', /notify\.webhook\.url: cannot use this value, expected a URL such as https:/],
  ['{ webhook: { url: "http://x", headers: { "X Y": geheim } } }', /expected the name of a header$/],
  ['{ webhook: { url: "http://x", events: [geheim] } }', /expected started, .* or journalGap$/],
  ['{ webhook: { url: "http://x", geheim: 1 } }', /known keys are url, events, headers, timeout, retry/],
  ['{ webhook: { url: "http://x", retry: { first: 1ms } } }', /expected a duration from 10ms to 1h$/],
])('%s is told, without what is written', (notify, expected) => {
  const messages = told(notify)
  expect(messages.join('\n')).toMatch(expected)
  expect(messages.join('\n')).not.toContain('geheim')
})
