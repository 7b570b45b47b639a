import { connect, type Socket } from 'node:net'
import { describe, expect, test } from 'vitest'
import { IdleConnection } from '../../../src/healthcheck/connection/idle-connection.ts'
import type { ProbeResult } from '../../../src/healthcheck/probe-result.ts'
import { eventually, sleep } from '../../../src/lab/wait.ts'
import { millis } from '../../../src/wire/units.ts'
import { closeServersAfterEach, serveTcp } from '../../support/loopback-server.ts'

closeServersAfterEach()

const OK: ProbeResult = { outcome: 'ok', reason: 'ok', detail: '', latency: millis(1) }
const TIMEOUT: ProbeResult = { outcome: 'fail', reason: 'timeout', detail: '', latency: millis(1) }

const opener = (port: number) => (): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port })
    socket.once('connect', () => resolve(socket)).once('error', reject)
  })

type Watched = { readonly idle: IdleConnection; readonly events: () => number }

function watch(open: () => Promise<Socket>, renewAfter?: number): Watched {
  let events = 0
  const idle = new IdleConnection(open, () => events++, renewAfter)
  return { idle, events: () => events }
}

const armed = ({ idle }: Watched) =>
  eventually('a connection', () => idle.armed, { sight: () => idle.armed, within: 2_000 })

describe('the idle connection', () => {
  test('is opened after a run that went well, once', async () => {
    const server = await serveTcp()
    const watched = watch(opener(server.port))
    watched.idle.afterRun(TIMEOUT)
    expect(watched.idle.armed).toBe(false)
    watched.idle.afterRun(OK)
    watched.idle.afterRun(OK)
    await armed(watched)
    watched.idle.afterRun(OK)
    await sleep(20)
    expect(server.accepted()).toBe(1)
    watched.idle.close()
    await eventually('its end', () => server.open().length === 0, { sight: () => server.open().length, within: 1_000 })
    expect(watched.events(), 'an end of our own is no event').toBe(0)
  })

  test.each(['fin', 'rst'] as const)('its end by %s is one event, and it waits before it comes back', async (how) => {
    const server = await serveTcp()
    const watched = watch(opener(server.port))
    watched.idle.afterRun(OK)
    await armed(watched)
    await server.stop(how)
    await eventually('an event', () => watched.events() > 0, { sight: watched.events, within: 1_000 })
    await sleep(20)
    expect(watched.events()).toBe(1)
    expect(watched.idle.armed).toBe(false)
    const again = await serveTcp(() => {}, server.port)
    watched.idle.afterRun(OK)
    await sleep(50)
    expect(again.accepted(), 'it lived for a moment only, so its server is given time').toBe(0)
  })

  test('a server that ends it at once gets two of them in three seconds, however often runs go well', async () => {
    const server = await serveTcp((socket) => socket.end())
    const watched = watch(opener(server.port))
    const until = Date.now() + 2_800
    while (Date.now() < until) {
      watched.idle.afterRun(OK)
      await sleep(10)
    }
    expect(server.accepted()).toBe(2)
    expect(watched.events()).toBe(2)
  })

  test('is renewed, to be with the process that answers now, without a gap and without an event', async () => {
    const server = await serveTcp()
    const watched = watch(opener(server.port), 100)
    watched.idle.afterRun(OK)
    await armed(watched)
    const [first] = server.open()
    await sleep(120)
    watched.idle.afterRun(OK)
    expect(watched.idle.armed, 'the old one stays until the new one is there').toBe(true)
    await eventually('the old one is gone', () => first?.destroyed, {
      sight: () => server.open().length,
      within: 1_000,
    })
    expect(server.accepted()).toBe(2)
    expect(watched.events()).toBe(0)
    await server.stop()
    await eventually('an event', () => watched.events() === 1, { sight: watched.events, within: 1_000 })
  })

  test('one that cannot be opened is no event', async () => {
    const watched = watch(() => Promise.reject(new Error('refused')))
    watched.idle.afterRun(OK)
    await sleep(20)
    expect(watched.events()).toBe(0)
    expect(watched.idle.armed).toBe(false)
  })

  test('a server that may have been held up by it is left alone', async () => {
    const server = await serveTcp()
    const watched = watch(opener(server.port))
    watched.idle.afterRun(OK)
    await armed(watched)
    watched.idle.afterRun(TIMEOUT)
    expect(watched.idle.armed, 'it goes, so that the next run tells').toBe(false)
    watched.idle.afterRun(OK)
    await sleep(50)
    expect({ armed: watched.idle.armed, accepted: server.accepted() }).toEqual({ armed: false, accepted: 1 })
    expect(watched.events()).toBe(0)
  })

  test('a stream is not listened to, and its end is no event', async () => {
    const server = await serveTcp((socket) => socket.write('x'.repeat(100_000)))
    const watched = watch(opener(server.port))
    watched.idle.afterRun(OK)
    await eventually('one connection', () => server.accepted() === 1, { sight: server.accepted, within: 1_000 })
    await eventually('its end', () => server.open().length === 0, { sight: () => server.open().length, within: 1_000 })
    expect(watched.events()).toBe(0)
  })
})
