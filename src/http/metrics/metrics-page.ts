/**
 * Makes the text of /metrics, for the port and for the unix socket. This file decides the content, and that clients
 * which ask while the text is made get the same text. The metrics of 255 routers take this thread 300 ms the first
 * time, and the engine may share its CPU.
 */
import type { EngineReport } from '../../daemon/telemetry/report.ts'
import { EXPORTER_METRICS } from '../../metrics/exporter-names.ts'
import { FORMER_NAMES, METRICS } from '../../metrics/names.ts'
import { exposition } from '../../metrics/registry.ts'
import type { MetricsText, PortSettings } from '../port-settings.ts'
import { sharedAnswer, TEXT_PAUSE } from '../shared-answer.ts'
import type { CheckLatencies } from './check-latencies.ts'
import { exporterSamples } from './exporter-samples.ts'
import { portSamples, samplesOf } from './samples.ts'

type Sources = {
  readonly report: () => Promise<EngineReport>
  readonly latencies: CheckLatencies
}

export class MetricsPage {
  /** Number of connections that the port closed because there were too many. */
  refusedConnections = 0
  /** Returns the text of /metrics. Rejects with Error if the engine does not answer. */
  readonly text: () => Promise<MetricsText>

  constructor(
    { metricsCompat, version }: Pick<PortSettings, 'metricsCompat' | 'version'>,
    { latencies, report }: Sources,
  ) {
    const forExporter = metricsCompat === 'keepalived-exporter'
    const rows = forExporter ? { ...METRICS, ...EXPORTER_METRICS } : METRICS
    this.text = sharedAnswer(async () => {
      const { distributions, snapshot } = await report()
      return exposition(
        rows,
        [
          ...samplesOf(snapshot, version),
          ...portSamples({ connections: this.refusedConnections }),
          ...distributions,
          ...latencies.distributions(snapshot.healthchecks),
          ...(forExporter ? exporterSamples(snapshot) : []),
        ],
        FORMER_NAMES,
      )
    }, TEXT_PAUSE)
  }
}
