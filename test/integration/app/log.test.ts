/** The log never waits for its reader: lines are whole, in order, bounded, and what is lost is counted. */
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

describe('the records of the engine', () => {
  const path = () => join(directory, 'log')
  const lines = () => readFileSync(path(), 'utf8').trimEnd().split('\n')
  const opened = (settings: LogSettings, recorder = new Recorder()) => {
    const log = attachLog(recorder, settings, openSync(path(), 'w'))
    return { log, recorder }
  }

  test('are JSON lines with time, level, message and fields in a file; below the level there is none', async () => {
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

  test('have the format of the configuration, whatever reads them', async () => {
    const { log, recorder } = opened({ level: 'info', format: 'journald' })
    recorder.log(atOtherLevel(LOG.transition, true), 'api: Active → Backup', { router: 'api', reason: 'linkDown' })
    await log.flush()
    expect(lines()).toEqual(['<4>WARN  api: Active → Backup event=transition reason=linkDown'])
  })

  test('follow another level and another format while it runs', async () => {
    const { log, recorder } = opened({ level: 'info', format: 'text' })
    const say = (text: string) => {
      recorder.log(LOG.rehearsed, text)
      recorder.log(LOG.noGuardian, text)
      // As the next turn of the engine does.
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

  test.each(['json', 'text', 'journald'] as const)('are one line each in %s, whatever is in them', async (format) => {
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
  })
})

describe('the format where none is configured', () => {
  test('is that of the journal where JOURNAL_STREAM names the descriptor, and JSON where it names another one', () => {
    const descriptor = openSync(join(directory, 'log'), 'w')
    const { dev, ino } = fstatSync(descriptor)
    expect(formatOf(descriptor, {})).toBe('json')
    expect(formatOf(descriptor, { JOURNAL_STREAM: `${dev}:${ino}` })).toBe('journald')
    for (const other of [`${dev}:${ino + 1}`, `${dev + 1}:${ino}`, '', `${ino}`, `${dev}:${ino}\n`])
      expect(formatOf(descriptor, { JOURNAL_STREAM: other }), other).toBe('json')
    closeSync(descriptor)
  })
})

test('a record of more than 48 KiB is one JSON document in the journal, and whole everywhere else', () => {
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
