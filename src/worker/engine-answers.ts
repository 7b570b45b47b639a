/**
 * The engine's answers to its worker: a report of everything, a beat, and the event journal. A report is sent in
 * pieces, and other work of the engine runs between two pieces. A worker thread that follows the events gets each event
 * until the thread ends. This file knows nothing about the use of an answer.
 */
import type { EngineReport, ReportPart } from '../daemon/telemetry/report.ts'
import type { EventSource } from '../http/event-route.ts'
import type { EngineAnswer, EngineMessage, EngineQuestion, WorkerMessage } from './worker-message.ts'

export type EngineSources = {
  readonly report: () => Generator<ReportPart, EngineReport>
  readonly events: EventSource
}

/** Sends a message to the worker thread that asked. If the thread has ended, the message is lost. */
type Post = (message: EngineMessage) => void

export class EngineAnswers {
  readonly #sources: EngineSources
  #unfollow: () => void = () => {}

  constructor(sources: EngineSources) {
    this.#sources = sources
  }

  async reply({ id, question }: Extract<WorkerMessage, { kind: 'asked' }>, post: Post): Promise<void> {
    post({
      kind: 'answered',
      id,
      answer: await this.#answerTo(question, (part) => post({ kind: 'reported', id, part })),
    })
  }

  follow(followed: boolean, post: Post): void {
    this.unfollow()
    if (followed) this.#unfollow = this.#sources.events.listen((event) => post({ kind: 'happened', event }))
  }

  /** Stops sending events to the worker thread, because the thread has ended or no longer wants them. */
  unfollow(): void {
    this.#unfollow()
    this.#unfollow = () => {}
  }

  async #answerTo(question: EngineQuestion, tell: (part: ReportPart) => void): Promise<EngineAnswer> {
    switch (question.about) {
      case 'report':
        return { about: 'report', report: await inPieces(this.#sources.report(), tell) }
      case 'beat':
        return { about: 'beat' }
      case 'events':
        return { about: 'events', page: await this.#sources.events.events(question.wanted) }
    }
  }
}

async function inPieces(
  report: Generator<ReportPart, EngineReport>,
  tell: (part: ReportPart) => void,
): Promise<EngineReport> {
  for (;;) {
    const next = report.next()
    if (next.done === true) return next.value
    tell(next.value)
    await new Promise((resolve) => setImmediate(resolve))
  }
}
