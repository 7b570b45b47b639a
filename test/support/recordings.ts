/**
 * Recordings without a disk: the octets that tapes write, and the result of their replay. Lines go through their text,
 * as they would through a file. This file does not know the recorded program.
 */

import { FORMAT } from '../../src/recording/lines.ts'
import { RecordingLines } from '../../src/recording/recording-lines.ts'
import { Replay, type Replayed } from '../../src/recording/replay.ts'
import { Tape } from '../../src/recording/tape.ts'

export const HEADER = JSON.stringify({ recording: FORMAT, holdfast: 'test', at: '2026-01-01T00:00:00.000Z' })

export type KeptTape = { readonly tape: Tape; readonly lines: string[] }

export function keptTape(): KeptTape {
  const lines = [HEADER]
  return { tape: new Tape((line) => void lines.push(JSON.stringify(line))), lines }
}

export const replayOf = (lines: readonly string[]): Promise<Replayed> =>
  new Replay(new RecordingLines(Buffer.from(lines.map((line) => `${line}\n`).join('')))).run()

/** Returns the differences of a replay as texts; [] for a replay with the same result. */
export function wrongIn({ difference, end, gap }: Replayed): readonly string[] {
  if (difference !== undefined)
    return [`line ${difference.line}: recorded ${difference.recorded}, replayed ${difference.replayed}`]
  return [...(gap === undefined ? [] : ['a gap']), ...(end?.startsWith('unreadable') === true ? [end] : [])]
}
