/** The log never waits for its reader: lines are whole, in order, bounded, and what is lost is counted. */
import { execFileSync } from 'node:child_process'
import { closeSync, constants, mkdtempSync, openSync, readFileSync, readSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { attachLog } from '../../../src/app/log/log.ts'
import { LogOutput } from '../../../src/app/log/log-output.ts'
import { Recorder } from '../../../src/daemon/telemetry/recorder.ts'

let directory = ''
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'hf-log-'))
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

/** 999 characters and a newline. */
const line = (i: number) => `${String(i).padStart(6, '0')} ${'x'.repeat(992)}\n`

describe('a pipe', () => {
  let reader = -1
  /** One object a test: what an earlier test left in its pipe is lost when that is closed. */
  let counted = { lost: 0 }
  let output: LogOutput

  beforeEach(() => {
    const path = join(directory, 'fifo')
    execFileSync('mkfifo', [path])
    reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    const counter = { lost: 0 }
    counted = counter
    // Blocking, as a shell makes it; the socket inside LogOutput owns the descriptor from here on.
    output = new LogOutput(openSync(path, 'w'), () => {
      counter.lost++
    })
  })
  afterEach(() => {
    if (reader >= 0) closeSync(reader)
  })

  function readAll(): string {
    const buffer = Buffer.alloc(1 << 20)
    let text = ''
    for (;;) {
      try {
        const length = readSync(reader, buffer)
        if (length === 0) return text
        text += buffer.toString('utf8', 0, length)
      } catch {
        return text
      }
    }
  }

  test('nobody reads: bounded, counted, and never slow', async () => {
    // Who waited for the reader would wait for ever.
    const before = performance.now()
    for (let i = 0; i < 5_000; i++) output.write(line(i))
    expect(performance.now() - before, 'milliseconds for 5 000 lines').toBeLessThan(5_000)
    // 64 KiB of pipe and 256 KiB of buffer.
    expect([counted.lost > 4_600, counted.lost < 5_000], `lost ${counted.lost} of 5 000`).toEqual([true, true])
    const flushing = performance.now()
    await output.flush(100)
    expect(performance.now() - flushing, 'milliseconds for a flush with the limit 100').toBeLessThan(5_000)
  })

  test('a reader that comes back gets whole lines, in order', async () => {
    for (let i = 0; i < 200; i++) output.write(line(i))
    let text = ''
    for (let i = 0; i < 100 && text.length < 200_000; i++) {
      text += readAll()
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    expect(counted.lost).toBe(0)
    expect(text).toBe(Array.from({ length: 200 }, (_, i) => line(i)).join(''))
    await output.flush(100)
  })

  test('a reader that is gone costs the lines and nothing else', async () => {
    output.write(line(0))
    await output.flush(100)
    closeSync(reader)
    reader = -1
    for (let i = 1; i < 10; i++) {
      output.write(line(i))
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
    await output.flush(100)
    expect(counted.lost).toBe(9)
  })
})

test('a file gets everything, behind what others wrote', async () => {
  const path = join(directory, 'log')
  const fd = openSync(path, 'w')
  writeSync(fd, 'guardian\n')
  const output = new LogOutput(fd, () => {})
  for (let i = 0; i < 100; i++) output.write(line(i))
  await output.flush(1_000)
  expect(readFileSync(path, 'utf8')).toBe(`guardian\n${Array.from({ length: 100 }, (_, i) => line(i)).join('')}`)
  closeSync(fd)
})

test('a record is a JSON line with time, level, message and its fields; below the level it is none', async () => {
  const path = join(directory, 'log')
  const recorder = new Recorder()
  recorder.log('warn', 'before the log was there', { router: 'api' })
  const log = attachLog(recorder, 'info', openSync(path, 'w'))
  recorder.log('debug', 'not wanted')
  recorder.log('info', 'after', { reason: 'startup' })
  await log.flush()
  const lines = readFileSync(path, 'utf8').trim().split('\n')
  const records = lines.map((text): unknown => JSON.parse(text))
  expect(records).toEqual([
    expect.objectContaining({ level: 40, name: 'holdfast', msg: 'before the log was there', router: 'api' }),
    expect.objectContaining({ level: 30, time: expect.any(Number), msg: 'after', reason: 'startup' }),
  ])
})
