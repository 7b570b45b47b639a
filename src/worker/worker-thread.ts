/**
 * The engine's side of the worker: starts it when somebody needs it, answers its questions, hands it files to read, and
 * starts it again when it dies: at once the first time, ever later when it dies young. Nothing the worker does can stop
 * the engine, and whoever waits for it is told when it is gone. Knows no HTTP, no configuration and no health checks.
 */
import { Worker } from 'node:worker_threads'
import type { FreshConfig, ReadOrder } from '../files/fresh-configuration.ts'
import type { MetricsText, PortSettings } from '../http/port-settings.ts'
import type { DumpOrder } from '../keepalived/dump.ts'
import { EngineAnswers, type EngineSources } from './engine-answers.ts'
import type { Launchers } from './launchers.ts'
import { LoopPulse } from './loop-pulse.ts'
import type { EngineMessage, WorkerMessage } from './worker-message.ts'

/** Doubled for each thread that did not live for GROWN_UP. */
const RESTART = { first: 100, last: 30_000 }
const GROWN_UP = 10_000
/** A file on a dead network disk, a FIFO: whoever waits for them is told, and the thread is given up. */
const PARSE_TIMEOUT = 10_000
/** Who asks for a dump has stopped waiting for it by then; the thread is not to blame for a disk. */
const DUMP_TIMEOUT = 5_000
/** Between two looks at the thread, at the least: each costs half a wake-up (docs/adr/0040). Less while it owes a word. */
const LOOK = 3_000
const LOOK_AGAIN = 500
/** What a Prometheus waits for an answer, as a rule; an engine that is stuck is said after one second. */
const METRICS_TIMEOUT = 10_000

export type WorkerListener = EngineSources & {
  readonly onProblem: (message: string) => void
  readonly onListening: () => void
  /** For whatever a thread has run. */
  readonly launchers: Pick<Launchers, 'launch' | 'discard' | 'endAll'>
}

/** Who needs a thread that runs, and talks to it. */
export type WorkerGuest = {
  /** A thread has begun and hears orders. */
  readonly onStart: () => void
  readonly onMessage: (message: WorkerMessage) => void
  /** Not told of a thread that close() ended. */
  readonly onEnd: () => void
}

type Answer = Extract<WorkerMessage, { kind: 'parsed' | 'dumped' | 'exposed' }>

type Waiting = {
  readonly reader: Worker
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: Error) => void
}

export class WorkerThread {
  readonly #entry: URL
  readonly #settings: PortSettings
  readonly #listener: WorkerListener
  readonly #answers: EngineAnswers
  readonly #waiting = new Map<number, Waiting>()
  /** And whether each needs a thread. */
  readonly #guests = new Map<WorkerGuest, boolean>()
  #serves = false
  #closed = false
  #worker: Worker | undefined
  #pulse = new LoopPulse(0)
  #lookedAt = 0
  #startedAt = 0
  #restartAfter = RESTART.first
  #timer: NodeJS.Timeout | undefined
  #lastId = 0

  /** `entry` is the file that the thread runs. Nothing starts yet. */
  constructor(entry: URL, settings: PortSettings, listener: WorkerListener) {
    this.#entry = entry
    this.#settings = settings
    this.#listener = listener
    this.#answers = new EngineAnswers(listener)
  }

  /** From now on the port of the settings is open, if there is one. */
  serve(): void {
    this.#serves = this.#settings.listen !== false
    if (!this.#serves) return
    if (this.#worker === undefined) this.#ensure()
    else this.#worker.postMessage({ kind: 'serve' } satisfies EngineMessage)
  }

  host(guest: WorkerGuest): void {
    this.#guests.set(guest, false)
  }

  /** Whether the guest needs a thread. It hears `onStart` when there is one, which may be during this call. */
  keep(guest: WorkerGuest, wanted: boolean): void {
    const stayed = this.#guests.get(guest)
    this.#guests.set(guest, wanted)
    if (!wanted) this.#rest()
    else if (this.#worker === undefined) this.#ensure()
    else if (!stayed) guest.onStart()
  }

  /** To the thread that runs; lost without one. */
  post(message: EngineMessage): void {
    this.#worker?.postMessage(message)
  }

  /**
   * Whoever is awake anyway, every two seconds at the latest: a thread that hangs is seen, whatever it is for (docs/adr/0040).
   * Wakes nobody while it turns.
   */
  glance(now = performance.now()): void {
    const thread = this.#worker
    if (thread === undefined || now - this.#lookedAt < (this.#pulse.isAsked ? LOOK_AGAIN : LOOK)) return
    this.#lookedAt = now
    const found = this.#pulse.look(thread.performance.eventLoopUtilization().idle, now)
    if (found === 'ask') this.post({ kind: 'wordWanted' })
    else if (found === 'hangs') this.giveUp()
  }

  /** It does not answer any more. Its guests are told at once; the next thread comes in its time. */
  giveUp(): void {
    const thread = this.#worker
    if (thread === undefined) return
    this.#listener.onProblem('The worker thread does not answer: another one is started')
    this.#lost(thread)
    void thread.terminate()
  }

  /** Rejects with Error when there is no answer; never because of what the file says. */
  async parse(wanted: ReadOrder): Promise<FreshConfig> {
    const answer = await this.#ask(
      (id) => ({ kind: 'parse', id, order: wanted }),
      PARSE_TIMEOUT,
      (reader) => {
        // What hangs in there would hang the next one as well.
        if (this.#worker === reader) this.giveUp()
        return 'it was not read'
      },
    )
    if (answer.kind !== 'parsed') throw new Error('the worker thread has answered something else')
    return answer.fresh
  }

  /** Rejects with Error when it could not be written. */
  async dump(wanted: DumpOrder): Promise<void> {
    const answer = await this.#ask(
      (id) => ({ kind: 'dump', id, order: wanted }),
      DUMP_TIMEOUT,
      () => 'it was not written',
    )
    if (answer.kind !== 'dumped') throw new Error('the worker thread has answered something else')
    if (answer.problem !== undefined) throw new Error(answer.problem)
  }

  /** The text of /metrics; a thread is started for it when none runs. Rejects with Error when there is no answer. */
  async metrics(): Promise<MetricsText> {
    const answer = await this.#ask(
      (id) => ({ kind: 'expose', id }),
      METRICS_TIMEOUT,
      () => 'the worker thread has not made the metrics',
    )
    if (answer.kind !== 'exposed') throw new Error('the worker thread has answered something else')
    if (typeof answer.metrics === 'string') throw new Error(answer.metrics)
    return answer.metrics
  }

  async #ask(
    order: (id: number) => EngineMessage,
    within: number,
    onLate: (reader: Worker) => string,
  ): Promise<Answer> {
    if (this.#closed) throw new Error('the worker thread is closed')
    const reader = this.#worker ?? this.#start()
    const id = ++this.#lastId
    let late: NodeJS.Timeout | undefined
    try {
      return await new Promise<Answer>((resolve, reject) => {
        this.#waiting.set(id, { reader, resolve, reject })
        late = setTimeout(() => {
          this.#waiting.delete(id)
          reject(new Error(`${onLate(reader)} within ${within / 1000} s`))
        }, within)
        reader.postMessage(order(id))
      })
    } finally {
      clearTimeout(late)
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#timer)
    await this.#worker?.terminate()
  }

  get #isNeeded(): boolean {
    return !this.#closed && (this.#serves || this.#staying.length > 0)
  }

  get #staying(): readonly WorkerGuest[] {
    return [...this.#guests].flatMap(([guest, stays]) => (stays ? [guest] : []))
  }

  /** One that is to follow another waits for its turn: who asks does not make it sooner. */
  #ensure(): void {
    if (this.#isNeeded && this.#worker === undefined && this.#timer === undefined) this.#start()
  }

  /** Without anybody who needs it its memory is worth more than the time of the next start. */
  #rest(): void {
    const thread = this.#worker
    if (this.#isNeeded || thread === undefined || this.#waiting.size > 0) return
    this.#worker = undefined
    this.#answers.unfollow()
    void thread.terminate()
  }

  #start(): Worker {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const started = new Worker(this.#entry, {
      workerData: this.#settings,
      // A leak in here must end here.
      resourceLimits: { maxOldGenerationSizeMb: 64 },
      // Otherwise this thread would write it out, and wait for whoever does not read standard error.
      stdout: true,
      stderr: true,
    })
    this.#worker = started
    this.#startedAt = performance.now()
    this.#pulse = new LoopPulse(this.#startedAt)
    // The engine must be able to end while a scrape hangs.
    started.unref()
    started.stdout.resume()
    started.stderr.on('data', (text: Buffer) => this.#listener.onProblem(text.toString('utf8').trim()))
    started.on('message', (message: WorkerMessage) => this.#hear(started, message))
    started.on('error', (error) => this.#listener.onProblem(`The worker thread failed: ${error.message}`))
    started.on('exit', () => this.#lost(started))
    for (const guest of this.#staying) guest.onStart()
    // After the guests' orders: what serves is loaded for 100 ms.
    if (this.#serves) this.post({ kind: 'serve' })
    return started
  }

  #hear(thread: Worker, message: WorkerMessage): void {
    if (thread === this.#worker) this.#pulse.hear(performance.now())
    if (message.kind === 'word') return
    if (message.kind === 'listening') this.#listener.onListening()
    else if (message.kind === 'failed') this.#listener.onProblem(message.message)
    else if (message.kind === 'parsed' || message.kind === 'dumped' || message.kind === 'exposed')
      this.#answered(message)
    else if (message.kind === 'asked') void this.#answers.reply(message, (answer) => thread.postMessage(answer))
    else if (thread !== this.#worker) this.#orphaned(message)
    else if (message.kind === 'eventsFollowed')
      this.#answers.follow(message.followed, (news) => thread.postMessage(news))
    else if (message.kind === 'launchWanted') void this.#launch(thread, message)
    else for (const guest of this.#guests.keys()) guest.onMessage(message)
  }

  async #launch(thread: Worker, { id, programs, channel }: Extract<WorkerMessage, { kind: 'launchWanted' }>) {
    // To this thread and no other: each counts its questions from 1.
    const refusal = await this.#listener.launchers.launch(programs, channel, () => thread === this.#worker)
    const answer: EngineMessage = { kind: 'launched', id, refusal }
    thread.postMessage(answer)
  }

  /** What a thread said that has been given up: nobody is to have the descriptor. */
  #orphaned(message: WorkerMessage): void {
    if (message.kind === 'launchWanted') this.#listener.launchers.discard(message.channel)
  }

  #lost(thread: Worker): void {
    for (const [id, { reader, reject }] of this.#waiting) {
      if (reader !== thread) continue
      this.#waiting.delete(id)
      reject(new Error('the worker thread ended before it had answered'))
    }
    if (this.#worker !== thread) return
    this.#worker = undefined
    this.#answers.unfollow()
    // Their channels are gone with it, as a rule: one that hangs may still hold them.
    this.#listener.launchers.endAll()
    if (performance.now() - this.#startedAt > GROWN_UP) this.#restartAfter = RESTART.first
    if (this.#closed) return
    if (this.#isNeeded) {
      this.#timer = setTimeout(() => {
        this.#timer = undefined
        // Nobody may need it any more.
        this.#ensure()
      }, this.#restartAfter).unref()
      this.#restartAfter = Math.min(this.#restartAfter * 2, RESTART.last)
    }
    for (const guest of this.#staying) guest.onEnd()
  }

  #answered(answer: Answer): void {
    const asked = this.#waiting.get(answer.id)
    this.#waiting.delete(answer.id)
    asked?.resolve(answer)
    this.#rest()
  }
}
