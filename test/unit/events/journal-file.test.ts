/** The journal on a real disk: what is stored, the cost of a crash or a full disk, and that nothing waits for it. */
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { JournalEvent } from '../../../src/events/event.ts'
import { eventsIn, JournalFile, olderFile, readEarlierLife, readJournalFile } from '../../../src/events/journal-file.ts'

const PATIENCE = 10_000
let directory = ''
let path = ''

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'hf-journal-'))
  path = join(directory, 'run', 'events.jsonl')
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

const event = (seq: number): JournalEvent => ({
  ...{ seq, at: '2026-11-22T10:00:00.000Z', monotonicMs: seq },
  ...{ kind: 'packetsLost', interface: 'eth0', count: 1 },
})

/** A daemon has one file for its whole life. Node 26 reports an error if an open file is garbage-collected. */
const kept: JournalFile[] = []

function journal(maxSize = 1 << 20) {
  const problems: string[] = []
  const gaps: number[] = []
  const onProblem = (message: string) => void problems.push(message)
  const file = new JournalFile({ path, maxSize, onProblem, onGap: (lost) => void gaps.push(lost) })
  kept.push(file)
  return { file, problems, gaps }
}

/** Reads the lines as jq does: it stops at the first invalid one. */
const parsedLines = (): readonly unknown[] =>
  readFileSync(path, 'utf8')
    .split('\n')
    .slice(0, -1)
    .map((line): unknown => JSON.parse(line))

const numbers = (events: readonly JournalEvent[]) => events.map(({ seq }) => seq)

test('writeNow() writes queued events immediately, except while a write has not returned or no file is open', async () => {
  const { file } = journal()
  file.append(event(1))
  file.writeNow()
  expect(existsSync(path), 'nothing was opened').toBe(false)
  await file.flush(PATIENCE)
  file.append(event(2))
  file.append(event(3))
  file.writeNow()
  expect(parsedLines()).toEqual([event(1), event(2), event(3)])
  await file.flush(PATIENCE)
  expect(parsedLines(), 'nothing twice').toHaveLength(3)
  file.append(event(4))
  await new Promise((resolve) => setImmediate(resolve))
  file.append(event(5))
  file.writeNow()
  expect(numbers(eventsIn(readFileSync(path, 'utf8'))), 'while it is being written').not.toContain(5)
  await file.flush(PATIENCE)
  expect(numbers(eventsIn(readFileSync(path, 'utf8')))).toEqual([1, 2, 3, 4, 5])
})

test('each event is a line in a file of mode 0600, in a folder that the journal creates', async () => {
  const { file, problems } = journal()
  file.append(event(1))
  file.append(event(2))
  expect(existsSync(path), 'a file before the turn is over').toBe(false)
  await file.flush(PATIENCE)
  expect(parsedLines()).toEqual([event(1), event(2)])
  expect(statSync(path).mode & 0o777).toBe(0o600)
  expect(problems).toEqual([])
})

test('the journal appends to an existing file', async () => {
  const earlier = journal()
  earlier.file.append(event(1))
  await earlier.file.flush(PATIENCE)
  const { file } = journal()
  file.append(event(2))
  await file.flush(PATIENCE)
  expect(numbers(await readJournalFile(path))).toEqual([1, 2])
})

test('the journal has two files of limited size, which are read as one', async () => {
  const maxSize = 4_000
  const { file } = journal(maxSize)
  for (let seq = 1; seq <= 200; seq++) {
    file.append(event(seq))
    await file.flush(PATIENCE)
    const size = [path, olderFile(path)].reduce((sum, each) => sum + (existsSync(each) ? statSync(each).size : 0), 0)
    expect(size, `octets after event ${seq}`).toBeLessThan(maxSize + 200)
  }
  const kept = numbers(await readJournalFile(path))
  expect(kept.at(-1)).toBe(200)
  expect(kept, 'the last ones, without a hole').toEqual(
    Array.from({ length: kept.length }, (_, i) => 201 - kept.length + i),
  )
  expect(kept.length).toBeGreaterThan(10)
})

test('an incomplete line of a crash costs that line only', async () => {
  const { file } = journal()
  file.append(event(1))
  await file.flush(PATIENCE)
  appendFileSync(path, JSON.stringify(event(2)).slice(0, 20))
  expect(numbers(await readEarlierLife(path))).toEqual([1])
  expect(numbers(eventsIn(`not json\n{"seq":3}\n${JSON.stringify(event(4))}\n`)), 'what is no event').toEqual([4])
})

test('the next run removes an incomplete last line, and every line of the file is complete', async () => {
  const earlier = journal()
  earlier.file.append(event(1))
  await earlier.file.flush(PATIENCE)
  appendFileSync(path, JSON.stringify(event(2)).slice(0, 20))
  const { file, problems } = journal()
  file.append(event(3))
  await file.flush(PATIENCE)
  expect(parsedLines()).toEqual([event(1), event(3)])
  expect(problems).toEqual([])
})

test('a file with only an incomplete line starts empty', async () => {
  mkdirSync(join(directory, 'run'))
  writeFileSync(path, '{"seq":1,"at":')
  const { file } = journal()
  file.append(event(2))
  await file.flush(PATIENCE)
  expect(parsedLines()).toEqual([event(2)])
})

test('the state of the file names the last problem and the number of lost events', async () => {
  writeFileSync(join(directory, 'run'), 'a file where the folder should be')
  const { file } = journal()
  expect(file.state).toEqual({ file: path, problem: null, lost: 0 })
  for (let seq = 1; seq <= 5; seq++) {
    file.append(event(seq))
    await file.flush(PATIENCE)
  }
  expect(file.state).toEqual({ file: path, problem: expect.stringMatching(/ENOTDIR|EEXIST/), lost: 5 })
})

test('a file that cannot be written is reported once, counted, and tried again later', async () => {
  writeFileSync(join(directory, 'run'), 'a file where the folder should be')
  const { file, gaps, problems } = journal()
  for (let seq = 1; seq <= 5; seq++) {
    file.append(event(seq))
    await file.flush(PATIENCE)
  }
  expect(problems).toHaveLength(1)
  expect(problems[0]).toMatch(/^Cannot write the event journal .*events\.jsonl: /)
  expect(gaps, 'told only when it can be written again').toEqual([])
})

test('the journal does not write to links or special files', async () => {
  mkdirSync(join(directory, 'run'))
  writeFileSync(join(directory, 'precious'), 'untouched')
  symlinkSync(join(directory, 'precious'), path)
  const { file, problems } = journal()
  file.append(event(1))
  await file.flush(PATIENCE)
  expect(problems).toHaveLength(1)
  expect(readFileSync(join(directory, 'precious'), 'utf8')).toBe('untouched')
  path = '/dev/full'
  const full = journal()
  full.file.append(event(1))
  await full.file.flush(PATIENCE)
  expect(full.problems).toEqual(['Cannot write the event journal /dev/full: it is not a regular file'])
})

test.each(['precious', '{"theirs":1}', 'one line\n{ "theirs": 1'])(
  'what others have written is neither cut off nor written to: %s',
  async (theirs) => {
    mkdirSync(join(directory, 'run'))
    writeFileSync(path, theirs)
    const { file, problems } = journal()
    file.append(event(1))
    await file.flush(PATIENCE)
    expect(readFileSync(path, 'utf8')).toBe(theirs)
    expect(problems).toEqual([`Cannot write the event journal ${path}: its last line was not written by holdfast`])
  },
)

test('zeros after a power failure are removed', async () => {
  mkdirSync(join(directory, 'run'))
  writeFileSync(path, Buffer.concat([Buffer.from(`${JSON.stringify(event(1))}\n`), Buffer.alloc(100)]))
  const { file } = journal()
  file.append(event(2))
  await file.flush(PATIENCE)
  expect(parsedLines()).toEqual([event(1), event(2)])
})

test('a missing journal file has no events', async () => {
  expect(await readJournalFile(path)).toEqual([])
})

test('a flood of events has a limited queue', async () => {
  const { file, gaps, problems } = journal()
  for (let seq = 1; seq <= 1_500; seq++) file.append(event(seq))
  expect(problems.at(-1), 'said while it lasts').toContain('the disk is too slow')
  expect(file.state).toMatchObject({ problem: 'the disk is too slow', lost: 500 })
  await file.flush(PATIENCE)
  expect(file.state).toMatchObject({ problem: null, lost: 500 })
  expect(numbers(await readJournalFile(path))).toHaveLength(1_000)
  expect(gaps).toEqual([500])
})
