/**
 * Records an engine and repeats the recording, without a disk: the octets that a tape writes are kept in memory. Each
 * line of a recording is converted to text and back, as through a file. This file does not know the recorded program.
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

/**
 * Returns the differences between a recording and its replay, as texts; an empty list if the replay had the same
 * result.
 */
export function wrongIn({ difference, end, gap }: Replayed): readonly string[] {
  if (difference !== undefined)
    return [`line ${difference.line}: recorded ${difference.recorded}, replayed ${difference.replayed}`]
  return [...(gap === undefined ? [] : ['a gap']), ...(end?.startsWith('unreadable') === true ? [end] : [])]
}
