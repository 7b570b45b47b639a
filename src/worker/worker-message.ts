/** Messages between engine and worker. Messages are values only: the two threads share no memory. */
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
  /** Asks whether the engine runs. */
  | { readonly about: 'beat' }
  | { readonly about: 'events'; readonly wanted: EventQuestion }
export type EngineAnswer =
  | { readonly about: 'report'; readonly report: EngineReport }
  | { readonly about: 'beat' }
  | { readonly about: 'events'; readonly page: EventPage }

export type WorkerMessage =
  | { readonly kind: 'asked'; readonly id: number; readonly question: EngineQuestion }
  /** Starts or stops sending a message about each event. */
  | { readonly kind: 'eventsFollowed'; readonly followed: boolean }
  | { readonly kind: 'parsed'; readonly id: number; readonly fresh: FreshConfig }
  /** The engine's request for a dump is done. `problem`: reason why the dump was not written. */
  | { readonly kind: 'dumped'; readonly id: number; readonly problem: string | undefined }
  /** The metrics as text, or the reason why they could not be made. */
  | { readonly kind: 'exposed'; readonly id: number; readonly metrics: MetricsText | string }
  | { readonly kind: 'check'; readonly news: CheckNews }
  | { readonly kind: 'notify'; readonly news: NotifyNews }
  | { readonly kind: 'webhook'; readonly news: WebhookNews }
  /**
   * Asks for a launcher for programs of a check or of notifications (docs/adr/0026). `channel`: descriptor of the
   * launcher's end, which now belongs to the engine. The second end of the channel stays with the worker.
   */
  | { readonly kind: 'launchWanted'; readonly id: number; readonly programs: ProgramSet; readonly channel: number }
  | PortNews
  /** Answer to `beatWanted`. */
  | { readonly kind: 'beat' }

export type EngineMessage =
  /** A piece of the engine's report. The answer with the same id follows. */
  | { readonly kind: 'reported'; readonly id: number; readonly part: ReportPart }
  | { readonly kind: 'answered'; readonly id: number; readonly answer: EngineAnswer }
  | { readonly kind: 'happened'; readonly event: JournalEvent }
  | { readonly kind: 'parse'; readonly id: number; readonly order: ReadOrder }
  | { readonly kind: 'dump'; readonly id: number; readonly order: DumpOrder }
  /** Asks for the metrics, for the control socket of the engine. */
  | { readonly kind: 'expose'; readonly id: number }
  | { readonly kind: 'checkOrder'; readonly order: CheckOrder }
  | { readonly kind: 'notifyOrder'; readonly order: NotifyOrder }
  | { readonly kind: 'webhookOrder'; readonly order: WebhookOrder }
  | { readonly kind: 'launched'; readonly id: number; readonly refusal: Refusal | undefined }
  | { readonly kind: 'beatWanted' }
  /** Opens the HTTP port. The message is sent once, after more urgent work has started. */
  | { readonly kind: 'serve' }
