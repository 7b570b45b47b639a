/**
 * The monitor behind messages: what the worker thread hosts. Decided here: every change is told at once, and everything
 * again now and then, so that silence means a thread that does not run; that word goes out behind a run, because a
 * wake-up of either thread costs more than what it does (docs/adr/0040). Refuses to know threads and ports; `tell` is
 * how it speaks.
 */
import type { Millis } from '../wire/units.ts'
import type { CheckNews, CheckOrder } from './check-message.ts'
import { Monitor } from './monitor.ts'
import { monotonicNow } from './probe.ts'
import type { ProbePorts } from './probe-of.ts'

/** The longest silence of a thread that runs is a quarter more. */
export const BEAT = 3_000
/** A result that stands for a short time only must be told more often than that. */
const BEATS_WHILE_IT_STANDS = 3
const LATEST = 1.25
/** A run that ends a little before the beat is due is worth more than a wake-up behind it. */
const EARLY = 0.85

export class CheckService {
  readonly #tell: (news: CheckNews) => void
  readonly #onRun: (check: string, latency: Millis) => void
  readonly #monitor: Monitor
  #every = BEAT
  #toldAt: Millis | undefined
  #latest: NodeJS.Timeout | undefined

  /** `onRun`: of every run, how long its result took. */
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
        const stands = order.checks.map(({ rule }) => rule.unknownAfter / BEATS_WHILE_IT_STANDS)
        this.#every = Math.min(BEAT, ...stands)
        clearTimeout(this.#latest)
        this.#latest = setTimeout(() => this.tellAll(), this.#every * LATEST).unref()
        const ended = this.#monitor.configure(order.checks, former)
        // What `initial` says counts before the first result does.
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

  /** How things are now, for whoever is about to look. */
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
