/**
 * What the engine answers its worker: how everything is, whether it runs, and its journal. Decided here: a report goes in
 * pieces, and what is due between two of them comes first; who follows the events is told of each until it is gone.
 * Refuses to know threads, and what an answer is for.
 */
import type { EngineReport, ReportPart } from '../daemon/telemetry/report.ts'
import type { EventSource } from '../http/event-route.ts'
import type { EngineAnswer, EngineMessage, EngineQuestion, WorkerMessage } from './worker-message.ts'

export type EngineSources = {
  readonly report: () => Generator<ReportPart, EngineReport>
  readonly events: EventSource
}

/** To the thread that has asked; lost when it is gone. */
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

  /** The thread is gone, or has enough. */
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
