/**
 * The needs of a replayed engine's ports: answers from the recording, and a comparison of what the
 * engine does.
 */
import type { Recorder } from '../daemon/telemetry/recorder.ts'
import type { Input, InputOf, NewOutput } from './lines.ts'
import type { ReplayedClocks } from './replayed-clocks.ts'

export type Playback = {
  readonly clocks: ReplayedClocks
  readonly recorder: Recorder
  /** Compares the output with the recording. */
  did(output: NewOutput): void
  /** Compares the output, and returns its result in the recording. */
  outcome<T>(output: NewOutput, read: (answer: unknown) => T): T
  /** Returns the answer in the recording to a question of the engine; `undefined` if there is none. */
  answerTo<K extends Input['in']>(kind: K, isMeant?: (input: InputOf<K>) => boolean): InputOf<K> | undefined
  /** Returns the answer to a question that always has one. */
  requiredAnswerTo<K extends Input['in']>(kind: K): InputOf<K> | undefined
  /**
   * Gives the engine the inputs of these kinds that the recording has within this call. `socket`: only those of that
   * socket.
   */
  within(kinds: ReadonlySet<Input['in']>, socket?: number): void
}
