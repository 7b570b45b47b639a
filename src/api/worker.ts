/**
 * The worker thread (design.md §2): the TCP side of the API, and the reading of a configuration that is to be put in
 * force. A slow scrape, a hung client, a large file and a bug in here cannot delay an advertisement. Decided here: first
 * the privileges go, and a thread that keeps them opens no port (docs/adr/0019). Every answer asks the engine anew; when
 * it is silent the answer says so with 503 instead of repeating old numbers. Refuses to know how privileges are dropped.
 */
import type { MessagePort } from 'node:worker_threads'
import type { Snapshot } from '../daemon/snapshot.ts'
import { exposition } from '../metrics/registry.ts'
import { portSamples, samplesOf } from './samples.ts'
import { createApi, json, text } from './server.ts'
import { sharedAnswer } from './shared-answer.ts'
import type { EngineMessage, WorkerMessage, WorkerSettings } from './worker-message.ts'

const ENGINE_TIMEOUT = 1_000
/** A snapshot of 255 routers takes the engine some 10 ms. The most is less than the patience of a liveness probe. */
const ENGINE_PAUSE = { atLeast: 50, atMost: 500 }
/** Their metrics take this thread 300 ms the first time, and the processor is the engine's as well. */
const TEXT_PAUSE = { atLeast: 0, atMost: 2_000 }
/** A port that is taken may be free again later. */
const LISTEN_AGAIN = 1_000
/** Longer than any scrape: a client that reads one byte a second must not keep its connection. */
const LONGEST_CONNECTION = 60_000

export type WorkerPorts = {
  readonly engine: MessagePort
  readonly settings: WorkerSettings
  /** For this thread alone; throws Error when something is left. */
  readonly dropPrivileges: () => void
}

export function runWorker({ engine, settings, dropPrivileges }: WorkerPorts): void {
  const { listen, version } = settings
  const tell = (message: WorkerMessage): void => engine.postMessage(message)
  let kept: string | undefined
  try {
    dropPrivileges()
  } catch (error) {
    kept = wordsOf(error)
  }
  const snapshots = new Snapshots(tell)
  engine.on('message', (message: EngineMessage) => {
    if (message.kind === 'parse') void parse(message, tell)
    else snapshots.answered(message.id, message.snapshot)
  })
  if (listen === false) return
  if (kept === undefined) serve(listen, version, snapshots, tell)
  else {
    const message = `Cannot open ${listen.host}:${listen.port}: the worker thread keeps its privileges: ${kept}`
    tell({ kind: 'failed', message })
  }
}

/** Loaded when it is asked for: most daemons are never reloaded. */
async function parse({ id, order }: Extract<EngineMessage, { kind: 'parse' }>, tell: (message: WorkerMessage) => void) {
  try {
    const { freshConfig } = await import('./configuration-file.ts')
    tell({ kind: 'parsed', id, fresh: freshConfig(order) })
  } catch (error) {
    // A package that only its owner may read: this thread has no right to read what belongs to others.
    const problem = { file: order.file, line: 0, column: 0, path: '', severity: 'error' } as const
    const message = `Cannot load what reads a configuration: ${wordsOf(error)}`
    tell({ kind: 'parsed', id, fresh: { ok: false, problems: [{ ...problem, message }] } })
  }
}

class Snapshots {
  readonly #tell: (message: WorkerMessage) => void
  readonly #waiting = new Map<number, (snapshot: Snapshot) => void>()
  #lastId = 0

  constructor(tell: (message: WorkerMessage) => void) {
    this.#tell = tell
  }

  ask(): Promise<Snapshot> {
    const id = ++this.#lastId
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting.delete(id)
        reject(new Error(`The engine has not answered for ${ENGINE_TIMEOUT} ms`))
      }, ENGINE_TIMEOUT)
      this.#waiting.set(id, (snapshot) => {
        clearTimeout(timer)
        resolve(snapshot)
      })
      this.#tell({ kind: 'snapshotWanted', id })
    })
  }

  answered(id: number, snapshot: Snapshot): void {
    this.#waiting.get(id)?.(snapshot)
    this.#waiting.delete(id)
  }
}

type Listen = Exclude<WorkerSettings['listen'], false>

function serve({ host, port }: Listen, version: string, snapshots: Snapshots, tell: (message: WorkerMessage) => void) {
  const refused = { connections: 0 }
  const ask = sharedAnswer(() => snapshots.ask(), ENGINE_PAUSE)
  const server = createApi({
    '/metrics': sharedAnswer(async () => {
      const samples = [...samplesOf(await ask(), version), ...portSamples(refused)]
      const { contentType, body } = await exposition(samples)
      return { status: 200, contentType, body }
    }, TEXT_PAUSE),
    '/v1/status': sharedAnswer(async () => json(await ask()), TEXT_PAUSE),
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

const wordsOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
