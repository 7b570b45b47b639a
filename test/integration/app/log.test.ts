/** The log of the engine never waits for its reader. Lines are whole, in order and bounded, and lost lines are counted. */
import { execFileSync } from 'node:child_process'
import {
  closeSync,
  constants,
  fstatSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { attachLog, type LogSettings } from '../../../src/app/log/log.ts'
import { formatOf, LogLines } from '../../../src/app/log/log-lines.ts'
import { LogOutput } from '../../../src/app/log/log-output.ts'
import { Recorder } from '../../../src/daemon/telemetry/recorder.ts'
import { LOG } from '../../../src/log/log.ts'
import { atOtherLevel } from '../../../src/log/log-event.ts'

let directory = ''
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'hf-log-'))
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

/** Returns a line of 999 characters and a newline. */
const line = (i: number) => `${String(i).padStart(6, '0')} ${'x'.repeat(992)}\n`

describe('the log output in a pipe', () => {
  let reader = -1
  /**
   * Counter of lost lines, one for each test: lines in the pipe of an earlier test are lost when that pipe is closed.
   */
  let counted = { lost: 0 }
  let output: LogOutput

  beforeEach(() => {
    const path = join(directory, 'fifo')
    execFileSync('mkfifo', [path])
    reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    const counter = { lost: 0 }
    counted = counter
    // The test opens the pipe in blocking mode, as a shell does. From here on, the socket inside LogOutput owns the
    // descriptor.
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

  test('is bounded and never slow without a reader, and counts the lost lines', async () => {
    // A log that waited for its reader would wait for ever in this test.
    const before = performance.now()
    for (let i = 0; i < 5_000; i++) output.write(line(i))
    expect(performance.now() - before, 'milliseconds for 5 000 lines').toBeLessThan(5_000)
    // The kernel's pipe holds 64 KiB, and the buffer of LogOutput 256 KiB.
    expect([counted.lost > 4_600, counted.lost < 5_000], `lost ${counted.lost} of 5 000`).toEqual([true, true])
    const flushing = performance.now()
    await output.flush(100)
    expect(performance.now() - flushing, 'milliseconds that a flush with a limit of 100 ms took').toBeLessThan(5_000)
  })

  test('gives whole lines in order to a reader that comes back', async () => {
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

  test('loses only lines if the reader is gone', async () => {
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

test('appends every line to a file, after the lines of other processes', async () => {
  const path = join(directory, 'log')
  const fd = openSync(path, 'w')
  writeSync(fd, 'guardian\n')
  const output = new LogOutput(fd, () => {})
  for (let i = 0; i < 100; i++) output.write(line(i))
  await output.flush(1_000)
  expect(readFileSync(path, 'utf8')).toBe(`guardian\n${Array.from({ length: 100 }, (_, i) => line(i)).join('')}`)
  closeSync(fd)
})

describe('the log records of the engine', () => {
  const path = () => join(directory, 'log')
  const lines = () => readFileSync(path(), 'utf8').trimEnd().split('\n')
  const opened = (settings: LogSettings, recorder = new Recorder()) => {
    const log = attachLog(recorder, settings, openSync(path(), 'w'))
    return { log, recorder }
  }

  test('are JSON lines with time, level, message and fields in a file, and records below the level are left out', async () => {
    const recorder = new Recorder()
    recorder.log(LOG.transition, 'before the log was there', { router: 'api' })
    const { log } = opened({ level: 'info' }, recorder)
    recorder.log(LOG.rehearsed, 'not wanted')
    recorder.log(LOG.sendFailed, 'after', { code: 'EPERM' })
    await log.flush()
    expect(lines().map((text): unknown => JSON.parse(text))).toEqual([
      expect.objectContaining({
        level: 30,
        name: 'holdfast',
        event: 'transition',
        msg: 'before the log was there',
        router: 'api',
      }),
      expect.objectContaining({
        level: 40,
        time: expect.any(Number),
        event: 'sendFailed',
        msg: 'after',
        code: 'EPERM',
      }),
    ])
  })

  test('have the format of the configuration for every reader', async () => {
    const { log, recorder } = opened({ level: 'info', format: 'journald' })
    recorder.log(atOtherLevel(LOG.transition, true), 'api: Active → Backup', { router: 'api', reason: 'linkDown' })
    await log.flush()
    expect(lines()).toEqual(['<4>WARN  api: Active → Backup event=transition reason=linkDown'])
  })

  test('change level and format while the engine runs', async () => {
    const { log, recorder } = opened({ level: 'info', format: 'text' })
    const say = (text: string) => {
      recorder.log(LOG.rehearsed, text)
      recorder.log(LOG.noGuardian, text)
      // The engine flushes its log in the same way, at the begin of its next turn.
      recorder.flush()
    }
    say('one')
    log.set({ level: 'debug', format: 'text' })
    say('two')
    log.set({ level: 'error', format: 'text' })
    say('three')
    log.set({ level: 'trace', format: 'journald' })
    say('four')
    log.set({ level: 'warn' })
    say('five')
    await log.flush()
    expect(lines().map((line) => line.replace(/^\d{4}-[-\d]+T[\d:.]+[+-][\d:]+ /, 'TIME '))).toEqual([
      'TIME WARN  one event=noGuardian',
      'TIME DEBUG two event=rehearsed',
      'TIME WARN  two event=noGuardian',
      '<7>DEBUG four event=rehearsed',
      '<4>WARN  four event=noGuardian',
      expect.stringMatching(/^\{"level":40,.*"msg":"five"\}$/),
    ])
  })

  test.each(['json', 'text', 'journald'] as const)(
    'are one line each in the format %s, whatever characters they contain',
    async (format) => {
      const { log, recorder } = opened({ level: 'info', format })
      const hostile = 'x\n<0>forged\r\n{"level":60}\u2028\u0085\u001b[2J\u009b2J\0'
      for (let i = 0; i < 3; i++)
        recorder.log(LOG.packetDiscarded, `Discarded ${hostile}`, { router: hostile, reason: hostile })
      await log.flush()
      const bytes = readFileSync(path(), 'utf8')
      expect(bytes.split('\n')).toHaveLength(4)
      expect(/[^\P{Cc}\n]|[\p{Cf}\p{Zl}\p{Zp}]/u.exec(bytes), bytes).toBeNull()
      for (const line of lines()) {
        expect(line).toMatch({ json: /^\{"level":40,/, text: /^\d{4}-\S+ WARN {2}/, journald: /^<4>WARN {2}/ }[format])
        if (format === 'json') expect(JSON.parse(line)).toMatchObject({ msg: `Discarded ${hostile}`, reason: hostile })
      }
    },
  )
})

describe('the log format without a configured format', () => {
  test('is journald if JOURNAL_STREAM names the descriptor, and JSON if it names another descriptor', () => {
    const descriptor = openSync(join(directory, 'log'), 'w')
    const { dev, ino } = fstatSync(descriptor)
    expect(formatOf(descriptor, {})).toBe('json')
    expect(formatOf(descriptor, { JOURNAL_STREAM: `${dev}:${ino}` })).toBe('journald')
    for (const other of [`${dev}:${ino + 1}`, `${dev + 1}:${ino}`, '', `${ino}`, `${dev}:${ino}\n`])
      expect(formatOf(descriptor, { JOURNAL_STREAM: other }), other).toBe('json')
    closeSync(descriptor)
  })
})

test('writes a record of more than 48 KiB as one JSON document to the journal, and as a whole line elsewhere', () => {
  const descriptor = openSync(join(directory, 'log'), 'w')
  const { dev, ino } = fstatSync(descriptor)
  const written = (environment: Record<string, string>): string => {
    let text = ''
    const output = {
      write(line: string) {
        text += line
      },
    }
    const lines = new LogLines('holdfast', output, descriptor, environment)
    lines.setFormat('json')
    lines.write({
      time: 0,
      level: 'warn',
      event: 'transition',
      message: 'api: down',
      fields: { router: 'api', reason: 'x'.repeat(100_000) },
    })
    return text
  }
  const journal = written({ JOURNAL_STREAM: `${dev}:${ino}` })
  expect(Buffer.byteLength(journal)).toBeLessThan(48 * 1024)
  expect(JSON.parse(journal)).toMatchObject({
    level: 40,
    event: 'transition',
    router: 'api',
    shortened: ['reason'],
    msg: 'api: down',
  })
  const whole = JSON.parse(written({}))
  expect([whole.reason.length, whole.shortened]).toEqual([100_000, undefined])
  closeSync(descriptor)
})
