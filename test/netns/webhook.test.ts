/** Events of a real daemon at a real webhook receiver, which is absent at first, then fails, then works. */
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import type { JournalEvent } from '../../src/events/event.ts'
import { webhookBodySchema } from '../../src/events/event-page.ts'
import { Holdfast } from '../../src/lab/daemons/holdfast.ts'
import { createLab, LAB_VIP, type Lab } from '../../src/lab/lab.ts'
import { LoggedProcess } from '../../src/lab/logged-process.ts'
import { eventually } from '../../src/lab/wait.ts'
import { describeNetns } from '../support/require.ts'

const RECEIVER = join(import.meta.dirname, '..', 'support', 'webhook-receiver.mjs')
const PORT = 8080
const FAILURES = 3

describeNetns('the receiver of a webhook', () => {
  let lab: Lab | undefined
  afterEach(() => lab?.destroy())

  test('gets each event once and in order, even if it is late, and no takeover waits for it', async () => {
    lab = createLab({ routers: 1 })
    const { client } = lab
    const webhook = {
      url: `http://${client.address}:${PORT}/hook`,
      events: ['started', 'transition', 'stopOrdered', 'stopped'],
      timeout: '1s',
      retry: { first: '100ms', most: '500ms' },
    }
    const plan = { host: lab.router(1), priority: 200, intervalMs: 100, address: LAB_VIP }
    const daemon = new Holdfast(lab, plan, {}, [], { notify: { webhook } })
    await daemon.ready()
    await daemon.becomes('Active', 10_000)
    const status = async () => (await daemon.snapshot())?.webhook
    await eventually('attempts to fail', async () => ((await status())?.failedAttempts ?? 0) > 0, {
      sight: status,
      within: 10_000,
    })
    expect(await status()).toMatchObject({ to: `${new URL(webhook.url).origin}/…`, failing: true, delivered: 0 })

    const receiver = new LoggedProcess(lab, client, [
      process.execPath,
      RECEIVER,
      `${client.address}:${PORT}`,
      `${FAILURES}`,
    ])
    const posts = () =>
      receiver.lines.flatMap(({ text }) => {
        const post: { status: number; attempt: number; body: unknown } | 'listening' = JSON.parse(text)
        return post === 'listening' ? [] : [post]
      })
    const taken = () =>
      posts()
        .filter(({ status }) => status === 204)
        .map(({ body }) => webhookBodySchema.parse(body))
    const arrived = async (kinds: readonly string[]) =>
      eventually(
        `these events to arrive: ${kinds}`,
        () => kinds.every((kind) => taken().some(({ event }) => wordsOf(event) === kind)),
        { sight: () => taken().map(({ event }) => wordsOf(event)), within: 20_000, every: 50 },
      )
    await arrived(['started', 'vip Backup', 'vip Active'])
    await eventually('all of them to have arrived', async () => (await status())?.waiting === 0, {
      sight: status,
      within: 10_000,
    })
    expect(await status()).toMatchObject({ failing: false, delivered: taken().length, refused: 0, expired: 0 })
    expect(posts().filter(({ status: code }) => code === 500)).toHaveLength(FAILURES)

    daemon.terminate()
    await daemon.exited
    await arrived(['vip Leaving', 'stopped'])
    const ids = taken().map(({ id }) => id)
    expect(new Set(ids).size, 'number of different event ids, as many as events').toBe(ids.length)
    const lane = taken().filter(({ event }) => event.kind === 'transition')
    const order = lane.map(({ event }) => event.monotonicMs)
    expect(order, 'times of the events of one router').toEqual([...order].sort((a, b) => a - b))
    expect(lane.map(({ event }) => wordsOf(event))).toEqual([
      'vip Backup',
      'vip Active',
      'vip Leaving',
      'vip Initialize',
    ])
  })
})

const wordsOf = (event: JournalEvent): string =>
  event.kind === 'transition' ? `${event.router} ${event.to}` : event.kind
