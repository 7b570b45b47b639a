/**
 * The engine's answers to its worker: in pieces between the engine's own work, and no events for a thread that has
 * ended.
 */
import { afterEach, expect, test } from 'vitest'
import { Chronicle } from '../../../src/daemon/telemetry/chronicle.ts'
import type { JournalEvent } from '../../../src/events/event.ts'
import type { EventSource } from '../../../src/http/event-route.ts'
import { eventually } from '../../../src/lab/wait.ts'
import { WorkerThread } from '../../../src/worker/worker-thread.ts'
import { FakeWorld, ROUTER } from '../../unit/daemon/fake-world.ts'

const ENTRY = new URL('../../support/asking-worker.mjs', import.meta.url)

let thread: WorkerThread | undefined
afterEach(() => thread?.close())

test('a report comes in pieces between turns of the event loop, and a thread that has ended gets no event', async () => {
  const routers = Array.from({ length: 40 }, (_, i) => {
    return { ...ROUTER, name: `r${i}`, vrid: i + 1, addresses: [`10.0.0.${100 + i}/24`] }
  })
  const world = new FakeWorld(routers).start()
  const listeners = new Set<(event: JournalEvent) => void>()
  const events: EventSource = {
    events: () => new Chronicle().read(),
    listen: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
  const said: string[] = []
  const turnsBefore: number[] = []
  let turns = 0
  thread = new WorkerThread(
    ENTRY,
    { listen: false, isPublic: false, version: '1', metricsCompat: 'none', peers: [] },
    {
      *report() {
        const pieces = world.daemon.report()
        for (;;) {
          turnsBefore.push(turns)
          const piece = pieces.next()
          if (piece.done === true) return piece.value
          setImmediate(() => turns++)
          yield piece.value
        }
      },
      events,
      onListening: () => {},
      onProblem: (message) => void said.push(message),
      launchers: { launch: () => Promise.resolve(undefined), discard: () => {}, endAll: () => {} },
    },
  )
  const client = { onStart: () => {}, onMessage: () => {}, onEnd: () => {} }
  thread.keep(client, true)
  await eventually('two answers', () => said.length >= 2, { sight: () => said })
  expect(said.toSorted(), 'routers in each piece, and the answer to another question').toEqual(['"beat"', '[16,16,8]'])
  expect(turnsBefore, 'turns of the event loop before each piece').toEqual([0, 1, 2, 3])

  expect(listeners.size, 'threads that follow the events').toBe(1)
  const chronicle = new Chronicle()
  chronicle.record({ kind: 'stopOrdered', trigger: 'test' })
  for (const event of chronicle.read().events) for (const listener of listeners) listener(event)
  await eventually('the event to come', () => said.includes('"stopOrdered"'), { sight: () => said })
  thread.keep(client, false)
  await eventually('nobody to follow them', () => listeners.size === 0, { sight: () => [said, listeners.size] })
})
