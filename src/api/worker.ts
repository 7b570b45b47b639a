/**
 * The worker thread (design.md §2): the TCP side of the API. A slow scrape, a hung client and a bug in here cannot
 * delay an advertisement. Every answer asks the engine anew; when it is silent the answer says so with 503 instead of
 * repeating old numbers.
 */
import { parentPort, workerData } from 'node:worker_threads'
import type { Snapshot } from '../daemon/snapshot.ts'
import { exposition } from '../metrics/registry.ts'
import { samplesOf } from './samples.ts'
import { createApi, json, text } from './server.ts'
import type { EngineMessage, WorkerMessage, WorkerSettings } from './worker-message.ts'

const ENGINE_TIMEOUT = 1_000

const settings: WorkerSettings = workerData
const waiting = new Map<number, (snapshot: Snapshot) => void>()
let lastId = 0

function tell(message: WorkerMessage): void {
  parentPort?.postMessage(message)
}

parentPort?.on('message', ({ id, snapshot }: EngineMessage) => {
  waiting.get(id)?.(snapshot)
  waiting.delete(id)
})

function ask(): Promise<Snapshot> {
  const id = ++lastId
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      waiting.delete(id)
      reject(new Error(`The engine has not answered for ${ENGINE_TIMEOUT} ms`))
    }, ENGINE_TIMEOUT)
    waiting.set(id, (snapshot) => {
      clearTimeout(timer)
      resolve(snapshot)
    })
    tell({ kind: 'snapshotWanted', id })
  })
}

const server = createApi({
  '/metrics': async () => {
    const { contentType, body } = await exposition(samplesOf(await ask(), settings.version))
    return { status: 200, contentType, body }
  },
  '/v1/status': async () => json(await ask()),
  '/healthz': async () => {
    await ask()
    return text(200, 'ok')
  },
})
server.on('error', (error) => {
  tell({ kind: 'failed', message: error.message })
  // The port may be free again later: the engine starts a new worker after a while.
  if (!server.listening) process.exit(1)
})
server.listen(settings.port, settings.host, () => tell({ kind: 'listening' }))
