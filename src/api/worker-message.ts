/** What engine and worker say to each other. Values only; neither side shares memory with the other. */
import type { Config } from '../config/config.ts'
import type { ConfigDiff } from '../config/diff.ts'
import type { Imported } from '../config/keepalived/fate.ts'
import type { NodeSettings } from '../config/node-settings.ts'
import type { NodeView } from '../config/node-view.ts'
import type { Problem } from '../config/problem.ts'
import type { EngineReport, ReportPart } from '../daemon/report.ts'
import type { CheckNews, CheckOrder } from '../healthcheck/check-message.ts'
import type { Refusal } from '../healthcheck/launched-programs.ts'
import type { ProgramSet } from '../healthcheck/program-set.ts'
import type { EventPage, JournalEvent } from '../journal/event.ts'
import type { NotifyNews, NotifyOrder } from '../notify/notification.ts'
import type { WebhookNews, WebhookOrder } from '../notify/webhook.ts'
import type { KeepalivedReading } from './configuration-language.ts'
import type { EventQuestion } from './event-question.ts'
import type { Dumped, DumpKind } from './keepalived-dump.ts'

export type WorkerSettings = {
  /** False: nothing is served, there is only parsing. What another address than loopback means: docs/privileges.md. */
  readonly listen: { readonly host: string; readonly port: number } | false
  /** Other machines may ask, by whatever name they know. */
  readonly isPublic: boolean
  readonly version: string
  readonly metricsCompat: Config['api']['metricsCompat']
  /** Where the API of other nodes is. */
  readonly peers: readonly string[]
}

/** A configuration file read again. With `ok` the problems are warnings; otherwise there is an error among them. */
export type FreshConfig =
  | {
      readonly ok: true
      readonly config: Config
      readonly hash: string
      /** From the configuration in force to this one. */
      readonly diff: ConfigDiff
      readonly warnings: readonly Problem[]
      /** Of keepalived's file. */
      readonly imported?: Imported | undefined
    }
  | { readonly ok: false; readonly problems: readonly Problem[] }

export type ReadOrder = {
  readonly file: string
  /** How, when it is keepalived's. */
  readonly keepalived?: KeepalivedReading | undefined
  /** What was handed over, in the place of what is in the file. */
  readonly text?: string | undefined
  /** In the place of what the configuration says. */
  readonly settings?: NodeSettings | undefined
  readonly node: NodeView
  readonly inForce: Config
}

/** A dump in keepalived's words, into this file. */
export type DumpOrder = { readonly kind: DumpKind; readonly file: string; readonly dumped: Dumped }

/** The answer of /metrics. */
export type MetricsText = { readonly contentType: string; readonly body: string }

export type EngineQuestion =
  | { readonly about: 'report' }
  /** Whether it runs. */
  | { readonly about: 'beat' }
  | { readonly about: 'events'; readonly wanted: EventQuestion }
export type EngineAnswer =
  | { readonly about: 'report'; readonly report: EngineReport }
  | { readonly about: 'beat' }
  | { readonly about: 'events'; readonly page: EventPage }

export type WorkerMessage =
  | { readonly kind: 'asked'; readonly id: number; readonly question: EngineQuestion }
  /** From now on it wants to hear of every event, or not any more. */
  | { readonly kind: 'eventsFollowed'; readonly followed: boolean }
  | { readonly kind: 'parsed'; readonly id: number; readonly fresh: FreshConfig }
  /** `problem`: why not. */
  | { readonly kind: 'dumped'; readonly id: number; readonly problem: string | undefined }
  /** In words, why there is none. */
  | { readonly kind: 'exposed'; readonly id: number; readonly metrics: MetricsText | string }
  | { readonly kind: 'check'; readonly news: CheckNews }
  | { readonly kind: 'notify'; readonly news: NotifyNews }
  | { readonly kind: 'webhook'; readonly news: WebhookNews }
  /**
   * A launcher for programs of a check or of notifications (docs/adr/0026). `channel`: the descriptor that it is to have, the engine's from
   * now on; the other end stays with the worker.
   */
  | { readonly kind: 'launchWanted'; readonly id: number; readonly programs: ProgramSet; readonly channel: number }
  | { readonly kind: 'listening' }
  /** It runs: the answer to `wordWanted`. */
  | { readonly kind: 'word' }
  | { readonly kind: 'failed'; readonly message: string }

export type EngineMessage =
  /** The answer of this id follows, with the rest of the report. */
  | { readonly kind: 'reported'; readonly id: number; readonly part: ReportPart }
  | { readonly kind: 'answered'; readonly id: number; readonly answer: EngineAnswer }
  | { readonly kind: 'happened'; readonly event: JournalEvent }
  | { readonly kind: 'parse'; readonly id: number; readonly order: ReadOrder }
  | { readonly kind: 'dump'; readonly id: number; readonly order: DumpOrder }
  /** The metrics are wanted, for the engine's own door. */
  | { readonly kind: 'expose'; readonly id: number }
  | { readonly kind: 'checkOrder'; readonly order: CheckOrder }
  | { readonly kind: 'notifyOrder'; readonly order: NotifyOrder }
  | { readonly kind: 'webhookOrder'; readonly order: WebhookOrder }
  | { readonly kind: 'launched'; readonly id: number; readonly refusal: Refusal | undefined }
  | { readonly kind: 'wordWanted' }
  /** Open the port: said once, when what comes first has begun. */
  | { readonly kind: 'serve' }
