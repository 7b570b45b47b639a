/**
 * Controls the worker thread from the engine: starts the thread when it is needed, answers its questions, gives it
 * files to read, and starts it again after it has ended, with a growing delay. The worker cannot stop the engine, and
 * each waiting caller gets an error when the thread ends. This file knows nothing about HTTP, the configuration and
 * health checks.
 */
import { Worker } from 'node:worker_threads'
import type { FreshConfig, ReadOrder } from '../files/fresh-configuration.ts'
import type { MetricsText, PortSettings } from '../http/port-settings.ts'
import type { DumpOrder } from '../keepalived/dump.ts'
import { EngineAnswers, type EngineSources } from './engine-answers.ts'
import type { Launchers } from './launchers.ts'
import { LoopWatch } from './loop-watch.ts'
import type { EngineMessage, WorkerMessage } from './worker-message.ts'

/** Milliseconds before a restart. The delay doubles for each thread that lived for less than GROWN_UP. */
const RESTART = { first: 100, last: 30_000 }
const GROWN_UP = 10_000
/** Longest time in milliseconds for reading a configuration. A network disk or a FIFO may block the thread. */
const PARSE_TIMEOUT = 10_000
/** Milliseconds after which a dump has timed out. A slow disk is no reason to replace the thread. */
const DUMP_TIMEOUT = 5_000
/** Milliseconds that Prometheus usually waits for an answer. A stalled engine gives an error after one second. */
const METRICS_TIMEOUT = 10_000

export type WorkerListener = EngineSources & {
  readonly onProblem: (message: string) => void
  readonly onListening: () => void
  /** Starts and ends launchers for the thread. */
  readonly launchers: Pick<Launchers, 'launch' | 'discard' | 'endAll'>
}

/** A part of the engine that needs a thread and exchanges messages with it. */
export type WorkerClient = {
  /** Called when a worker thread has started and accepts orders. */
  readonly onStart: () => void
  readonly onMessage: (message: WorkerMessage) => void
  /** Called when a worker thread has ended, but not after close(). */
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
  /** Clients of the worker thread; the value is true if the client needs a thread. */
  readonly #clients = new Map<WorkerClient, boolean>()
  #serves = false
  #closed = false
  #worker: Worker | undefined
  #watch: LoopWatch | undefined
  #startedAt = 0
  #restartAfter = RESTART.first
  #timer: NodeJS.Timeout | undefined
  #lastId = 0

  /** Creates the controller without a thread. `entry` is the file that the worker thread runs. */
  constructor(entry: URL, settings: PortSettings, listener: WorkerListener) {
    this.#entry = entry
    this.#settings = settings
    this.#listener = listener
    this.#answers = new EngineAnswers(listener)
  }

  /** Opens the HTTP port of the present settings, if the configuration has one. */
  serve(): void {
    this.#serves = this.#settings.listen !== false
    if (!this.#serves) return
    if (this.#worker === undefined) this.#ensure()
    else this.#worker.postMessage({ kind: 'serve' } satisfies EngineMessage)
  }

  register(client: WorkerClient): void {
    this.#clients.set(client, false)
  }

  /** Sets whether this client needs a worker thread. `onStart` is called when the thread runs, perhaps immediately. */
  keep(client: WorkerClient, wanted: boolean): void {
    const stayed = this.#clients.get(client)
    this.#clients.set(client, wanted)
    if (!wanted) this.#rest()
    else if (this.#worker === undefined) this.#ensure()
    else if (!stayed) client.onStart()
  }

  /** Sends a message to the running worker thread; without a thread, the message is lost. */
  post(message: EngineMessage): void {
    this.#worker?.postMessage(message)
  }

  /**
   * Checks whether the thread hangs (docs/adr/0040). A part of the engine that is awake for another reason calls it at
   * least every six seconds. The check does not wake a thread whose event loop works.
   */
  glance(now = performance.now()): void {
    this.#watch?.glance(now)
  }

  /** Replaces a worker thread that does not answer. Clients are notified immediately; the next thread starts later. */
  giveUp(): void {
    const thread = this.#worker
    if (thread === undefined) return
    this.#listener.onProblem('The worker thread does not answer; starting a new one')
    this.#lost(thread)
    void thread.terminate()
  }

  /** Reads a configuration. Rejects with Error if there is no answer, but never because of the file's content. */
  async parse(wanted: ReadOrder): Promise<FreshConfig> {
    const answer = await this.#ask(
      (id) => ({ kind: 'parse', id, order: wanted }),
      PARSE_TIMEOUT,
      (reader) => {
        // A file that blocks this thread would block the next one as well.
        if (this.#worker === reader) this.giveUp()
        return 'the configuration was not read'
      },
    )
    if (answer.kind !== 'parsed') throw new Error('the worker thread has answered another question')
    return answer.fresh
  }

  /** Writes a dump. Rejects with Error if it was not written. */
  async dump(wanted: DumpOrder): Promise<void> {
    const answer = await this.#ask(
      (id) => ({ kind: 'dump', id, order: wanted }),
      DUMP_TIMEOUT,
      () => 'the dump was not written',
    )
    if (answer.kind !== 'dumped') throw new Error('the worker thread has answered another question')
    if (answer.problem !== undefined) throw new Error(answer.problem)
  }

  /** Returns the text of /metrics; starts a thread if none runs. Rejects with Error if there is no answer. */
  async metrics(): Promise<MetricsText> {
    const answer = await this.#ask(
      (id) => ({ kind: 'expose', id }),
      METRICS_TIMEOUT,
      () => 'the worker thread has not returned the metrics',
    )
    if (answer.kind !== 'exposed') throw new Error('the worker thread has answered another question')
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

  get #staying(): readonly WorkerClient[] {
    return [...this.#clients].flatMap(([client, stays]) => (stays ? [client] : []))
  }

  /** Starts a worker thread if a client needs one and the delay after the last restart is over. */
  #ensure(): void {
    if (this.#isNeeded && this.#worker === undefined && this.#timer === undefined) this.#start()
  }

  /** Ends a worker thread that no client needs, because its memory counts more than the time of the next start. */
  #rest(): void {
    const thread = this.#worker
    if (this.#isNeeded || thread === undefined || this.#waiting.size > 0) return
    this.#worker = undefined
    this.#watch?.end()
    this.#watch = undefined
    this.#answers.unfollow()
    void thread.terminate()
  }

  #start(): Worker {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const started = new Worker(this.#entry, {
      workerData: this.#settings,
      // A memory leak of the worker ends the thread, and not the engine.
      resourceLimits: { maxOldGenerationSizeMb: 64 },
      // Without this option, the engine's thread would wait for the reader of standard error.
      stdout: true,
      stderr: true,
    })
    this.#worker = started
    this.#startedAt = performance.now()
    const idle = () => started.performance.eventLoopUtilization().idle
    const ask = () => this.post({ kind: 'beatWanted' })
    this.#watch = new LoopWatch({ idle, ask, onHang: () => this.giveUp() }, this.#startedAt)
    // The engine must be able to end while a request for metrics hangs.
    started.unref()
    started.stdout.resume()
    started.stderr.on('data', (text: Buffer) => this.#listener.onProblem(text.toString('utf8').trim()))
    started.on('message', (message: WorkerMessage) => this.#hear(started, message))
    started.on('error', (error) => this.#listener.onProblem(`The worker thread failed: ${error.message}`))
    started.on('exit', () => this.#lost(started))
    for (const client of this.#staying) client.onStart()
    // The orders of the clients come first, because loading the HTTP server takes 100 ms.
    if (this.#serves) this.post({ kind: 'serve' })
    return started
  }

  #hear(thread: Worker, message: WorkerMessage): void {
    if (thread === this.#worker) this.#watch?.hear()
    if (message.kind === 'beat') return
    if (message.kind === 'listening') this.#listener.onListening()
    else if (message.kind === 'failed') this.#listener.onProblem(message.message)
    else if (message.kind === 'parsed' || message.kind === 'dumped' || message.kind === 'exposed')
      this.#answered(message)
    else if (message.kind === 'asked') void this.#answers.reply(message, (answer) => thread.postMessage(answer))
    else if (thread !== this.#worker) this.#orphaned(message)
    else if (message.kind === 'eventsFollowed')
      this.#answers.follow(message.followed, (news) => thread.postMessage(news))
    else if (message.kind === 'launchWanted') void this.#launch(thread, message)
    else for (const client of this.#clients.keys()) client.onMessage(message)
  }

  async #launch(thread: Worker, { id, programs, channel }: Extract<WorkerMessage, { kind: 'launchWanted' }>) {
    // Only this worker thread gets the answer, because each thread numbers its questions from 1.
    const refusal = await this.#listener.launchers.launch(programs, channel, () => thread === this.#worker)
    const answer: EngineMessage = { kind: 'launched', id, refusal }
    thread.postMessage(answer)
  }

  /** Handles a message of a worker thread that was replaced: its descriptor is closed. */
  #orphaned(message: WorkerMessage): void {
    if (message.kind === 'launchWanted') this.#listener.launchers.discard(message.channel)
  }

  #lost(thread: Worker): void {
    for (const [id, { reader, reject }] of this.#waiting) {
      if (reader !== thread) continue
      this.#waiting.delete(id)
      reject(new Error('the worker thread ended without an answer'))
    }
    if (this.#worker !== thread) return
    this.#worker = undefined
    this.#watch?.end()
    this.#watch = undefined
    this.#answers.unfollow()
    // Most channels were closed with the thread; a thread that hangs may still hold some.
    this.#listener.launchers.endAll()
    if (performance.now() - this.#startedAt > GROWN_UP) this.#restartAfter = RESTART.first
    if (this.#closed) return
    if (this.#isNeeded) {
      this.#timer = setTimeout(() => {
        this.#timer = undefined
        // Perhaps no client needs the thread any longer.
        this.#ensure()
      }, this.#restartAfter).unref()
      this.#restartAfter = Math.min(this.#restartAfter * 2, RESTART.last)
    }
    for (const client of this.#staying) client.onEnd()
  }

  #answered(answer: Answer): void {
    const asked = this.#waiting.get(answer.id)
    this.#waiting.delete(answer.id)
    asked?.resolve(answer)
    this.#rest()
  }
}
