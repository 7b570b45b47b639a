/** The end of the earlier run, as the journal tells it. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { EventJournal } from '../../../src/app/event-journal.ts'
import { Recorder } from '../../../src/daemon/telemetry/recorder.ts'
import type { JournalEvent } from '../../../src/events/event.ts'

const at = '2026-11-22T10:00:00.000Z'
/** A daemon has one journal for its whole life. Node 26 reports an error if an open file is garbage-collected. */
const kept: EventJournal[] = []
const LOST = { kind: 'packetsLost', interface: 'eth0', count: 1 } as const

/** Resolves with the event about an earlier run that has recorded these events. */
async function earlierLife(facts: readonly object[], isUpgrade: boolean): Promise<JournalEvent> {
  const directory = mkdtempSync(join(tmpdir(), 'hf-life-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  const file = join(directory, 'events.jsonl')
  const lines = facts.map((fact, i) => JSON.stringify({ seq: i + 1, at, monotonicMs: i + 1, ...fact }))
  writeFileSync(file, `${lines.join('\n')}\n`)
  const recorder = new Recorder(undefined, (deliver) => deliver())
  const journal = new EventJournal(recorder)
  const told = new Promise<JournalEvent>((resolve) => {
    recorder.chronicle.subscribe((event) => event.kind === 'earlierLife' && resolve(event))
  })
  kept.push(journal)
  journal.open({ file, maxSize: 1 << 20 }, isUpgrade)
  const event = await told
  await journal.flush()
  return event
}

test.each([
  ['that has stopped', [LOST, { kind: 'stopped' }], false, 'cleanly'],
  ['without an end', [LOST], false, 'abruptly'],
  ['that this engine replaced', [{ kind: 'upgradeOrdered' }], true, 'cleanly'],
  ['that this engine replaced, with an event after its order', [{ kind: 'upgradeOrdered' }, LOST], true, 'cleanly'],
  ['whose order was refused before it was killed', [{ kind: 'upgradeOrdered' }], false, 'abruptly'],
] as const)('a run %s', async (_, facts, isUpgrade, ended) => {
  expect(await earlierLife(facts, isUpgrade)).toMatchObject({ kind: 'earlierLife', ended, lastSeq: facts.length })
})
