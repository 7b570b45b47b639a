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

describe('the idle connection beside the polls', () => {
  test('is opened once, after a successful run', async () => {
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
    expect(watched.events(), 'events after the check closed the connection itself').toBe(0)
  })

  test.each(['fin', 'rst'] as const)(
    'causes one event when the server ends it by %s, and is reopened after a wait',
    async (how) => {
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
      expect(again.accepted(), 'connections so soon after a short one').toBe(0)
    },
  )

  test('is opened at most twice in three seconds if the server ends it immediately', async () => {
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

  test('is renewed without a gap and without an event, so that it belongs to the process that now answers', async () => {
    const server = await serveTcp()
    const watched = watch(opener(server.port), 100)
    watched.idle.afterRun(OK)
    await armed(watched)
    const [first] = server.open()
    await sleep(120)
    watched.idle.afterRun(OK)
    expect(watched.idle.armed, 'whether the old connection stays until the new one is open').toBe(true)
    await eventually('the old one is gone', () => first?.destroyed, {
      sight: () => server.open().length,
      within: 1_000,
    })
    expect(server.accepted()).toBe(2)
    expect(watched.events()).toBe(0)
    await server.stop()
    await eventually('an event', () => watched.events() === 1, { sight: watched.events, within: 1_000 })
  })

  test('causes no event if it cannot be opened', async () => {
    const watched = watch(() => Promise.reject(new Error('refused')))
    watched.idle.afterRun(OK)
    await sleep(20)
    expect(watched.events()).toBe(0)
    expect(watched.idle.armed).toBe(false)
  })

  test('is not reopened to a server that it may have blocked', async () => {
    const server = await serveTcp()
    const watched = watch(opener(server.port))
    watched.idle.afterRun(OK)
    await armed(watched)
    watched.idle.afterRun(TIMEOUT)
    expect(watched.idle.armed, 'whether the connection is open after a run without an answer').toBe(false)
    watched.idle.afterRun(OK)
    await sleep(50)
    expect({ armed: watched.idle.armed, accepted: server.accepted() }).toEqual({ armed: false, accepted: 1 })
    expect(watched.events()).toBe(0)
  })

  test('is not used for a stream, whose end causes no event', async () => {
    const server = await serveTcp((socket) => socket.write('x'.repeat(100_000)))
    const watched = watch(opener(server.port))
    watched.idle.afterRun(OK)
    await eventually('one connection', () => server.accepted() === 1, { sight: server.accepted, within: 1_000 })
    await eventually('its end', () => server.open().length === 0, { sight: () => server.open().length, within: 1_000 })
    expect(watched.events()).toBe(0)
  })
})
