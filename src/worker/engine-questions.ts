/**
 * The worker's questions to the engine: every one anew, and an answer that does not come is an error instead of old
 * numbers. Refuses to know who wants to know.
 */
import { assembled, type EngineReport, type ReportPart } from '../daemon/telemetry/report.ts'
import type { JournalEvent } from '../events/event.ts'
import type { EventPage } from '../events/event-page.ts'
import type { EventQuestion } from '../http/event-question.ts'
import type { EngineAnswer, EngineQuestion, WorkerMessage } from './worker-message.ts'

const ENGINE_TIMEOUT = 1_000

export class EngineQuestions {
  readonly #tell: (message: WorkerMessage) => void
  readonly #waiting = new Map<number, (answer: EngineAnswer) => void>()
  /** Pieces of reports that are on their way. */
  readonly #parts = new Map<number, ReportPart[]>()
  readonly #listeners = new Set<(event: JournalEvent) => void>()
  #lastId = 0

  constructor(tell: (message: WorkerMessage) => void) {
    this.#tell = tell
  }

  /** How everything is. */
  async report(): Promise<EngineReport> {
    const answer = await this.#ask({ about: 'report' })
    if (answer.about === 'report') return answer.report
    throw somethingElse()
  }

  /** Whether it runs: settles when it does. */
  async beat(): Promise<void> {
    await this.#ask({ about: 'beat' })
  }

  async events(wanted: EventQuestion): Promise<EventPage> {
    const answer = await this.#ask({ about: 'events', wanted })
    if (answer.about === 'events') return answer.page
    throw somethingElse()
  }

  /** Each event from now on. The engine speaks of them while somebody listens. Returns how to end it. */
  listen(listener: (event: JournalEvent) => void): () => void {
    if (this.#listeners.size === 0) this.#tell({ kind: 'eventsFollowed', followed: true })
    this.#listeners.add(listener)
    return () => {
      if (this.#listeners.delete(listener) && this.#listeners.size === 0)
        this.#tell({ kind: 'eventsFollowed', followed: false })
    }
  }

  reported(id: number, part: ReportPart): void {
    // Of nobody who has stopped waiting.
    if (this.#waiting.has(id)) this.#parts.set(id, [...(this.#parts.get(id) ?? []), part])
  }

  answered(id: number, answer: EngineAnswer): void {
    const parts = this.#parts.get(id) ?? []
    const whole = answer.about === 'report' ? { ...answer, report: assembled(parts, answer.report) } : answer
    this.#waiting.get(id)?.(whole)
    this.#forget(id)
  }

  happened(event: JournalEvent): void {
    for (const listener of this.#listeners) listener(event)
  }

  #forget(id: number): void {
    this.#waiting.delete(id)
    this.#parts.delete(id)
  }

  #ask(question: EngineQuestion): Promise<EngineAnswer> {
    const id = ++this.#lastId
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#forget(id)
        reject(new Error(`The engine has not answered for ${ENGINE_TIMEOUT} ms`))
      }, ENGINE_TIMEOUT)
      this.#waiting.set(id, (answer) => {
        clearTimeout(timer)
        resolve(answer)
      })
      this.#tell({ kind: 'asked', id, question })
    })
  }
}

const somethingElse = (): Error => new Error('The engine has answered something else')
