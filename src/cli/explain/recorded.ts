/**
 * A recording as `holdfast explain` takes it: replayed, and the journal that came of it. Decided here: in which words it is
 * told whether the engine does now what it did then. Refuses to know how a replay goes (recording/) and to judge (explain/).
 */
import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { VERSION } from '../../app/version.ts'
import type { NodeJournal } from '../../explain/timeline.ts'
import { OPENING, UnreadableLine } from '../../recording/lines.ts'
import { RecordingLines } from '../../recording/recording-lines.ts'
import { type Difference, type Gap, Replay } from '../../recording/replay.ts'

/** `--json`, version 1 of the story: keys are added, never changed. */
export type RecordingReport = {
  readonly file: string
  /** Which holdfast has recorded it. */
  readonly holdfast: string
  readonly from: string | null
  readonly to: string | null
  readonly turns: number
  readonly outputs: number
  /** As far as it can be replayed, the engine does what it did then. */
  readonly matches: boolean
  readonly difference: Difference | null
  readonly gap: Gap | null
  readonly crash: string | null
  readonly end: string | null
}

export type Recorded = { readonly journal: NodeJournal; readonly report: RecordingReport }

/** Rejects with Error, in words: it cannot be read, or is no recording. */
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

/** Whoever names a file may have a journal there. */
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

/** One sentence each. */
export function reportWords({
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
  const verdict =
    difference === null
      ? `${what}, and the engine did the same ${outputs} things`
      : `${what}, and at line ${difference.line} the engine does something else${version}: the story is what was recorded`
  return [
    verdict,
    ...(difference === null ? [] : [`recorded: ${difference.recorded}`, `replayed: ${difference.replayed}`]),
    ...(crash === null ? [] : [`the engine ended by an exception, and does so again: ${crash}`]),
    ...(gap === null
      ? []
      : [
          `line ${gap.line}: ${gap.missing} lines are missing, because the disk did not keep up: the replay ends there`,
        ]),
    ...(end === 'the daemon has left' ? [] : [endWords(end, crash)]),
  ]
}

function endWords(end: string | null, crash: string | null): string {
  if (end !== null) return `the recording ends: ${end}`
  return crash === null
    ? 'the recording ends without a last word: the engine was killed, or still runs'
    : 'the recording ends there'
}
