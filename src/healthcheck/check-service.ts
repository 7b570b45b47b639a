/**
 * The monitor behind messages: what the worker thread hosts. Decided here: every change is told at once, and everything
 * again every BEAT, so that silence means a thread that does not run. Refuses to know threads and ports; `tell` is how
 * it speaks.
 */
import type { CheckNews, CheckOrder } from './check-message.ts'
import { Monitor } from './monitor.ts'
import type { ProbePorts } from './probe-of.ts'

export const BEAT = 1_000

export class CheckService {
  readonly #tell: (news: CheckNews) => void
  readonly #monitor: Monitor
  #beat: NodeJS.Timeout | undefined

  constructor(tell: (news: CheckNews) => void, ports: ProbePorts) {
    this.#tell = tell
    this.#monitor = new Monitor({ healthChanged: (report) => tell({ kind: 'healthChanged', report }) }, ports)
  }

  async obey(order: CheckOrder): Promise<void> {
    switch (order.kind) {
      case 'setChecks': {
        const former = new Map(order.formerly.map(({ check, ...rest }) => [check, rest]))
        const ended = this.#monitor.configure(order.checks, former)
        // What `initial` says counts before the first result does.
        this.#tellAll()
        this.#beat ??= setInterval(() => this.#tellAll(), BEAT).unref()
        return ended
      }
      case 'askOnceMore': {
        const reports = await this.#monitor.askOnceMore(order.checks, order.within)
        this.#tell({ kind: 'askedOnceMore', id: order.id, reports })
        return
      }
      case 'stopChecks':
        clearInterval(this.#beat)
        this.#beat = undefined
        await this.#monitor.stop()
        this.#tell({ kind: 'checksStopped' })
    }
  }

  #tellAll(): void {
    this.#tell({ kind: 'checkBeat', reports: this.#monitor.reports() })
  }
}
