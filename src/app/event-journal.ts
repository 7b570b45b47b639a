/**
 * Opens the file of the event journal when the engine already runs; earlier events are in memory until then. This file
 * decides that no part of the daemon waits for the file, and an unusable file causes only a warning. This file also
 * decides which earlier run has crashed or was killed: its last event is not `stopped`, and the guardian did not replace
 * it on its order. An `upgradeOrdered` event proves nothing, because the guardian may refuse the order.
 */

import { defined } from '../base/defined.ts'
import { messageOf } from '../base/message-of.ts'
import type { Config } from '../config/config.ts'
import type { Recorder } from '../daemon/telemetry/recorder.ts'
import type { JournalEvent } from '../events/event.ts'
import type { JournalSnapshot } from '../events/journal-file.ts'
import { JournalFile, readEarlierLife } from '../events/journal-file.ts'
import { LOG } from '../log/log.ts'

const FLUSH_LIMIT = 200

export class EventJournal {
  readonly #recorder: Pick<Recorder, 'chronicle' | 'logLimited'>
  #file: JournalFile | undefined

  constructor(recorder: Pick<Recorder, 'chronicle' | 'logLimited'>) {
    this.#recorder = recorder
  }

  /** State of the journal file; `null` if events are kept in memory only. */
  get state(): JournalSnapshot | null {
    return this.#file?.state ?? null
  }

  /**
   * Opens the journal file and continues after the events of earlier runs, once they have been read. `isUpgrade`: this
   * engine has replaced the earlier one on its order.
   */
  open({ file: path, maxSize }: Config['journal'], isUpgrade: boolean): void {
    if (path === false) return
    const { chronicle } = this.#recorder
    const onProblem = (message: string) =>
      this.#recorder.logLimited('event journal', LOG.journalProblem, message, { file: path })
    const onGap = (lost: number, why: string) => chronicle.record({ kind: 'journalGap', lost, why })
    const file = new JournalFile({ path, maxSize, onProblem, onGap })
    this.#file = file
    void readEarlierLife(path)
      .catch((error: unknown): readonly JournalEvent[] => {
        onProblem(`Cannot read the event journal of an earlier run: ${messageOf(error)}`)
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
          ...{ kind: 'earlierLife', ended: isUpgrade || last.kind === 'stopped' ? 'cleanly' : 'abruptly' },
          ...{ lastSeq: last.seq, lastAt: last.at },
          ...defined({ pid: started?.pid }),
        })
      })
  }

  async flush(): Promise<void> {
    await this.#file?.flush(FLUSH_LIMIT)
  }

  /** Records the exception that ends the engine. When crashed() returns, all events are in the file. */
  crashed(error: unknown): void {
    if (this.#file === undefined) return
    this.#recorder.chronicle.record({ kind: 'crashed', ...describe(error) })
    this.#file.writeNow()
  }
}

/** Length of a recorded error in characters. The complete stack is on standard error. */
const LONGEST_ERROR = 300

function describe(error: unknown): { readonly error: string; readonly code?: string } {
  const [line = ''] = String(error).split('\n')
  const text = line.slice(0, LONGEST_ERROR)
  const hasCode = error instanceof Error && 'code' in error && typeof error.code === 'string'
  return hasCode ? { error: text, code: `${error.code}` } : { error: text }
}
