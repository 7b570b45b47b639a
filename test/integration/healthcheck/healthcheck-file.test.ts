import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, unlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { DiskQueue } from '../../../src/healthcheck/disk-queue.ts'
import type { EventSource } from '../../../src/healthcheck/probe.ts'
import { fileProbe } from '../../../src/healthcheck/probes/file.ts'
import { eventually, sleep } from '../../../src/lab/wait.ts'
import { ask } from '../../support/check-spec.ts'

let folder = ''
let path = ''
let source: EventSource | undefined

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'hf-file-'))
  path = join(folder, 'weight')
})
afterEach(() => {
  source?.close()
  rmSync(folder, { recursive: true, force: true })
})

describe('the result of a file check', () => {
  test('is up or down by the presence of the file', async () => {
    const probe = fileProbe({ kind: 'file', path, content: 'present' })
    expect(await ask(probe)).toMatchObject({ outcome: 'fail', reason: 'missing', detail: `${path} does not exist` })
    writeFileSync(path, '')
    expect(await ask(probe)).toMatchObject({ outcome: 'ok', detail: `${path} exists` })
  })

  test.each([
    ['20\n', 'ok', 20],
    [' -7 ', 'ok', -7],
    ['+5', 'ok', 5],
    ['', 'ok', 0],
    ['twenty', 'unknown', undefined],
    ['1.5', 'unknown', undefined],
    ['20 30', 'unknown', undefined],
    ['1'.repeat(10_000), 'unknown', undefined],
  ])('a weight of %j: %s %s', async (text, outcome, value) => {
    writeFileSync(path, text)
    const result = await ask(fileProbe({ kind: 'file', path, content: 'weight' }))
    expect({ outcome: result.outcome, value: result.value }).toEqual({ outcome, value })
  })

  /** Runs the check once, and returns how often the check reads the file. */
  async function weigh() {
    let looks = 0
    const queue = new DiskQueue()
    const counting: Pick<DiskQueue, 'ask'> = {
      ask: (...question) => {
        looks++
        return queue.ask(...question)
      },
    }
    const { outcome, value } = await ask(fileProbe({ kind: 'file', path, content: 'weight' }, counting))
    return { outcome, value, looks }
  }

  test.each([
    ['truncated a moment ago', ''],
    ['half written', '1'],
  ])('a file that is %s has the value that is written then', async (_, before) => {
    writeFileSync(path, before)
    setTimeout(() => writeFileSync(path, '120\n'), 30)
    expect(await weigh()).toEqual({ outcome: 'ok', value: 120, looks: 2 })
  })

  test('a file that stays empty has weight 0, and is read again once', async () => {
    writeFileSync(path, '')
    expect(await weigh()).toEqual({ outcome: 'ok', value: 0, looks: 2 })
    const past = Date.now() / 1000 - 60
    utimesSync(path, past, past)
    expect(await weigh()).toEqual({ outcome: 'ok', value: 0, looks: 1 })
  })

  test('a complete line counts immediately, however new the file is', async () => {
    writeFileSync(path, '7\n')
    expect(await weigh()).toEqual({ outcome: 'ok', value: 7, looks: 1 })
  })

  test('a file that is being written at the deadline gives no result', async () => {
    writeFileSync(path, '')
    const { outcome, value } = await ask(fileProbe({ kind: 'file', path, content: 'weight' }), 30)
    expect([outcome, value]).toEqual(['unknown', undefined])
  })

  test('the check does not wait for a FIFO without a writer', async () => {
    execFileSync('mkfifo', [path])
    expect(
      (await ask(fileProbe({ kind: 'file', path, content: 'weight' }))).took,
      'ms; the deadline is 2 s',
    ).toBeLessThan(1_900)
  })

  test('the deadline ends a read that does not return', async () => {
    const abort = new AbortController()
    const run = fileProbe({ kind: 'file', path, content: 'present' }).start(abort.signal)
    // The check is aborted before the threads that read the file have run.
    abort.abort()
    expect(await run.result).toMatchObject({ outcome: 'fail', reason: 'timeout' })
    await run.ended
  })

  test('a missing weight is 0 (VR-TRK-09), and a folder has no weight', async () => {
    expect(await ask(fileProbe({ kind: 'file', path, content: 'weight' }))).toMatchObject({ outcome: 'ok', value: 0 })
    const result = await ask(fileProbe({ kind: 'file', path: folder, content: 'weight' }))
    expect(result).toMatchObject({ outcome: 'unknown', reason: 'unreadable' })
  })
})

describe('a watch of the checked file', () => {
  const watched = () => eventually('a watch', () => source?.armed, { sight: () => source?.armed, within: 1_000 })

  async function watch(): Promise<() => number> {
    let events = 0
    const probe = fileProbe({ kind: 'file', path, content: 'weight' })
    source = probe.events?.(() => events++)
    source?.afterRun(await ask(probe))
    await watched()
    const before = events
    return () => events - before
  }

  const soon = (events: () => number) =>
    eventually('an event', () => events() > 0, { sight: events, within: 1_000, every: 1 })

  test.each([
    ['it appears', () => {}, () => writeFileSync(path, '1')],
    ['it is written to', () => writeFileSync(path, '1'), () => writeFileSync(path, '2')],
    ['it goes', () => writeFileSync(path, '1'), () => unlinkSync(path)],
    [
      'another is renamed over it',
      () => {
        writeFileSync(path, '1')
        writeFileSync(join(folder, 'next'), '2')
      },
      () => renameSync(join(folder, 'next'), path),
    ],
    [
      'the folder behind a Kubernetes volume is swapped',
      () => {
        for (const n of ['1', '2']) {
          mkdirSync(join(folder, n))
          writeFileSync(join(folder, n, 'weight'), n)
        }
        symlinkSync('1', join(folder, '..data'))
        symlinkSync('2', join(folder, '..data_tmp'))
        symlinkSync('..data/weight', path)
      },
      () => renameSync(join(folder, '..data_tmp'), join(folder, '..data')),
    ],
  ])('%s', async (_, before, act) => {
    before()
    const events = await watch()
    await sleep(10)
    expect(events(), 'events before the change').toBe(0)
    act()
    await soon(events)
  })

  test('ignores other files of the folder', async () => {
    const events = await watch()
    writeFileSync(join(folder, 'other'), '')
    await sleep(50)
    expect(events()).toBe(0)
  })

  test('watches a replaced or new folder after the next run', async () => {
    const deep = join(folder, 'run')
    path = join(deep, 'weight')
    let events = 0
    const probe = fileProbe({ kind: 'file', path, content: 'weight' })
    source = probe.events?.(() => events++)
    source?.afterRun(await ask(probe))
    await sleep(20)
    expect(source?.armed).toBe(false)
    for (let i = 0; i < 2; i++) {
      rmSync(deep, { recursive: true, force: true })
      mkdirSync(deep)
      await sleep(20)
      source?.afterRun(await ask(probe))
      await watched()
      await sleep(20)
      const before = events
      writeFileSync(path, String(i))
      await eventually('an event', () => events > before, { sight: () => events, within: 1_000 })
    }
  })
})
