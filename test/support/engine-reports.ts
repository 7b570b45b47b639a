/**
 * Answers each question that a worker thread may ask of its engine, for a test's daemon. The event journal in the
 * answers is empty.
 */

import type { Daemon } from '../../src/daemon/daemon.ts'
import { Chronicle } from '../../src/daemon/telemetry/chronicle.ts'
import { assembled, type EngineReport, type ReportPart } from '../../src/daemon/telemetry/report.ts'
import { sourceOf } from '../../src/http/event-route.ts'
import type { EngineSources } from '../../src/worker/engine-answers.ts'

type Reporter = Pick<Daemon, 'report'>

export const engineReports = (daemon: Reporter): EngineSources => ({
  report: () => daemon.report(),
  events: sourceOf(new Chronicle()),
})

export function piecesOf(daemon: Reporter): { readonly parts: readonly ReportPart[]; readonly rest: EngineReport } {
  const parts: ReportPart[] = []
  const report = daemon.report()
  for (;;) {
    const next = report.next()
    if (next.done === true) return { parts, rest: next.value }
    parts.push(next.value)
  }
}

export function wholeReport(daemon: Reporter): EngineReport {
  const { parts, rest } = piecesOf(daemon)
  return assembled(parts, rest)
}
