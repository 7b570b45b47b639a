/**
 * Probe for a file: whether it exists, or which integer it contains. The kernel reports changes in the folder of the
 * file (inotify). The reported change may be a rename over the file, or a new `..data` link of a Kubernetes volume.
 * This file decides that an empty or missing file of weights is 0 (VR-TRK-09), and a file without an integer gives no
 * result. A file that may be half written is read twice. The probe does not know the effect of the integer.
 */

import { constants, type FSWatcher, watch } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { messageOf } from '../../base/message-of.ts'
import { millis } from '../../wire/units.ts'
import type { FileSpec } from '../check.ts'
import type { Cutoff } from '../cutoff.ts'
import { type DiskQueue, disks } from '../disk-queue.ts'
import { codeOf } from '../failed-probe.ts'
import { type EventSource, monotonicNow, type Probe } from '../probe.ts'
import type { ProbeResult } from '../probe-result.ts'

/** Limit of octets that are read from a file of weights. An integer needs no more. */
const MOST_READ = 64

/**
 * Milliseconds between truncation and write of a file for which no change is reported. keepalived waits for the end of
 * the write, which the kernel does not report to Node.
 */
const SETTLED_AFTER = 100

type Found = Pick<ProbeResult, 'outcome' | 'reason' | 'detail'> & {
  readonly value?: number
  /**
   * True if the file changed a moment ago and its text has no line end. The program that writes the file may not have
   * finished then.
   */
  readonly isFresh?: boolean
}

export function fileProbe({ path, content }: FileSpec, queue: Pick<DiskQueue, 'ask'> = disks): Probe {
  async function look(): Promise<ProbeResult & Found> {
    const startedAt = monotonicNow()
    const found = content === 'present' ? await presence(path) : await weightIn(path)
    return { ...found, latency: millis(monotonicNow() - startedAt) }
  }
  /** The second read of the file decides: a file may stay empty, or without a line end. */
  async function answer(signal: Cutoff): Promise<ProbeResult> {
    const { isFresh, ...first } = await queue.ask(path, look, signal)
    if (isFresh !== true) return first
    await pause(SETTLED_AFTER, signal)
    if (signal.aborted) return unsettled(path)
    const { isFresh: _, ...second } = await queue.ask(path, look, signal)
    return second
  }
  return {
    start(signal) {
      const answered = answer(signal).catch(
        (error: unknown): ProbeResult => ({
          outcome: 'fail',
          reason: 'timeout',
          detail: `No result within the timeout: ${messageOf(error)}`,
          latency: millis(0),
        }),
      )
      // A file system whose server does not answer never ends the read. The run of the check lasts as long.
      const late = new Promise<ProbeResult>((resolve) =>
        signal.addEventListener('abort', () => setImmediate(() => resolve(notInTime(path))), { once: true }),
      )
      return { result: Promise.race([answered, late]), ended: answered.then(() => undefined) }
    },
    events: (onEvent) => new FolderWatch(path, queue, onEvent),
  }
}

const notInTime = (path: string): ProbeResult => ({
  outcome: 'fail',
  reason: 'timeout',
  detail: `No result within the timeout: still looking at ${path}`,
  latency: millis(0),
})

const unsettled = (path: string): ProbeResult => ({
  outcome: 'unknown',
  reason: 'notANumber',
  detail: `${path} is being written`,
  latency: millis(0),
})

/** Resolves after `forMs` milliseconds, or when `signal` says that the result of the run is no longer needed. */
function pause(forMs: number, signal: Cutoff): Promise<void> {
  return new Promise((resolve) => {
    const over = () => {
      clearTimeout(timer)
      resolve()
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', over)
      resolve()
    }, forMs)
    signal.addEventListener('abort', over, { once: true })
  })
}

const gone = (error: unknown): boolean => ['ENOENT', 'ENOTDIR'].includes(codeOf(error))

async function presence(path: string): Promise<Found> {
  try {
    await stat(path)
    return { outcome: 'ok', reason: 'ok', detail: `${path} exists` }
  } catch (error) {
    if (gone(error)) return { outcome: 'fail', reason: 'missing', detail: `${path} does not exist` }
    return { outcome: 'unknown', reason: 'unreadable', detail: `Cannot look at ${path}: ${codeOf(error)}` }
  }
}

async function weightIn(path: string): Promise<Found> {
  let written: { readonly text: string; readonly isFresh: boolean }
  try {
    written = await firstOf(path)
  } catch (error) {
    if (gone(error))
      return { outcome: 'ok', reason: 'ok', detail: `${path} does not exist, which counts as 0`, value: 0 }
    return { outcome: 'unknown', reason: 'unreadable', detail: `Cannot read ${path}: ${codeOf(error)}` }
  }
  const { isFresh } = written
  const text = written.text.trim()
  if (text === '')
    return { outcome: 'ok', reason: 'ok', detail: `${path} is empty, which counts as 0`, value: 0, isFresh }
  // The text of the file is not quoted in the result, because every client of the status may read the result.
  if (!/^[+-]?\d{1,9}$/.test(text)) {
    return { outcome: 'unknown', reason: 'notANumber', detail: `${path} contains no integer`, isFresh }
  }
  return { outcome: 'ok', reason: 'ok', detail: `${path} contains ${Number(text)}`, value: Number(text), isFresh }
}

async function firstOf(path: string): Promise<{ readonly text: string; readonly isFresh: boolean }> {
  // A FIFO without a writer would block a thread of the whole process.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(MOST_READ), 0, MOST_READ, 0)
    const text = buffer.toString('utf8', 0, bytesRead)
    const isFresh = !text.endsWith('\n') && Date.now() - (await file.stat()).mtimeMs < SETTLED_AFTER
    return { text, isFresh }
  } finally {
    await file.close()
  }
}

/** Watches the folder of the file, not the file: after a rename, a watch on the file would stay with the old inode. */
class FolderWatch implements EventSource {
  readonly #folder: string
  readonly #names: ReadonlySet<string>
  readonly #queue: Pick<DiskQueue, 'ask'>
  readonly #onEvent: () => void
  #watcher: FSWatcher | undefined
  /** Identity of the watched folder. If another folder replaces the folder, the old watch reports nothing. */
  #identity: string | undefined
  #checking = false

  constructor(path: string, queue: Pick<DiskQueue, 'ask'>, onEvent: () => void) {
    this.#queue = queue
    this.#folder = dirname(path)
    this.#names = new Set([basename(path), '..data', basename(dirname(path))])
    this.#onEvent = onEvent
  }

  get armed(): boolean {
    return this.#watcher !== undefined
  }

  afterRun(): void {
    if (this.#checking) return
    this.#checking = true
    this.#queue
      .ask(this.#folder, () => stat(this.#folder))
      .then(({ dev, ino, birthtimeMs }) => {
        if (!this.#checking) return
        // The inode number alone is not enough: a file system may reuse the number of a deleted inode.
        const identity = `${dev} ${ino} ${birthtimeMs}`
        if (this.#watcher !== undefined && identity === this.#identity) return
        this.#end()
        this.#identity = identity
        this.#watch()
        // The file may have changed between the last run and the start of the watch. For this reason one more run of
        // the check is requested.
        if (this.#watcher !== undefined) this.#onEvent()
      })
      // Without the folder there is nothing to watch. The regular runs of the check continue.
      .catch(() => this.#end())
      .finally(() => {
        this.#checking = false
      })
  }

  close(): void {
    this.#checking = false
    this.#end()
  }

  #watch(): void {
    try {
      const watcher = watch(this.#folder, { persistent: false }, (_kind, name) => {
        if (name === null || this.#names.has(name)) this.#onEvent()
      })
      // The kernel has no inotify watch left, or the folder is gone. The regular runs of the check continue without
      // events.
      watcher.on('error', () => this.#end())
      this.#watcher = watcher
    } catch {
      this.#watcher = undefined
    }
  }

  #end(): void {
    this.#watcher?.close()
    this.#watcher = undefined
    this.#identity = undefined
  }
}
