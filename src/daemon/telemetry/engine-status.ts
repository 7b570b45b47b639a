/**
 * Builds the engine's report: the snapshot for `holdfast status`, API and metrics, and the histograms. This file
 * decides where each field of the report comes from. This file knows nothing about the reader.
 */
import { hostname } from 'node:os'
import type { Config } from '../../config/config.ts'
import type { Distribution, Histogram } from '../../metrics/histogram.ts'
import type { HistogramName } from '../../metrics/names.ts'
import type { ClockDuty } from '../guard/clock-duty.ts'
import { leaseOf } from '../guard/lease.ts'
import type { CheckBoard } from '../health/check-board.ts'
import { healthcheckSnapshots, WallClock } from '../health/healthcheck-snapshot.ts'
import type { Segment } from '../lan/segment.ts'
import type { Segments } from '../lan/segments.ts'
import type { WatchDuty } from '../lan/watch-duty.ts'
import type { Clock, GuardianPort } from '../ports.ts'
import type { Registry } from '../router/registry.ts'
import type { Router } from '../router/router.ts'
import type { TurnCounts } from '../turns.ts'
import type { Notices } from './notices.ts'
import type { Recorder } from './recorder.ts'
import { type EngineReport, type ReportPart, reportInPieces } from './report.ts'
import { routerSnapshot, summaryOf } from './router-snapshot.ts'
import {
  type ConfigSnapshot,
  type GroupSnapshot,
  type InterfaceSnapshot,
  NO_SURROUNDINGS,
  type RouterSnapshot,
  type RouterSummary,
  type Snapshot,
  type SurroundingsSnapshot,
} from './snapshot.ts'
import type { TakeoverTimes } from './takeover-watch.ts'

export type EngineStatusContext = {
  readonly ports: {
    readonly clock: Clock
    readonly guardian: GuardianPort
    readonly recorder: Recorder
    readonly configuration?: () => ConfigSnapshot
    readonly surroundings?: () => SurroundingsSnapshot
  }
  readonly clocks: Pick<ClockDuty, 'read'>
  readonly watches: Pick<WatchDuty, 'read'>
  readonly registry: Registry
  readonly segments: Segments
  readonly board: CheckBoard
  readonly notices: Notices
  /** Histogram of the times by which the engine's alarm was late, in seconds. */
  readonly lateness: Histogram
  readonly takeovers: TakeoverTimes
  readonly turnCounts: () => TurnCounts
  /** Returns the configuration in force. */
  readonly config: () => Config
}

export class EngineStatus {
  readonly #context: EngineStatusContext
  /** Value of `io` at the start. A changed value takes effect at the next start. */
  readonly #io: Config['io']
  readonly #startedAt = new Date()
  readonly #checksSince = new WallClock()

  constructor(context: EngineStatusContext) {
    this.#context = context
    this.#io = context.config().io
  }

  snapshot(): Snapshot {
    this.#read()
    return this.#describe(this.#context.registry.all)
  }

  /** Returns the snapshot and the histograms in several pieces, so that the engine can work in between. */
  report(): Generator<ReportPart, EngineReport> {
    const { lateness, ports, registry, takeovers } = this.#context
    this.#read()
    return reportInPieces({
      routers: registry.all,
      describe: (router) => this.#describeRouter(router, ports.clock.now()),
      measured: distributionsOf,
      rest: () => ({ snapshot: this.#describe([]), distributions: engineDistributions(lateness, takeovers) }),
    })
  }

  /** Adds what happened without the engine to states and counters. */
  #read(): void {
    const { clocks, watches } = this.#context
    clocks.read()
    watches.read()
  }

  /** Returns the state of each router, without the rest of a snapshot. */
  routerSummaries(): readonly RouterSummary[] {
    return this.#context.registry.all.map(summaryOf)
  }

  #describeRouter(router: Router, now: ReturnType<Clock['now']>): RouterSnapshot {
    return routerSnapshot(router, now, this.#context.registry.departing.has(router))
  }

  #describe(routers: readonly Router[]): Snapshot {
    const { board, notices, ports, registry, segments, turnCounts } = this.#context
    const { clock, configuration, recorder, surroundings, guardian } = ports
    const now = clock.now()
    return {
      version: 1,
      pid: process.pid,
      hostname: hostname(),
      startedAt: this.#startedAt.toISOString(),
      takenAt: new Date().toISOString(),
      guardian: guardian.armed ? (guardian.guarded ? 'guarded' : 'armed') : 'none',
      lease: leaseOf({ ...this.#context.config(), io: this.#io }, guardian),
      engineRestarts: guardian.restart?.inherited?.restarts ?? 0,
      logRecordsLost: recorder.lost,
      turns: turnCounts(),
      config: configuration?.() ?? this.#givenConfig(),
      ...(surroundings?.() ?? NO_SURROUNDINGS),
      routers: routers.map((router) => this.#describeRouter(router, now)),
      groups: groupSnapshots(registry),
      interfaces: segments.all.flatMap((segment) => [interfaceSnapshot(segment), ...secondarySnapshots(segment)]),
      healthchecks: healthcheckSnapshots(board, [...registry.routers.values()], now, this.#checksSince),
      notifications: notices.snapshot(),
    }
  }

  /** Returns the configuration of a daemon that was started without a file. */
  #givenConfig(): ConfigSnapshot {
    return {
      file: null,
      hash: null,
      loadedAt: this.#startedAt.toISOString(),
      reloads: { ok: 0, failed: 0 },
      lastReload: null,
      imported: null,
      stoppedAt: null,
      managed: null,
    }
  }
}

function interfaceSnapshot({ announcer, family, interfaceName, isOpen, reception }: Segment): InterfaceSnapshot {
  return {
    name: interfaceName,
    family,
    open: isOpen,
    discarded: reception.discarded.toJSON(),
    overflowed: reception.overflowed,
    announced: announcer.sent.toJSON(),
  }
}

const secondarySnapshots = ({ secondary }: Segment): readonly InterfaceSnapshot[] =>
  secondary.map(({ announcer, family, isOpen, link }) => ({
    name: link.name,
    family,
    open: isOpen,
    discarded: {},
    overflowed: 0,
    announced: announcer.sent.toJSON(),
  }))

const groupSnapshots = ({ groups }: Registry): readonly GroupSnapshot[] =>
  [...groups].flatMap(({ name, members }) =>
    name === undefined ? [] : [{ name, members: members.map((member) => member.name) }],
  )

// Histograms of the engine. The histograms are copied, so that they can be sent to another thread.
type Measured = readonly Distribution<HistogramName>[]

const engineDistributions = (lateness: Histogram, { phases }: TakeoverTimes): Measured => [
  { name: 'holdfast_engine_timer_lateness_seconds', labels: {}, cells: lateness.read() },
  ...Object.entries(phases).map(([phase, histogram]) => {
    return { name: 'holdfast_vrrp_takeover_duration_seconds' as const, labels: { phase }, cells: histogram.read() }
  }),
]

const distributionsOf = ({ gaps, name: router }: Router): Measured => [
  { name: 'holdfast_vrrp_advertisement_gap_seconds', labels: { router }, cells: gaps.seconds.read() },
  { name: 'holdfast_vrrp_advertisement_gap_ratio', labels: { router }, cells: gaps.share.read() },
]
