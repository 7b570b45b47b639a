/**
 * The worker thread (design.md §2): the TCP side of the API, and the reading of a configuration that is to be put in
 * force. A slow scrape, a hung client, a large file and a bug in here cannot delay an advertisement. Every answer asks
 * the engine anew; when it is silent the answer says so with 503 instead of repeating old numbers.
 */
import { parentPort, workerData } from 'node:worker_threads'
import type { Snapshot } from '../daemon/snapshot.ts'
import type { EngineMessage, WorkerMessage, WorkerSettings } from './worker-message.ts'

const ENGINE_TIMEOUT = 1_000
/** A port that is taken may be free again later. */
const LISTEN_AGAIN = 1_000

const settings: WorkerSettings = workerData
const waiting = new Map<number, (snapshot: Snapshot) => void>()
let lastId = 0

function tell(message: WorkerMessage): void {
  parentPort?.postMessage(message)
}

parentPort?.on('message', (message: EngineMessage) => {
  if (message.kind === 'parse') {
    void parse(message)
    return
  }
  waiting.get(message.id)?.(message.snapshot)
  waiting.delete(message.id)
})

/** Loaded when it is asked for: most daemons are never reloaded. */
async function parse({ id, order }: Extract<EngineMessage, { kind: 'parse' }>): Promise<void> {
  const { freshConfig } = await import('./configuration-file.ts')
  tell({ kind: 'parsed', id, fresh: freshConfig(order) })
}

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

async function serve({ host, port }: { readonly host: string; readonly port: number }): Promise<void> {
  const [{ exposition }, { samplesOf }, { createApi, json, text }] = await Promise.all([
    import('../metrics/registry.ts'),
    import('./samples.ts'),
    import('./server.ts'),
  ])
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
    if (!server.listening) setTimeout(() => server.listen(port, host), LISTEN_AGAIN)
  })
  server.on('listening', () => tell({ kind: 'listening' }))
  server.listen(port, host)
}

if (settings.listen !== false) await serve(settings.listen)
