/** What engine and worker say to each other. Values only; neither side shares memory with the other. */
import type { EngineReport, ReportPart } from '../daemon/telemetry/report.ts'
import type { JournalEvent } from '../events/event.ts'
import type { EventPage } from '../events/event-page.ts'
import type { FreshConfig, ReadOrder } from '../files/fresh-configuration.ts'
import type { CheckNews, CheckOrder } from '../healthcheck/check-message.ts'
import type { Refusal } from '../healthcheck/programs/launched-programs.ts'
import type { ProgramSet } from '../healthcheck/programs/program-set.ts'
import type { EventQuestion } from '../http/event-question.ts'
import type { MetricsText, PortNews } from '../http/port-settings.ts'
import type { DumpOrder } from '../keepalived/dump.ts'
import type { NotifyNews, NotifyOrder } from '../notify/notification.ts'
import type { WebhookNews, WebhookOrder } from '../notify/webhook.ts'

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
  | PortNews
  /** It runs: the answer to `wordWanted`. */
  | { readonly kind: 'word' }

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
