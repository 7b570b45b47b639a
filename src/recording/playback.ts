/**
 * Functions that the ports of a replayed engine need: they give answers from the recording, and compare the engine's
 * actions with the recording.
 */
import type { Recorder } from '../daemon/telemetry/recorder.ts'
import type { Input, InputOf, NewOutput } from './lines.ts'
import type { ReplayedClocks } from './replayed-clocks.ts'

export type Playback = {
  readonly clocks: ReplayedClocks
  readonly recorder: Recorder
  /** Compares an action of the replayed engine with the recorded action. */
  did(output: NewOutput): void
  /** Compares an action with the recording, and returns its recorded outcome. */
  outcome<T>(output: NewOutput, read: (answer: unknown) => T): T
  /** Returns the recorded answer to a question of the engine; `undefined` if the recording has none. */
  answerTo<K extends Input['in']>(kind: K, isMeant?: (input: InputOf<K>) => boolean): InputOf<K> | undefined
  /** Returns the recorded answer to a question that always has one. */
  requiredAnswerTo<K extends Input['in']>(kind: K): InputOf<K> | undefined
  /**
   * Gives the engine the inputs of these kinds that were recorded during this call. `socket`: only inputs from that
   * socket.
   */
  within(kinds: ReadonlySet<Input['in']>, socket?: number): void
}
