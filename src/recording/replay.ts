/**
 * Plays a recording to a new engine: gives the engine the recorded inputs, and compares its actions with the recording,
 * line by line. This file decides that the first difference ends the comparison, an exception that also ended the
 * recorded engine is no difference, and a recording may end anywhere. This file knows nothing about ports
 * (replayed-ports.ts), and the report.
 */

import { setImmediate as afterMicrotasks } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import * as z from 'zod'
import { defined } from '../base/defined.ts'
import { Daemon } from '../daemon/daemon.ts'
import { Recorder } from '../daemon/telemetry/recorder.ts'
import { type JournalEvent, readEvent } from '../events/event.ts'
import {
  contentOfInput,
  contentOfOutput,
  type Input,
  type InputOf,
  type Line,
  type NewOutput,
  UnreadableLine,
} from './lines.ts'
import type { RecordingLines } from './recording-lines.ts'
import { ReplayedClocks } from './replayed-clocks.ts'
import { ReplayedPorts } from './replayed-ports.ts'
import { withoutDetail } from './secrets.ts'

/** First difference of a replay: the recorded line, and what the new engine does instead. */
export type Difference = { readonly line: number; readonly recorded: string; readonly replayed: string }

export type Gap = { readonly line: number; readonly missing: number }

export type Replayed = {
  /** First difference; `undefined` if the engine does the same, as far as the recording can be replayed. */
  readonly difference: Difference | undefined
  /**
   * Text of the last line, or the reason why that line cannot be read; `undefined` if the recording does not say why it
   * ends.
   */
  readonly end: string | undefined
  /** Gap in the recording at which the replay ended, because lines were left out. */
  readonly gap: Gap | undefined
  /** Exception that ended the recorded engine and the new engine. */
  readonly crash: string | undefined
  /** Number of replayed inputs from outside of the engine; `outputs` is the number of the engine's actions. */
  readonly turns: number
  readonly outputs: number
  /** Recorded events, numbered from 1, also those behind a gap or a difference. */
  readonly events: readonly JournalEvent[]
  /** Clock values at the end of the recording; `undefined` if nothing was recorded. */
  readonly now: { readonly at: string; readonly monotonicMs: number } | undefined
}

/** Number of characters of a recorded line that are shown. */
const SHOWN_LENGTH = 600

export class Replay {
  readonly #lines: RecordingLines
  readonly #clocks: ReplayedClocks
  readonly #recorder: Recorder
  readonly #ports: ReplayedPorts
  #daemon: Daemon | undefined
  /** True when the comparison of engine and recording is over: at the end, at a gap, at a difference. */
  #isOver = false
  #difference: Difference | undefined
  #gap: Gap | undefined
  #end: string | undefined
  #crash: string | undefined
  /** True after the engine was ordered to stop. After this order, actions of the engine come from promises as well. */
  #isLeaving = false
  /** True while the replay records an event of another part of the daemon. */
  #isFact = false
  #turns = 0
  #outputs = 0
  readonly #events: JournalEvent[] = []

  constructor(lines: RecordingLines) {
    this.#lines = lines
    this.#clocks = new ReplayedClocks(() => this.#peek())
    const elapsed = () => this.#clocks.read('elapsed')
    const clocks = { wall: () => this.#clocks.read('wall'), monotonic: () => this.#clocks.read('mono') }
    this.#recorder = new Recorder(elapsed, () => {}, clocks)
    this.#recorder.chronicle.subscribe((event) => {
      if (!this.#isFact) this.#did({ out: 'event', event: withoutDetail(event) })
    })
    this.#ports = new ReplayedPorts({
      ...{ clocks: this.#clocks, recorder: this.#recorder },
      did: (output) => void this.#did(output),
      outcome: (output, read) => this.#outcome(output, read),
      answerTo: (kind, isMeant) => this.#answerTo(kind, isMeant),
      requiredAnswerTo: (kind) => this.#answerTo(kind) ?? this.#lacks(kind),
      within: (kinds, socket) => this.#within(kinds, socket),
    })
  }

  /** Replays the recording. Never rejects because of the content of the recording. */
  async run(): Promise<Replayed> {
    for (let line = this.#next(); line !== undefined; line = this.#next()) {
      if (line.kind === 'out' || line.input.turn === undefined) this.#differ(line, 'nothing more in this turn')
      else {
        this.#take()
        this.#turns++
        this.#tryInput(line.input)
      }
      if (this.#isLeaving) await afterMicrotasks()
    }
    // The report needs all events, so reading continues although the replay has ended.
    while (this.#peek() !== undefined) this.#take()
    const last = this.#events.at(-1)
    const ran = last === undefined ? 0 : Math.max(0, this.#clocks.latest - last.monotonicMs)
    return {
      ...{ difference: this.#difference, end: this.#end, gap: this.#gap, crash: this.#crash },
      ...{ turns: this.#turns, outputs: this.#outputs, events: this.#events },
      now: last && {
        at: new Date(Date.parse(last.at) + ran).toISOString(),
        monotonicMs: last.monotonicMs + ran,
      },
    }
  }

  #peek(): Line | undefined {
    try {
      return this.#lines.peek()
    } catch (error) {
      if (!(error instanceof UnreadableLine)) throw error
      this.#unreadable(error.message)
      return undefined
    }
  }

  /** Ends the replay at an unreadable line. */
  #unreadable(reason: string): void {
    this.#isOver = true
    this.#end ??= `unreadable: ${reason}`
  }

  /** Returns the next recorded line that can be replayed. */
  #next(): Extract<Line, { kind: 'in' | 'out' }> | undefined {
    const line = this.#peek()
    if (this.#isOver) return undefined
    if (line?.kind === 'in' || line?.kind === 'out') return line
    this.#isOver = true
    if (line?.kind === 'gap') this.#gap = { line: line.number, missing: line.lines }
    return undefined
  }

  #take(): void {
    const line = this.#lines.take()
    if (line?.kind === 'end') this.#end = line.reason
    const event =
      line?.kind === 'in' ? factOf(line.input) : line?.kind === 'out' ? readEvent(line.output.event) : undefined
    if (event !== undefined) this.#events.push(event)
  }

  // Inputs -----------------------------------------------------------------------------------------------------------

  #tryInput(input: Input): void {
    try {
      this.#give(input)
    } catch (error) {
      const message = error instanceof Error ? (error.stack ?? error.message) : String(error)
      if (this.#endedByThisError()) this.#crash = message
      else this.#differ(this.#next(), `the engine throws: ${message}`)
      this.#isOver = true
    }
  }

  /** Returns true if the recorded engine ended by the same exception: only its last line, or nothing, follows. */
  #endedByThisError(): boolean {
    const next = this.#next()
    return this.#difference === undefined && (next === undefined || isLastEvent(next))
  }

  #give(input: Input): void {
    const daemon = this.#daemon
    switch (input.in) {
      case 'create': {
        const { config, drainBeforeExpire, has, noticeAbsence } = input
        const options = { drainBeforeExpire, ...defined({ noticeAbsence }) }
        this.#daemon = new Daemon(config, this.#ports.ports(has), options)
        return
      }
      case 'start':
      case 'stop':
      case 'close':
      case 'yield':
      case 'reload':
        if (daemon === undefined) return this.#differ(this.#next(), `"${input.in}" comes before "create"`)
        return this.#order(daemon, input)
      case 'fact':
        return this.#record(input.event)
      default:
        if (!this.#ports.give(input)) this.#differ(this.#next(), `no listener for "${input.in}"`)
    }
  }

  #order(daemon: Daemon, input: InputOf<'start' | 'stop' | 'close' | 'yield' | 'reload'>): void {
    switch (input.in) {
      case 'start':
        return daemon.start()
      case 'stop':
        this.#isLeaving = true
        // The replay sees the end of the engine by its actions, not by this promise.
        return void daemon.stop()
      case 'close':
        return daemon.close()
      case 'yield':
        return void daemon.yield(input.router, input.forMs)
      case 'reload':
        return void daemon.reload(input.config, undefined, input.bearer)
    }
  }

  #record({ at, because: _, monotonicMs, seq: __, ...fact }: JournalEvent): void {
    this.#clocks.set(Date.parse(at), monotonicMs)
    this.#isFact = true
    this.#recorder.chronicle.record(fact)
    this.#isFact = false
  }

  /** Gives the inputs that were recorded while the engine asked a question or called another part. */
  #within(kinds: ReadonlySet<Input['in']>, socket: number | undefined): void {
    for (;;) {
      const next = this.#next()
      if (next?.kind !== 'in' || next.input.turn !== undefined || !kinds.has(next.input.in)) return
      if (socket !== undefined && 'socket' in next.input && next.input.socket !== socket) return
      this.#take()
      this.#give(next.input)
    }
  }

  #answerTo<K extends Input['in']>(kind: K, isMeant?: (input: InputOf<K>) => boolean): InputOf<K> | undefined {
    const next = this.#next()
    if (next?.kind !== 'in' || next.input.turn !== undefined || !isInput(next.input, kind)) return undefined
    if (isMeant?.(next.input) === false) return undefined
    this.#take()
    return next.input
  }

  #lacks(kind: Input['in']): undefined {
    const next = this.#next()
    if (!this.#isOver) this.#differ(next, `the engine asks for "${kind}"`)
    return undefined
  }

  // Actions ----------------------------------------------------------------------------------------------------------

  #did(output: NewOutput): unknown {
    const next = this.#next()
    if (next === undefined) return undefined
    // The action in the form of a recorded line, without undefined fields.
    const got: unknown = JSON.parse(JSON.stringify(output))
    if (next.kind !== 'out' || !isDeepStrictEqual(contentOfOutput(next.output), got)) {
      this.#differ(next, JSON.stringify(got))
      return undefined
    }
    this.#take()
    this.#outputs++
    return next.output.answer
  }

  #outcome<T>(output: NewOutput, read: (answer: unknown) => T): T {
    const { number } = this.#lines
    try {
      return read(this.#did(output))
    } catch (error) {
      if (!(error instanceof z.ZodError)) throw error
      this.#unreadable(`line ${number}: cannot read the answer to "${output.out}"`)
      return read(undefined)
    }
  }

  #differ(line: Line | undefined, replayed: string): void {
    this.#difference ??= {
      line: line?.number ?? this.#lines.number,
      recorded: line === undefined ? 'its end' : shortened(textOf(line)),
      replayed: shortened(replayed),
    }
    this.#isOver = true
  }
}

const factOf = (input: Input): JournalEvent | undefined => (input.in === 'fact' ? input.event : undefined)

const isInput = <K extends Input['in']>(input: Input, kind: K): input is InputOf<K> => input.in === kind

const isLastEvent = (line: Line): boolean => line.kind === 'in' && factOf(line.input)?.kind === 'crashed'

const shortened = (text: string): string =>
  text.length <= SHOWN_LENGTH ? text : `${text.slice(0, SHOWN_LENGTH)}… (${text.length} characters)`

function textOf(line: Line): string {
  if (line.kind === 'in') return JSON.stringify(contentOfInput(line.input))
  return line.kind === 'out' ? JSON.stringify(contentOfOutput(line.output)) : line.kind
}
