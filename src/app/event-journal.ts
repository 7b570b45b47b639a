/**
 * The event journal of this program, and its file: wiring. Opened when the engine already runs; what was recorded until
 * then is in memory. Decided here: that nothing waits for the file, that an earlier life which did not end with a word of
 * its own has ended abruptly, and that a file which cannot be used is a warning. Refuses to know what is recorded.
 */

import type { Config } from '../config/config.ts'
import type { Recorder } from '../daemon/telemetry/recorder.ts'
import type { JournalEvent } from '../events/event.ts'
import type { JournalSnapshot } from '../events/journal-file.ts'
import { JournalFile, readEarlierLife } from '../events/journal-file.ts'

const FLUSH_LIMIT = 200

export type EventJournal = {
  /** Null: in memory alone. */
  readonly state: JournalSnapshot | null
  flush(): Promise<void>
  /** The last word of an engine with a bug, and what waits, in the file before this returns. */
  crashed(error: unknown): void
}

export function openEventJournal(
  { file: path, maxSize }: Config['journal'],
  recorder: Pick<Recorder, 'chronicle' | 'logLimited'>,
): EventJournal {
  if (path === false) return { state: null, flush: () => Promise.resolve(), crashed: () => {} }
  const { chronicle } = recorder
  const onProblem = (message: string) => recorder.logLimited('event journal', 'warn', message, { file: path })
  const onGap = (lost: number, why: string) => chronicle.record({ kind: 'journalGap', lost, why })
  const file = new JournalFile({ path, maxSize, onProblem, onGap })
  void readEarlierLife(path)
    .catch((error: unknown): readonly JournalEvent[] => {
      onProblem(`Cannot read the event journal of an earlier life: ${error instanceof Error ? error.message : error}`)
      return []
    })
    .then((earlier) => {
      chronicle.file = path
      chronicle.continue(earlier)
      const last = earlier.at(-1)
      for (const event of chronicle.read({ after: last?.seq ?? 0 }).events) file.append(event)
      chronicle.subscribe((event) => file.append(event))
      if (last === undefined) return
      const started = earlier.findLast((event) => event.kind === 'started')
      chronicle.record({
        ...{ kind: 'earlierLife', ended: last.kind === 'stopped' ? 'cleanly' : 'abruptly' },
        ...{ lastSeq: last.seq, lastAt: last.at },
        ...(started === undefined ? {} : { pid: started.pid }),
      })
    })
  return {
    get state() {
      return file.state
    },
    flush: () => file.flush(FLUSH_LIMIT),
    crashed(error) {
      chronicle.record({ kind: 'crashed', ...wordsOf(error) })
      file.writeNow()
    },
  }
}

/** Long enough for a sentence: its stack is on standard error. */
const LONGEST_ERROR = 300

function wordsOf(error: unknown): { readonly error: string; readonly code?: string } {
  const [line = ''] = String(error).split('\n')
  const words = line.slice(0, LONGEST_ERROR)
  const hasCode = error instanceof Error && 'code' in error && typeof error.code === 'string'
  return hasCode ? { error: words, code: `${error.code}` } : { error: words }
}
