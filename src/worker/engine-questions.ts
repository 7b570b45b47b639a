/**
 * The worker's questions to the engine. Every question of a caller is sent to the engine; an old answer is never used,
 * and a missing answer is an error. This file knows nothing about the use of an answer.
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
  /** Pieces of engine reports that are not complete yet. */
  readonly #parts = new Map<number, ReportPart[]>()
  readonly #listeners = new Set<(event: JournalEvent) => void>()
  #lastId = 0

  constructor(tell: (message: WorkerMessage) => void) {
    this.#tell = tell
  }

  /** Returns the engine's report: the snapshot and the histograms. */
  async report(): Promise<EngineReport> {
    const answer = await this.#ask({ about: 'report' })
    if (answer.about === 'report') return answer.report
    throw somethingElse()
  }

  /** Resolves when the engine answers a question for its beat. */
  async beat(): Promise<void> {
    await this.#ask({ about: 'beat' })
  }

  async events(wanted: EventQuestion): Promise<EventPage> {
    const answer = await this.#ask({ about: 'events', wanted })
    if (answer.about === 'events') return answer.page
    throw somethingElse()
  }

  /**
   * Calls the listener for each new event. The engine sends events only while there is a listener. Returns a function
   * that removes the listener.
   */
  listen(listener: (event: JournalEvent) => void): () => void {
    if (this.#listeners.size === 0) this.#tell({ kind: 'eventsFollowed', followed: true })
    this.#listeners.add(listener)
    return () => {
      if (this.#listeners.delete(listener) && this.#listeners.size === 0)
        this.#tell({ kind: 'eventsFollowed', followed: false })
    }
  }

  reported(id: number, part: ReportPart): void {
    // The answer belongs to a question that has timed out, and is ignored.
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

const somethingElse = (): Error => new Error('The engine has answered another question')
