/**
 * The watch of the guardian's beat in the addon: when the watch calls JavaScript, and what the watch writes without
 * JavaScript. The test writes the guardian's beat into a file that stands in for the shared memory (guardian-words.h).
 */
import { closeSync, ftruncateSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { eventually, monotonicMs, sleep } from '../../../src/lab/wait.ts'
import { type BeatWatch, loadNative } from '../../../src/linux/native.ts'

const SIZE = 64 + 16 * 65_536 + 64 * 16_384
const MAGIC = 0x33574648
const ENGINE_BEAT = 8
const GUARDIAN_BEAT = 16

let directory = ''
let memory = -1
let watch: BeatWatch
let calls: number[] = []

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'holdfast-beat-'))
  memory = openSync(join(directory, 'words'), 'w+')
  ftruncateSync(memory, SIZE)
  const head = Buffer.alloc(8)
  head.writeUInt32LE(MAGIC, 0)
  head.writeUInt32LE(65_536, 4)
  writeSync(memory, head, 0, 8, 0)
  const native = loadNative()
  watch = new native.BeatWatch(new native.GuardianWords(memory))
  calls = []
  const call = () => void calls.push(monotonicMs())
  watch.start(call, call)
})
afterEach(() => {
  watch.close()
  closeSync(memory)
  rmSync(directory, { recursive: true })
})

function beat(at = monotonicMs()): void {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(BigInt(Math.round(at * 1e6)))
  writeSync(memory, bytes, 0, 8, GUARDIAN_BEAT)
}
function engineBeat(): number {
  const bytes = Buffer.alloc(8)
  readSync(memory, bytes, 0, 8, ENGINE_BEAT)
  return Number(bytes.readBigUInt64LE()) / 1e6
}

test('a guardian that beats does not wake JavaScript, and the engine beats every second', async () => {
  const began = monotonicMs()
  watch.set(600, 60_000)
  const timer = setInterval(beat, 100)
  beat()
  await sleep(2_300)
  clearInterval(timer)
  expect(calls).toEqual([])
  expect(engineBeat()).toBeGreaterThan(began + 900)
})

test('a silent guardian wakes JavaScript once, as soon as its last beat is too old', async () => {
  const at = monotonicMs()
  beat(at)
  watch.set(300, 60_000)
  await eventually('a call', () => calls.length > 0, { sight: () => calls, within: 3_000 })
  expect((calls[0] ?? 0) - at).toBeGreaterThanOrEqual(300)
  await sleep(400)
  expect(calls).toHaveLength(1)
})

test('JavaScript is called in time although the guardian beats', async () => {
  const at = monotonicMs()
  watch.set(5_000, 300)
  beat()
  await eventually('a call', () => calls.length > 0, { sight: () => calls, within: 3_000 })
  expect((calls[0] ?? 0) - at).toBeGreaterThanOrEqual(300)
  expect(watch.heardAt()).toBe(0)
})

test('a process that did not run is called, and its own delay is no silence of the guardian', async () => {
  beat()
  watch.set(400, 60_000)
  const until = monotonicMs() + 900
  while (monotonicMs() < until);
  await eventually('a call', () => calls.length > 0, { sight: () => calls, within: 3_000 })
  expect(watch.heardAt()).toBeGreaterThanOrEqual(until - 1)
})

test('a watch needs the memory of a guardian', () => {
  const { BeatWatch } = loadNative()
  expect(() => new BeatWatch(JSON.parse('{}'))).toThrow('not a GuardianWords')
})
