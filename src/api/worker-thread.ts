/**
 * The engine's side of the worker: starts it, answers its questions, hands it files to read, and starts it again when
 * it dies. Nothing the worker does can stop the engine, and whoever waits for it is told when it is gone. Knows no HTTP
 * and no configuration.
 */
import { Worker } from 'node:worker_threads'
import type { Snapshot } from '../daemon/snapshot.ts'
import type { EngineMessage, FreshConfig, ReadOrder, WorkerMessage, WorkerSettings } from './worker-message.ts'

const RESTART_AFTER = 1_000
/** A file on a dead network disk, a FIFO: whoever waits for them is told, and the thread is given up. */
const PARSE_TIMEOUT = 10_000

export type WorkerThread = {
  /** Rejects with Error when there is no answer; never because of what the file says. */
  parse(order: ReadOrder): Promise<FreshConfig>
  close(): Promise<void>
}

export type WorkerListener = {
  readonly snapshot: () => Snapshot
  readonly onProblem: (message: string) => void
  readonly onListening: () => void
}

type Waiting = {
  readonly reader: Worker
  readonly resolve: (fresh: FreshConfig) => void
  readonly reject: (error: Error) => void
}

/** `entry` is the file that the thread runs. */
export function startWorker(entry: URL, settings: WorkerSettings, listener: WorkerListener): WorkerThread {
  const serves = settings.listen !== false
  const waiting = new Map<number, Waiting>()
  let closed = false
  let worker: Worker | undefined
  let timer: NodeJS.Timeout | undefined
  let lastId = 0

  function start(): Worker {
    clearTimeout(timer)
    const started = new Worker(entry, {
      workerData: settings,
      // A leak in here must end here.
      resourceLimits: { maxOldGenerationSizeMb: 64 },
      // Otherwise this thread would write it out, and wait for whoever does not read standard error.
      stdout: true,
      stderr: true,
    })
    worker = started
    // The engine must be able to end while a scrape hangs.
    started.unref()
    started.stdout.resume()
    started.stderr.on('data', (text: Buffer) => listener.onProblem(text.toString('utf8').trim()))
    started.on('message', (message: WorkerMessage) => {
      if (message.kind === 'listening') listener.onListening()
      else if (message.kind === 'failed') listener.onProblem(message.message)
      else if (message.kind === 'parsed') answered(message.id, message.fresh)
      else {
        const answer: EngineMessage = { kind: 'snapshot', id: message.id, snapshot: listener.snapshot() }
        started.postMessage(answer)
      }
    })
    started.on('error', (error) => listener.onProblem(`The worker thread failed: ${error.message}`))
    started.on('exit', () => {
      if (worker === started) worker = undefined
      for (const [id, { reader, reject }] of waiting) {
        if (reader !== started) continue
        waiting.delete(id)
        reject(new Error('the worker thread ended before it had answered'))
      }
      if (closed || !serves || worker !== undefined) return
      clearTimeout(timer)
      timer = setTimeout(start, RESTART_AFTER)
      timer.unref()
    })
    return started
  }

  function giveUp(thread: Worker): void {
    if (worker === thread) worker = undefined
    void thread.terminate()
  }

  function answered(id: number, fresh: FreshConfig): void {
    const asked = waiting.get(id)
    waiting.delete(id)
    asked?.resolve(fresh)
    // Without a port to serve its memory is worth more than the time of the next start.
    if (!serves && asked !== undefined && waiting.size === 0) giveUp(asked.reader)
  }

  async function parse(wanted: ReadOrder): Promise<FreshConfig> {
    if (closed) throw new Error('the worker thread is closed')
    const reader = worker ?? start()
    const id = ++lastId
    let late: NodeJS.Timeout | undefined
    try {
      return await new Promise<FreshConfig>((resolve, reject) => {
        waiting.set(id, { reader, resolve, reject })
        late = setTimeout(() => {
          reject(new Error(`it was not read within ${PARSE_TIMEOUT / 1000} s`))
          waiting.delete(id)
          // What hangs in there would hang the next one as well.
          giveUp(reader)
        }, PARSE_TIMEOUT)
        const order: EngineMessage = { kind: 'parse', id, order: wanted }
        reader.postMessage(order)
      })
    } finally {
      clearTimeout(late)
    }
  }

  if (serves) start()
  return {
    parse,
    async close() {
      closed = true
      clearTimeout(timer)
      await worker?.terminate()
    },
  }
}
