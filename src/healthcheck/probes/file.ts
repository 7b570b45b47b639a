/**
 * Asks a file: that it is there, or which integer it holds. The kernel reports changes of its folder (inotify), which
 * covers a file that is renamed over the old one and the `..data` link of a Kubernetes volume. Decided here: an empty
 * or missing file of weights is 0 (VR-TRK-09), one that holds no integer says nothing, and one that may be half written is
 * read twice. Refuses to know what a value adds.
 */
import { constants, type FSWatcher, watch } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { millis } from '../../wire/units.ts'
import type { FileSpec } from '../check.ts'
import type { Cutoff } from '../cutoff.ts'
import { type DiskQueue, disks } from '../disk-queue.ts'
import { codeOf } from '../failed-probe.ts'
import { type EventSource, monotonicNow, type Probe } from '../probe.ts'
import type { ProbeResult } from '../probe-result.ts'

/** An integer needs no more; whoever names another file is not waited for. */
const MOST_READ = 64

/**
 * Milliseconds between truncation and write that no reader notices. keepalived waits for the end of the write, which the
 * kernel does not report to Node.
 */
const SETTLED_AFTER = 100

type Found = Pick<ProbeResult, 'outcome' | 'reason' | 'detail'> & {
  readonly value?: number
  /** A writer may not be done: it has been here a moment ago, and there is no end of a line. */
  readonly isFresh?: boolean
}

export function fileProbe({ path, content }: FileSpec, queue: Pick<DiskQueue, 'ask'> = disks): Probe {
  async function look(): Promise<ProbeResult & Found> {
    const startedAt = monotonicNow()
    const found = content === 'present' ? await presence(path) : await weightIn(path)
    return { ...found, latency: millis(monotonicNow() - startedAt) }
  }
  /** The second look decides: a file may stay empty, or without the end of a line. */
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
          detail: `No result within the timeout: ${error instanceof Error ? error.message : error}`,
          latency: millis(0),
        }),
      )
      // A file system whose server is gone keeps the question for ever; the slot stays taken for as long.
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

/** Resolves after so many milliseconds, or as soon as nobody wants the result any more. */
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
    return { outcome: 'ok', reason: 'ok', detail: `${path} is there` }
  } catch (error) {
    if (gone(error)) return { outcome: 'fail', reason: 'missing', detail: `${path} is not there` }
    return { outcome: 'unknown', reason: 'unreadable', detail: `Cannot look at ${path}: ${codeOf(error)}` }
  }
}

async function weightIn(path: string): Promise<Found> {
  let written: { readonly text: string; readonly isFresh: boolean }
  try {
    written = await firstOf(path)
  } catch (error) {
    if (gone(error)) return { outcome: 'ok', reason: 'ok', detail: `${path} is not there, which is 0`, value: 0 }
    return { outcome: 'unknown', reason: 'unreadable', detail: `Cannot read ${path}: ${codeOf(error)}` }
  }
  const { isFresh } = written
  const text = written.text.trim()
  if (text === '') return { outcome: 'ok', reason: 'ok', detail: `${path} is empty, which is 0`, value: 0, isFresh }
  // What it holds instead is nobody's business: the result is for everybody who may ask for the status.
  if (!/^[+-]?\d{1,9}$/.test(text)) {
    return { outcome: 'unknown', reason: 'notANumber', detail: `There is no integer in ${path}`, isFresh }
  }
  return { outcome: 'ok', reason: 'ok', detail: `${path} holds ${Number(text)}`, value: Number(text), isFresh }
}

async function firstOf(path: string): Promise<{ readonly text: string; readonly isFresh: boolean }> {
  // A FIFO without a writer would hold a thread of the whole process.
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

/** The folder, not the file: a watch on the file would stay with the inode that was renamed away. */
class FolderWatch implements EventSource {
  readonly #folder: string
  readonly #names: ReadonlySet<string>
  readonly #queue: Pick<DiskQueue, 'ask'>
  readonly #onEvent: () => void
  #watcher: FSWatcher | undefined
  /** A folder that was replaced has another one, and the old watch hears nothing any more. */
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
        // A file system gives the number of an inode that has gone to the next one.
        const identity = `${dev} ${ino} ${birthtimeMs}`
        if (this.#watcher !== undefined && identity === this.#identity) return
        this.#end()
        this.#identity = identity
        this.#watch()
        // What happened between the run and the watch is seen by another run.
        if (this.#watcher !== undefined) this.#onEvent()
      })
      // No folder, nothing to watch: the polls go on.
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
      // Out of inotify watches, or the folder is gone: the polls go on.
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
