/**
 * Runs health checks in a worker thread, for tests that take the engine's side: stores each report of the thread with
 * its time. The thread is a compiled file, because Node 20 cannot run TypeScript.
 */
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

  /**
   * Resolves with the first report for which `matches` returns true, of all reports since the time `since`. Throws
   * after the longest wait for the start of a thread on a busy machine.
   */
  hear(expected: string, matches: (news: CheckNews) => boolean, since = 0): Promise<Told> {
    const look = () => this.told.find(({ at, news }) => at >= since && matches(news))
    return eventually(expected, look, { sight: () => this.told.slice(-3), every: 1 })
  }

  async end(): Promise<void> {
    await this.#worker.terminate()
  }
}
