/**
 * The worker thread (design.md §2): the health checks, the TCP side of the API, and the reading of a configuration that
 * is to be put in force. A check that hangs, a slow scrape, a large file and a bug in here cannot delay an
 * advertisement; nor can the dumps that keepalived's users ask for. Decided here: first the privileges go, and a thread
 * that keeps them opens no port (docs/adr/0019); each of them is loaded when it is asked for. Refuses to know how privileges are dropped.
 */
import type { MessagePort } from 'node:worker_threads'
import type { CheckService } from '../healthcheck/check-service.ts'
import type { WatchEnd } from '../healthcheck/probe.ts'
import type { ProbePorts } from '../healthcheck/probe-of.ts'
import type { OpenStream } from '../healthcheck/stream.ts'
import type { NotifyService } from '../notify/notify-service.ts'
import { LaunchRequests } from './launch-request.ts'
import { SnapshotQuestions } from './snapshot-questions.ts'
import type { EngineMessage, WorkerMessage, WorkerSettings } from './worker-message.ts'

const FIRST_RESULTS = 150

export type WorkerPorts = {
  readonly engine: MessagePort
  readonly settings: WorkerSettings
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
  const snapshots = new SnapshotQuestions((question) => {
    // The engine hears it before the question, and answers with what is so now.
    checking?.tellAll()
    tell(question)
  })
  engine.on('message', (message: EngineMessage) => {
    switch (message.kind) {
      case 'parse':
        void parse(message, tell)
        break
      case 'dump':
        void dump(message, tell)
        break
      case 'checkOrder':
        checks ??= startChecks(tell, { launch: (programs) => launches.launch(programs), openStream, watchEnd })
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
      case 'launched':
        launches.answered(message)
        break
      case 'serve':
        if (kept === undefined) void afterFirstResults(checks).then(() => serve(settings, snapshots, tell))
        else
          tell({ kind: 'failed', message: `${cannotOpen(settings)}: the worker thread keeps its privileges: ${kept}` })
        break
      case 'snapshot':
        snapshots.answered(message.id, message.snapshot)
    }
  })
}

async function startChecks(tell: Tell, ports: ProbePorts): Promise<CheckService> {
  const { CheckService } = await import('../healthcheck/check-service.ts')
  return new CheckService((news) => tell({ kind: 'check', news }), ports)
}

async function startNotices(tell: Tell, launches: LaunchRequests): Promise<NotifyService> {
  const { NotifyService } = await import('../notify/notify-service.ts')
  return new NotifyService(
    (news) => tell({ kind: 'notify', news }),
    (programs) => launches.launch(programs),
  )
}

/** What serves takes 100 ms of this thread to load; a router may wait for the first result of a check. */
async function afterFirstResults(checks: Promise<CheckService> | undefined): Promise<void> {
  if (checks === undefined) return
  await checks.catch(() => {})
  await new Promise((resolve) => setTimeout(resolve, FIRST_RESULTS))
}

async function serve({ listen, version }: WorkerSettings, snapshots: SnapshotQuestions, tell: Tell): Promise<void> {
  if (listen === false) return
  try {
    const { openPort } = await import('./public-port.ts')
    openPort(listen, version, snapshots, tell)
  } catch (error) {
    tell({ kind: 'failed', message: `${cannotOpen({ listen })}: ${wordsOf(error)}` })
  }
}

const cannotOpen = ({ listen }: Pick<WorkerSettings, 'listen'>): string =>
  listen === false ? 'Cannot open a port' : `Cannot open ${listen.host}:${listen.port}`

async function parse({ id, order }: Extract<EngineMessage, { kind: 'parse' }>, tell: Tell) {
  try {
    const { freshConfig } = await import('./fresh-configuration.ts')
    tell({ kind: 'parsed', id, fresh: await freshConfig(order) })
  } catch (error) {
    // A package that only its owner may read: this thread has no right to read what belongs to others.
    const problem = { file: order.file, line: 0, column: 0, path: '', severity: 'error' } as const
    const message = `Cannot load what reads a configuration: ${wordsOf(error)}`
    tell({ kind: 'parsed', id, fresh: { ok: false, problems: [{ ...problem, message }] } })
  }
}

async function dump({ id, order }: Extract<EngineMessage, { kind: 'dump' }>, tell: Tell) {
  try {
    const { keepalivedDump } = await import('./keepalived-dump.ts')
    const { replaceFile } = await import('./fresh-file.ts')
    await replaceFile(order.file, keepalivedDump(order.kind, order.dumped))
    tell({ kind: 'dumped', id, problem: undefined })
  } catch (error) {
    tell({ kind: 'dumped', id, problem: wordsOf(error) })
  }
}

const wordsOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
