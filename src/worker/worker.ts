/**
 * The worker thread (docs/architecture.md): health checks, the HTTP server, and reading a configuration that is to be
 * put in force. A check that hangs, a slow request for metrics, a large file or an error here cannot delay an
 * advertisement, nor can keepalived's dumps. The thread first drops its privileges. If that fails, the thread opens no
 * port (docs/adr/0019). Each part is loaded when it is used first. This file knows nothing about how privileges are
 * dropped.
 */

import type { MessagePort } from 'node:worker_threads'
import { messageOf } from '../base/message-of.ts'
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
  /** Drops the privileges of this thread. Throws Error if the thread keeps a privilege. */
  readonly dropPrivileges: () => void
  readonly streamPair: () => readonly [ours: number, theirs: number]
  readonly watchEnd: WatchEnd
  readonly openStream: OpenStream
}

type Tell = (message: WorkerMessage) => void

export function runWorker(ports: WorkerPorts): void {
  const worker = new EngineWorker(ports)
  ports.engine.on('message', (message: EngineMessage) => worker.take(message))
}

type MessageOf<K extends EngineMessage['kind']> = Extract<EngineMessage, { kind: K }>

class EngineWorker {
  readonly #ports: WorkerPorts
  readonly #tell: Tell
  /** Reason why this thread keeps its privileges; `undefined` if it has dropped them. */
  readonly #privilegeProblem: string | undefined
  readonly #launches: LaunchRequests
  readonly #latencies = new CheckLatencies()
  readonly #questions: EngineQuestions
  readonly #report: PortSources['report']
  #checks: Promise<CheckService> | undefined
  #checking: CheckService | undefined
  #notices: Promise<NotifyService> | undefined
  #webhook: Promise<WebhookService> | undefined
  #metrics: Promise<MetricsPage> | undefined

  constructor(ports: WorkerPorts) {
    this.#ports = ports
    const tell: Tell = (message) => ports.engine.postMessage(message)
    this.#tell = tell
    this.#privilegeProblem = failureOf(ports.dropPrivileges)
    this.#launches = new LaunchRequests(ports.streamPair, tell)
    this.#questions = new EngineQuestions((message) => {
      // The engine receives the results of the checks before the question, so its answer contains them.
      if (message.kind === 'asked' && message.question.about === 'report') this.#checking?.tellAll()
      tell(message)
    })
    this.#report = sharedAnswer(() => this.#questions.report(), ENGINE_PAUSE)
  }

  take(message: EngineMessage): void {
    switch (message.kind) {
      case 'parse':
        return void parse(message, this.#tell)
      case 'dump':
        return void dump(message, this.#tell)
      case 'expose':
        return void expose(message.id, () => this.#metricsPage(), this.#tell)
      case 'checkOrder':
        return this.#check(message)
      case 'notifyOrder':
        return this.#notify(message)
      case 'webhookOrder':
        return this.#post(message)
      case 'beatWanted':
        return this.#tell({ kind: 'beat' })
      case 'launched':
        return this.#launches.answered(message)
      case 'serve':
        return this.#serve()
      case 'reported':
        return this.#questions.reported(message.id, message.part)
      case 'answered':
        return this.#questions.answered(message.id, message.answer)
      case 'happened':
        return this.#questions.happened(message.event)
    }
  }

  #check({ order }: MessageOf<'checkOrder'>): void {
    const { openStream, watchEnd } = this.#ports
    const probing: ProbePorts = { launch: (programs) => this.#launches.launch(programs), openStream, watchEnd }
    this.#checks ??= startChecks(this.#tell, probing, this.#latencies)
    const obeyed = this.#checks.then((service) => {
      this.#checking = service
      return service.obey(order)
    })
    // A thread that cannot run checks sends no reports, which the engine notices.
    this.#failing(obeyed, 'Cannot run health checks')
  }

  #notify({ order }: MessageOf<'notifyOrder'>): void {
    this.#notices ??= startNotices(this.#tell, this.#launches)
    this.#failing(
      this.#notices.then((service) => service.obey(order)),
      'Cannot run notify programs',
    )
  }

  #post({ order }: MessageOf<'webhookOrder'>): void {
    this.#webhook ??= startWebhook(this.#tell, this.#ports.settings)
    this.#failing(
      this.#webhook.then((service) => service.obey(order)),
      'Cannot post events',
    )
  }

  #failing(work: Promise<unknown>, what: string): void {
    void work.catch((error) => this.#tell({ kind: 'failed', message: `${what}: ${messageOf(error)}` }))
  }

  #serve(): void {
    const { settings } = this.#ports
    if (this.#privilegeProblem !== undefined) {
      const message = `${cannotOpen(settings)}: the worker thread keeps its privileges: ${this.#privilegeProblem}`
      return this.#tell({ kind: 'failed', message })
    }
    const sources = { questions: this.#questions, report: this.#report, metricsPage: () => this.#metricsPage() }
    void afterFirstResults(this.#checks).then(() => serve(settings, sources, this.#tell))
  }

  #metricsPage(): Promise<MetricsPage> {
    this.#metrics ??= import('../http/metrics/metrics-page.ts').then(
      ({ MetricsPage }) => new MetricsPage(this.#ports.settings, { report: this.#report, latencies: this.#latencies }),
    )
    return this.#metrics
  }
}

function failureOf(action: () => void): string | undefined {
  try {
    action()
    return undefined
  } catch (error) {
    return messageOf(error)
  }
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

/**
 * Waits for the first results of the health checks. Loading the HTTP server takes 100 ms of this thread, and a router
 * may wait for the first result of a check.
 */
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
    tell({ kind: 'failed', message: `${cannotOpen({ listen })}: ${messageOf(error)}` })
  }
}

const cannotOpen = ({ listen }: Pick<PortSettings, 'listen'>): string =>
  listen === false ? 'Cannot open a port' : `Cannot open ${listen.host}:${listen.port}`

async function parse({ id, order }: Extract<EngineMessage, { kind: 'parse' }>, tell: Tell) {
  try {
    const { freshConfig } = await import('../files/fresh-configuration.ts')
    tell({ kind: 'parsed', id, fresh: await freshConfig(order) })
  } catch (error) {
    // The thread may not read files of other users, such as a package that only its owner may read.
    const problem = { file: order.file, line: 0, column: 0, path: '', severity: 'error' } as const
    const message = `Cannot load the reader of configurations: ${messageOf(error)}`
    tell({ kind: 'parsed', id, fresh: { ok: false, problems: [{ ...problem, message }] } })
  }
}

async function expose(id: number, metricsPage: () => Promise<MetricsPage>, tell: Tell) {
  try {
    tell({ kind: 'exposed', id, metrics: await (await metricsPage()).text() })
  } catch (error) {
    tell({ kind: 'exposed', id, metrics: messageOf(error) })
  }
}

async function dump({ id, order }: Extract<EngineMessage, { kind: 'dump' }>, tell: Tell) {
  try {
    const { keepalivedDump } = await import('../keepalived/dump.ts')
    const { replaceFile } = await import('../files/fresh-file.ts')
    await replaceFile(order.file, keepalivedDump(order.kind, order.dumped))
    tell({ kind: 'dumped', id, problem: undefined })
  } catch (error) {
    tell({ kind: 'dumped', id, problem: messageOf(error) })
  }
}
