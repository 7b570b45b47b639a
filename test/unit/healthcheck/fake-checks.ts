/**
 * The thread that checks, on paper: what the engine orders is a line in `orders`, what the thread would tell is told by
 * the test. Decides nothing of health; a report says what the test says.
 */
import type { CheckPort, CheckPortNews } from '../../../src/daemon/ports.ts'
import type { CheckSpec } from '../../../src/healthcheck/check.ts'
import type { Asked, Formerly } from '../../../src/healthcheck/check-message.ts'
import type { CheckReport } from '../../../src/healthcheck/check-report.ts'
import type { CheckResult } from '../../../src/healthcheck/health.ts'
import { type Millis, millis } from '../../../src/wire/units.ts'

/** Of a run that has just ended so. */
export function report(check: string, result: CheckResult, at: number, rest: Partial<CheckReport> = {}): CheckReport {
  const ok = result === 'up'
  return {
    check,
    result,
    countsAs: result === 'up' || result === 'down' ? result : 'nothing',
    since: millis(at),
    last: {
      at: millis(at),
      ok,
      reason: ok ? 'ok' : 'connectionRefused',
      detail: ok ? 'connected' : 'connect ECONNREFUSED',
      latency: millis(1.5),
    },
    weight: undefined,
    watched: ok,
    runs: 1,
    results: ok ? { ok: 1 } : { connectionRefused: 1 },
    skipped: 0,
    ...rest,
  }
}

export class FakeChecks implements CheckPort {
  readonly orders: string[] = []
  specs: readonly CheckSpec[] = []
  formerly: readonly Formerly[] = []
  /** What was asked last: its number, the checks and how long an answer is of use. */
  question: { readonly id: number; readonly names: readonly string[]; readonly within: number } | undefined
  /** stop() never settles. */
  hangs = false
  #listener: ((news: CheckPortNews) => void) | undefined

  set(specs: readonly CheckSpec[], formerly: readonly Formerly[]): void {
    this.specs = specs
    this.formerly = formerly
    this.orders.push(`set ${specs.map(({ name }) => name).join(' ')}`)
  }

  askOnceMore(id: number, { up, down }: Asked, within: Millis): void {
    const names = [...up, ...down]
    this.question = { id, names, within }
    this.orders.push(`ask ${names.join(' ')}`)
  }

  onNews(listener: (news: CheckPortNews) => void): void {
    this.#listener = listener
  }

  stop(): Promise<void> {
    this.orders.push('stop')
    return this.hangs ? new Promise(() => {}) : Promise.resolve()
  }

  tell(news: CheckPortNews): void {
    this.#listener?.(news)
  }
}
