/**
 * The worker thread (docs/architecture.md): the health checks, the TCP side of the API, and the reading of a configuration that
 * is to be put in force. A check that hangs, a slow scrape, a large file and a bug in here cannot delay an
 * advertisement; nor can the dumps that keepalived's users ask for. Decided here: first the privileges go, and a thread
 * that keeps them opens no port (docs/adr/0019); each of them is loaded when it is asked for. Refuses to know how privileges are dropped.
 */
import type { MessagePort } from 'node:worker_threads'
import type { CheckService } from '../healthcheck/check-service.ts'
import type { OpenStream } from '../healthcheck/connection/stream.ts'
import type { WatchEnd } from '../healthcheck/probe.ts'
import type { ProbePorts } from '../healthcheck/probe-of.ts'
import { CheckLatencies } from '../http/metrics/check-latencies.ts'
import type { MetricsPage } from '../http/metrics/metrics-page.ts'
import type { PortSettings } from '../http/port-settings.ts'
import type { PortSources } from '../http/public-port.ts'
import { ENGINE_PAUSE, sharedAnswer } from '../http/shared-answer.ts'
import type { NotifyService } from '../notify/notify-service.ts'
import type { WebhookService } from '../notify/webhook-service.ts'
import { EngineQuestions } from './engine-questions.ts'
import { LaunchRequests } from './launch-request.ts'
import type { EngineMessage, WorkerMessage } from './worker-message.ts'

const FIRST_RESULTS = 150

export type WorkerPorts = {
  readonly engine: MessagePort
  readonly settings: PortSettings
  /** For this thread alone; throws Error when something is left. */
  readonly dropPrivileges: () => void
  readonly streamPair: () => readonly [ours: number, theirs: number]
  readonly watchEnd: WatchEnd
  readonly openStream: OpenStream
}

type Tell = (message: WorkerMessage) => void

export function runWorker({ engine, settings, dropPrivileges, openStream, streamPair, watchEnd }: WorkerPorts): void {
  const tell: Tell = (message) => engine.postMessage(message)
  let kept: string | undefined
  try {
    dropPrivileges()
  } catch (error) {
    kept = wordsOf(error)
  }
  const launches = new LaunchRequests(streamPair, tell)
  let checks: Promise<CheckService> | undefined
  let checking: CheckService | undefined
  let notices: Promise<NotifyService> | undefined
  let webhook: Promise<WebhookService> | undefined
  const latencies = new CheckLatencies()
  const questions = new EngineQuestions((message) => {
    // The engine hears it before the question, and answers with what is so now.
    if (message.kind === 'asked' && message.question.about === 'report') checking?.tellAll()
    tell(message)
  })
  const report = sharedAnswer(() => questions.report(), ENGINE_PAUSE)
  let metrics: Promise<MetricsPage> | undefined
  const metricsPage = () => {
    metrics ??= import('../http/metrics/metrics-page.ts').then(
      ({ MetricsPage }) => new MetricsPage(settings, { report, latencies }),
    )
    return metrics
  }
  engine.on('message', (message: EngineMessage) => {
    switch (message.kind) {
      case 'parse':
        void parse(message, tell)
        break
      case 'dump':
        void dump(message, tell)
        break
      case 'expose':
        void expose(message.id, metricsPage, tell)
        break
      case 'checkOrder':
        checks ??= startChecks(
          tell,
          { launch: (programs) => launches.launch(programs), openStream, watchEnd },
          latencies,
        )
        // The engine notices the silence of a thread that cannot check.
        void checks
          .then((service) => {
            checking = service
            return service.obey(message.order)
          })
          .catch((error) => tell({ kind: 'failed', message: `Cannot check anything: ${wordsOf(error)}` }))
        break
      case 'notifyOrder':
        notices ??= startNotices(tell, launches)
        void notices
          .then((service) => service.obey(message.order))
          .catch((error) => tell({ kind: 'failed', message: `Cannot notify anybody: ${wordsOf(error)}` }))
        break
      case 'webhookOrder':
        webhook ??= startWebhook(tell, settings)
        void webhook
          .then((service) => service.obey(message.order))
          .catch((error) => tell({ kind: 'failed', message: `Cannot post any event: ${wordsOf(error)}` }))
        break
      case 'wordWanted':
        tell({ kind: 'word' })
        break
      case 'launched':
        launches.answered(message)
        break
      case 'serve':
        if (kept === undefined)
          void afterFirstResults(checks).then(() => serve(settings, { questions, report, metricsPage }, tell))
        else
          tell({ kind: 'failed', message: `${cannotOpen(settings)}: the worker thread keeps its privileges: ${kept}` })
        break
      case 'reported':
        questions.reported(message.id, message.part)
        break
      case 'answered':
        questions.answered(message.id, message.answer)
        break
      case 'happened':
        questions.happened(message.event)
    }
  })
}

async function startChecks(tell: Tell, ports: ProbePorts, latencies: CheckLatencies): Promise<CheckService> {
  const { CheckService } = await import('../healthcheck/check-service.ts')
  const onRun = (check: string, latencyMs: number) => latencies.observe(check, latencyMs)
  return new CheckService((news) => tell({ kind: 'check', news }), ports, onRun)
}

async function startNotices(tell: Tell, launches: LaunchRequests): Promise<NotifyService> {
  const { NotifyService } = await import('../notify/notify-service.ts')
  return new NotifyService(
    (news) => tell({ kind: 'notify', news }),
    (programs) => launches.launch(programs),
  )
}

async function startWebhook(tell: Tell, { version }: PortSettings): Promise<WebhookService> {
  const { posting } = await import('../notify/webhook-post.ts')
  const { WebhookService } = await import('../notify/webhook-service.ts')
  return new WebhookService((news) => tell({ kind: 'webhook', news }), posting(`holdfast/${version}`))
}

/** What serves takes 100 ms of this thread to load; a router may wait for the first result of a check. */
async function afterFirstResults(checks: Promise<CheckService> | undefined): Promise<void> {
  if (checks === undefined) return
  await checks.catch(() => {})
  await new Promise((resolve) => setTimeout(resolve, FIRST_RESULTS))
}

type Asked = Omit<PortSources, 'metrics'> & { readonly metricsPage: () => Promise<MetricsPage> }

async function serve(settings: PortSettings, { metricsPage, ...asked }: Asked, tell: Tell): Promise<void> {
  const { listen } = settings
  if (listen === false) return
  try {
    const { openPort } = await import('../http/public-port.ts')
    openPort({ ...settings, listen }, { ...asked, metrics: await metricsPage() }, tell)
  } catch (error) {
    tell({ kind: 'failed', message: `${cannotOpen({ listen })}: ${wordsOf(error)}` })
  }
}

const cannotOpen = ({ listen }: Pick<PortSettings, 'listen'>): string =>
  listen === false ? 'Cannot open a port' : `Cannot open ${listen.host}:${listen.port}`

async function parse({ id, order }: Extract<EngineMessage, { kind: 'parse' }>, tell: Tell) {
  try {
    const { freshConfig } = await import('../files/fresh-configuration.ts')
    tell({ kind: 'parsed', id, fresh: await freshConfig(order) })
  } catch (error) {
    // A package that only its owner may read: this thread has no right to read what belongs to others.
    const problem = { file: order.file, line: 0, column: 0, path: '', severity: 'error' } as const
    const message = `Cannot load what reads a configuration: ${wordsOf(error)}`
    tell({ kind: 'parsed', id, fresh: { ok: false, problems: [{ ...problem, message }] } })
  }
}

async function expose(id: number, metricsPage: () => Promise<MetricsPage>, tell: Tell) {
  try {
    tell({ kind: 'exposed', id, metrics: await (await metricsPage()).text() })
  } catch (error) {
    tell({ kind: 'exposed', id, metrics: wordsOf(error) })
  }
}

async function dump({ id, order }: Extract<EngineMessage, { kind: 'dump' }>, tell: Tell) {
  try {
    const { keepalivedDump } = await import('../keepalived/dump.ts')
    const { replaceFile } = await import('../files/fresh-file.ts')
    await replaceFile(order.file, keepalivedDump(order.kind, order.dumped))
    tell({ kind: 'dumped', id, problem: undefined })
  } catch (error) {
    tell({ kind: 'dumped', id, problem: wordsOf(error) })
  }
}

const wordsOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
