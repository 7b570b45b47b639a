/**
 * Runs the monitor of the health checks in the worker thread, and converts its calls to messages. This file decides
 * that every change is reported immediately, and all checks are reported regularly. Because of the regular reports, a
 * missing report means that the thread does not run. The regular report follows a run of a check, because waking a
 * thread costs more than the report (docs/adr/0040). `check-service.ts` does not know threads and ports.
 */
import type { Millis } from '../wire/units.ts'
import type { CheckNews, CheckOrder } from './check-message.ts'
import { Monitor } from './monitor.ts'
import { monotonicNow } from './probe.ts'
import type { ProbePorts } from './probe-of.ts'

/**
 * Milliseconds between regular reports of the check worker to the engine. The longest silence of a running worker is a
 * tenth more.
 */
export const BEAT = 5_000
/**
 * Bounds of the time between two reports. A result with a short validity is reported several times in this validity, or
 * so early that these milliseconds of the validity are left.
 */
const BEATS_WHILE_IT_STANDS = 3
const SPARE = 3_000
const LATEST = 1.1
/**
 * Share of the interval after which a run triggers the regular report. Such an early report saves a wake-up shortly
 * afterwards.
 */
const EARLY = 0.85

export class CheckService {
  readonly #tell: (news: CheckNews) => void
  readonly #onRun: (check: string, latency: Millis) => void
  readonly #monitor: Monitor
  #every = BEAT
  #toldAt: Millis | undefined
  #latest: NodeJS.Timeout | undefined

  /** `onRun` is called after every run with the time in milliseconds from the start of the run to its result. */
  constructor(
    tell: (news: CheckNews) => void,
    ports: ProbePorts,
    onRun: (check: string, latency: Millis) => void = () => {},
  ) {
    this.#tell = tell
    this.#onRun = onRun
    const healthChanged = (report: Extract<CheckNews, { kind: 'healthChanged' }>['report']) =>
      tell({ kind: 'healthChanged', report })
    this.#monitor = new Monitor({ healthChanged, ran: (check, latency) => this.#ran(check, latency) }, ports)
  }

  async obey(order: CheckOrder): Promise<void> {
    switch (order.kind) {
      case 'setChecks': {
        const former = new Map(order.formerly.map(({ check, ...rest }) => [check, rest]))
        const stands = order.checks.map(({ rule }) =>
          Math.max(rule.unknownAfter / BEATS_WHILE_IT_STANDS, rule.unknownAfter - SPARE),
        )
        this.#every = Math.min(BEAT, ...stands)
        clearTimeout(this.#latest)
        this.#latest = setTimeout(() => this.tellAll(), this.#every * LATEST).unref()
        const ended = this.#monitor.configure(order.checks, former)
        // The engine gets a report of each check immediately, because the `initial` result counts before the first run
        // of the check has a result.
        this.tellAll()
        return ended
      }
      case 'askOnceMore': {
        const reports = await this.#monitor.askOnceMore(order.asked, order.within)
        this.#tell({ kind: 'askedOnceMore', id: order.id, reports })
        return
      }
      case 'stopChecks':
        clearTimeout(this.#latest)
        this.#latest = undefined
        await this.#monitor.stop()
        this.#tell({ kind: 'checksStopped' })
    }
  }

  /** Sends a report of every health check to the engine. */
  tellAll(): void {
    if (this.#latest === undefined) return
    this.#toldAt = monotonicNow()
    this.#latest.refresh()
    this.#tell({ kind: 'checkBeat', reports: this.#monitor.reports() })
  }

  #ran(check: string, latency: Millis): void {
    this.#onRun(check, latency)
    if (this.#toldAt !== undefined && monotonicNow() - this.#toldAt >= this.#every * EARLY) this.tellAll()
  }
}
