/**
 * The engine's side of the worker: starts it, answers its questions, and starts it again when it dies. Nothing the
 * worker does can stop the engine. Knows no HTTP.
 */
import { Worker } from 'node:worker_threads'
import type { Snapshot } from '../daemon/snapshot.ts'
import type { EngineMessage, WorkerMessage, WorkerSettings } from './worker-message.ts'

const RESTART_AFTER = 1_000

export type WorkerThread = { close(): Promise<void> }

export type WorkerListener = {
  readonly snapshot: () => Snapshot
  readonly onProblem: (message: string) => void
  readonly onListening: () => void
}

export function startWorker(settings: WorkerSettings, listener: WorkerListener): WorkerThread {
  let closed = false
  let worker: Worker | undefined
  let timer: NodeJS.Timeout | undefined

  function start(): void {
    const started = new Worker(
      new URL(import.meta.url.endsWith('.ts') ? './worker.ts' : './worker.js', import.meta.url),
      {
        workerData: settings,
        // A leak in here must end here.
        resourceLimits: { maxOldGenerationSizeMb: 64 },
      },
    )
    worker = started
    // The engine must be able to end while a scrape hangs.
    started.unref()
    started.on('message', (message: WorkerMessage) => {
      if (message.kind === 'listening') listener.onListening()
      else if (message.kind === 'failed') listener.onProblem(message.message)
      else {
        const answer: EngineMessage = { id: message.id, snapshot: listener.snapshot() }
        started.postMessage(answer)
      }
    })
    started.on('error', (error) => listener.onProblem(`The worker thread failed: ${error.message}`))
    started.on('exit', () => {
      if (closed) return
      timer = setTimeout(start, RESTART_AFTER)
      timer.unref()
    })
  }

  start()
  return {
    async close() {
      closed = true
      clearTimeout(timer)
      await worker?.terminate()
    },
  }
}
