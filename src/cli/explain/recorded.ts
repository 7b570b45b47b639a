/**
 * Replays a recording for `holdfast explain` and returns its events. This file decides how the report says whether the
 * replayed engine behaves as the recorded engine. The replay itself is in src/recording, the causes are found in
 * src/explain.
 */
import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { VERSION } from '../../app/version.ts'
import type { NodeJournal } from '../../explain/timeline.ts'
import { OPENING, UnreadableLine } from '../../recording/lines.ts'
import { RecordingLines } from '../../recording/recording-lines.ts'
import { type Difference, type Gap, Replay } from '../../recording/replay.ts'

/** Part of the JSON output, version 1 of the story: keys are added, never changed. */
export type RecordingReport = {
  readonly file: string
  /** Version of holdfast that made the recording. */
  readonly holdfast: string
  readonly from: string | null
  readonly to: string | null
  readonly turns: number
  readonly outputs: number
  /** True if the replayed engine behaves as recorded, as far as the recording can be replayed. */
  readonly matches: boolean
  readonly difference: Difference | null
  readonly gap: Gap | null
  readonly crash: string | null
  readonly end: string | null
}

export type Recorded = { readonly journal: NodeJournal; readonly report: RecordingReport }

/** Replays a recording. Rejects with Error if the file cannot be read or is no recording. */
export async function readRecording(path: string): Promise<Recorded> {
  const bytes = await allOf(path)
  let lines: RecordingLines
  try {
    lines = new RecordingLines(bytes)
  } catch (error) {
    if (error instanceof UnreadableLine) throw new Error(`Cannot read ${path}: ${error.message}`)
    throw error
  }
  const { crash, difference, end, events, gap, now, outputs, turns } = await new Replay(lines).run()
  const name = events.findLast((event) => event.kind === 'started')?.hostname ?? path
  return {
    journal: { name, events, now },
    report: {
      ...{ file: path, holdfast: lines.header.holdfast, from: events[0]?.at ?? null, to: now?.at ?? null },
      ...{ turns, outputs, matches: difference === undefined && end?.startsWith('unreadable') !== true },
      ...{ difference: difference ?? null, gap: gap ?? null, crash: crash ?? null, end: end ?? null },
    },
  }
}

/** Tells whether a file is a recording. The file may also be an event journal. */
export async function isRecording(path: string): Promise<boolean> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(OPENING.length), 0, OPENING.length, 0)
    return buffer.toString('latin1', 0, bytesRead) === OPENING
  } finally {
    await file.close()
  }
}

async function allOf(path: string): Promise<Buffer> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    if (!(await file.stat()).isFile()) throw new Error(`Cannot read ${path}: it is no regular file`)
    return await file.readFile()
  } finally {
    await file.close()
  }
}

/** Returns the report about a recording as a list of sentences. */
export function reportText({
  crash,
  difference,
  end,
  file,
  gap,
  holdfast,
  ...rest
}: RecordingReport): readonly string[] {
  const { from, outputs, to, turns } = rest
  const when = from === null || to === null ? '' : `, ${from} to ${to}`
  const what = `${file}: a recording of holdfast ${holdfast}${when}: ${turns} inputs replayed`
  const version = holdfast === VERSION ? '' : ` (replayed by holdfast ${VERSION})`
  const result =
    difference === null
      ? `${what}; the engine produced the same ${outputs} outputs as in the recording`
      : `${what}; the engine behaves differently at line ${difference.line}${version}; the report shows what was recorded`
  return [
    result,
    ...(difference === null ? [] : [`recorded: ${difference.recorded}`, `replayed: ${difference.replayed}`]),
    ...(crash === null ? [] : [`the engine ended with an exception, and does so in the replay: ${crash}`]),
    ...(gap === null
      ? []
      : [`line ${gap.line}: ${gap.missing} lines are missing, because the disk was too slow: the replay ends there`]),
    ...(end === 'the daemon has left' ? [] : [endText(end, crash)]),
  ]
}

function endText(end: string | null, crash: string | null): string {
  if (end !== null) return `the recording ends: ${end}`
  return crash === null
    ? 'the recording has no end mark: the engine was killed, or still runs'
    : 'the recording ends there'
}
