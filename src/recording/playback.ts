/** What the ports of a replayed engine ask of the replay: answers out of the recording, and a comparison of what it does. */
import type { Recorder } from '../daemon/telemetry/recorder.ts'
import type { Input, InputOf, NewOutput } from './lines.ts'
import type { ReplayedClocks } from './replayed-clocks.ts'

export type Playback = {
  readonly clocks: ReplayedClocks
  readonly recorder: Recorder
  /** Compares the output with the recording. */
  did(output: NewOutput): void
  /** The same, and returns what came of it in the recording. */
  outcome<T>(output: NewOutput, read: (answer: unknown) => T): T
  /** Returns the answer in the recording to a question of the engine; `undefined` if there is none. */
  told<K extends Input['in']>(kind: K, isMeant?: (input: InputOf<K>) => boolean): InputOf<K> | undefined
  /** The same for a question that always has an answer. */
  asks<K extends Input['in']>(kind: K): InputOf<K> | undefined
  /** Gives the engine the inputs of these kinds that the recording has within this call; `socket`: of that socket. */
  within(kinds: ReadonlySet<Input['in']>, socket?: number): void
}
