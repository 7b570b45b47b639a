/**
 * A recording on a real disk: the end of the recording, files that the recording does not overwrite, and an engine that
 * never waits for the disk.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { olderRecording, RecordingFile } from '../../../src/recording/recording-file.ts'

const PATIENCE = 10_000
let directory = ''
let path = ''

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'hf-recording-'))
  path = join(directory, 'recording.jsonl')
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

function opened(limit = 1 << 20, at = path) {
  const ends: string[] = []
  const file = RecordingFile.open({ path: at, limit, version: '1.2.3', onEnd: (words) => void ends.push(words) })
  return { file, ends }
}

const lines = (at = path): readonly unknown[] =>
  readFileSync(at, 'utf8')
    .split('\n')
    .slice(0, -1)
    .map((line): unknown => JSON.parse(line))

const header = { recording: 1, holdfast: '1.2.3', at: expect.any(String) }

test('the file has a header and the lines, and no other user may read it', async () => {
  const { ends, file } = opened()
  for (let i = 0; i < 3; i++) file.write({ turn: i })
  await file.finish(PATIENCE)
  expect(lines()).toEqual([header, { turn: 0 }, { turn: 1 }, { turn: 2 }])
  expect(statSync(path).mode & 0o777).toBe(0o600)
  expect(ends).toEqual([])
  file.write({ turn: 3 })
  expect(lines()).toHaveLength(4)
})

test('the header is written immediately', async () => {
  const { file } = opened()
  expect(lines()).toEqual([header])
  await file.finish(PATIENCE)
})

test('at its limit the file ends with a line that says so, and is no larger', async () => {
  const limit = 64 * 1024
  const { ends, file } = opened(limit)
  for (let i = 0; i < 10_000; i++) file.write({ turn: i, words: 'x'.repeat(50) })
  await file.finish(PATIENCE)
  const read = lines()
  expect(statSync(path).size).toBeLessThanOrEqual(limit)
  expect(read.at(-1)).toEqual({ end: `the limit of ${limit} octets was reached` })
  expect(read.slice(1, -1).map((line, i) => JSON.stringify(line).startsWith(`{"turn":${i},`))).not.toContain(false)
  expect(read.length).toBeGreaterThan(500)
  expect(ends).toEqual([expect.stringContaining(`reached its limit of ${limit} octets; the daemon continues`)])
})

test('lines that the disk does not take in time are left out and counted in the next line', async () => {
  const { file } = opened(1 << 30)
  // No line is written to the disk before this loop is over.
  const long = 'x'.repeat(100_000)
  for (let i = 0; i < 100; i++) file.write({ turn: i, long })
  await new Promise((resolve) => setTimeout(resolve, 500))
  file.write({ turn: 'behind' })
  await file.finish(PATIENCE)
  const read = lines()
  const kept = read.length - 3
  expect(kept).toBeGreaterThan(20)
  expect(kept).toBeLessThan(100)
  expect(read.at(-2)).toEqual({ gap: 100 - kept })
  expect(read.at(-1)).toEqual({ turn: 'behind' })
})

test('waiting lines are written immediately when the process ends by a defect', () => {
  const { file } = opened()
  file.write({ turn: 1 })
  file.writeNow()
  expect(lines()).toEqual([header, { turn: 1 }])
})

describe('an existing file', () => {
  test('that is a recording is kept as the one before, and only the last one is', async () => {
    for (const version of ['a', 'b', 'c']) {
      const file = RecordingFile.open({ path, limit: 1 << 20, version, onEnd: () => {} })
      await file.finish(PATIENCE)
    }
    expect(lines()).toMatchObject([{ holdfast: 'c' }])
    expect(lines(olderRecording(path))).toMatchObject([{ holdfast: 'b' }])
  })

  test('that is no recording is left alone', () => {
    writeFileSync(path, 'virtualRouters: []\n')
    expect(() => opened()).toThrow(/exists and is not a recording/)
    expect(readFileSync(path, 'utf8')).toBe('virtualRouters: []\n')
    rmSync(path)
    mkdirSync(path)
    expect(() => opened()).toThrow(/exists and is not a recording/)
    rmSync(path, { recursive: true })
    const target = join(directory, 'target')
    writeFileSync(target, 'kept')
    symlinkSync(target, path)
    expect(() => opened()).toThrow(/Cannot record to/)
    expect(readFileSync(target, 'utf8')).toBe('kept')
  })

  test('in the place of the one before is left alone if it is no recording', async () => {
    await opened().file.finish(PATIENCE)
    writeFileSync(olderRecording(path), 'notes')
    expect(() => opened()).toThrow(/\.1 exists and is not a recording/)
    expect(readFileSync(olderRecording(path), 'utf8')).toBe('notes')
    expect(existsSync(path)).toBe(true)
  })

  test('that is a FIFO does not block', () => {
    execFileSync('mkfifo', [path])
    expect(() => opened()).toThrow(/exists and is not a recording/)
  })
})

test('a missing folder causes an error message', () => {
  expect(() => opened(1 << 20, join(directory, 'missing', 'file'))).toThrow(/^Cannot record to .*: ENOENT/)
})
