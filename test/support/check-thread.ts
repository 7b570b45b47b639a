/** The engine's side of checks in a worker thread, for tests: each report with its time. Node 20 strips no types. */
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { CheckNews, CheckOrder } from '../../src/healthcheck/check-message.ts'
import { eventually, monotonicMs } from '../../src/lab/wait.ts'

const RUNNER = `
  const { workerData } = require('node:worker_threads')
  import('vite').then(({ runnerImport }) => runnerImport(workerData, { configFile: false, logLevel: 'error' }))
`

export type Told = { readonly at: number; readonly news: CheckNews }

export class CheckThread {
  readonly told: Told[] = []
  readonly #worker: Worker

  constructor() {
    this.#worker = new Worker(RUNNER, { eval: true, workerData: join(import.meta.dirname, 'check-worker.ts') })
    this.#worker.on('message', (news: CheckNews) => this.told.push({ at: monotonicMs(), news }))
    this.#worker.on('error', (error) => {
      throw error
    })
  }

  order(order: CheckOrder | { readonly kind: 'hang' }): void {
    this.#worker.postMessage(order)
  }

  /** Resolves with the first report since `since` that `matches`. */
  hear(expected: string, matches: (news: CheckNews) => boolean, since = 0, within = 15_000): Promise<Told> {
    const look = () => this.told.find(({ at, news }) => at >= since && matches(news))
    return eventually(expected, look, { sight: () => this.told.slice(-3), within, every: 1 })
  }

  async end(): Promise<void> {
    await this.#worker.terminate()
  }
}
