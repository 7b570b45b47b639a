/**
 * The TCP side of the API: metrics, status and liveness for whoever reaches the port. Decided here: how often the engine
 * may be asked, whoever asks, and how long a client may stay; when the engine is silent the answer says so with 503.
 * Refuses to know threads.
 */
import { withoutDetails } from '../daemon/healthcheck-snapshot.ts'
import { exposition } from '../metrics/registry.ts'
import { portSamples, samplesOf } from './samples.ts'
import { createApi, json, text } from './server.ts'
import { sharedAnswer } from './shared-answer.ts'
import type { SnapshotQuestions } from './snapshot-questions.ts'
import type { WorkerMessage, WorkerSettings } from './worker-message.ts'

/** A snapshot of 255 routers takes the engine some 10 ms. The most is less than the patience of a liveness probe. */
const ENGINE_PAUSE = { atLeast: 50, atMost: 500 }
/** Their metrics take this thread 300 ms the first time, and the processor is the engine's as well. */
const TEXT_PAUSE = { atLeast: 0, atMost: 2_000 }
/** A port that is taken may be free again later. */
const LISTEN_AGAIN = 1_000
/** Longer than any scrape: a client that reads one byte a second must not keep its connection. */
const LONGEST_CONNECTION = 60_000

type Listen = Exclude<WorkerSettings['listen'], false>

export function openPort(
  { host, port }: Listen,
  version: string,
  snapshots: SnapshotQuestions,
  tell: (message: WorkerMessage) => void,
): void {
  const refused = { connections: 0 }
  const ask = sharedAnswer(() => snapshots.ask(), ENGINE_PAUSE)
  const server = createApi({
    '/metrics': sharedAnswer(async () => {
      const samples = [...samplesOf(await ask(), version), ...portSamples(refused)]
      const { contentType, body } = await exposition(samples)
      return { status: 200, contentType, body }
    }, TEXT_PAUSE),
    '/v1/status': sharedAnswer(async () => json(withoutDetails(await ask())), TEXT_PAUSE),
    '/healthz': async () => {
      await ask()
      return text(200, 'ok')
    },
  })
  server.on('connection', (socket) => {
    const tooLong = setTimeout(() => socket.destroy(), LONGEST_CONNECTION)
    socket.once('close', () => clearTimeout(tooLong))
  })
  server.on('drop', () => {
    refused.connections++
  })
  server.on('error', (error) => {
    tell({ kind: 'failed', message: error.message })
    if (!server.listening) setTimeout(() => server.listen(port, host), LISTEN_AGAIN)
  })
  server.on('listening', () => tell({ kind: 'listening' }))
  server.listen(port, host)
}
