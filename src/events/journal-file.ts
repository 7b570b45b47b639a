/**
 * The event journal on the disk: one JSON object a line, only appended. Because the file is only appended, a crash
 * loses at most the line that was being written. The journal has two files; the name of the older file ends with `.1`.
 * The engine does not wait for the disk. If the disk is full or read-only, the file lacks events, which are counted and
 * reported. This file knows nothing about the meaning of an event.
 */

import { constants, writeSync } from 'node:fs'
import { type FileHandle, mkdir, open, rename } from 'node:fs/promises'
import { dirname } from 'node:path'
import { messageOf } from '../base/message-of.ts'
import type { JournalEvent } from './event.ts'
import { readEvent } from './event.ts'

/** State of the journal file. */
export type JournalSnapshot = {
  readonly file: string
  /** Reason why the last event is not in the journal file; `null` if the event is in the file. */
  readonly problem: string | null
  /** Number of events since the start that are in memory but not in the journal file. */
  readonly lost: number
}

/** Limit of the events that wait to be written. A disk that hangs costs the events beyond it. */
const MOST_WAITING = 1_000
/** Milliseconds until the next attempt to write after a failure. */
const TRY_AGAIN = 10_000
/** Bytes of the previous run's journal that are read into memory at the start. */
const TAIL = 256 * 1024
/** Limit of the bytes that commands read of a journal, however large its files are. */
const MOST_READ = 64 << 20
const MODE = 0o600
/** Limit of a journal line in bytes. holdfast does not write a longer line. */
const LONGEST_LINE = 64 * 1024
const END_OF_LINE = 0x0a
/** First characters of every line of the journal. */
const OPENING = '{"seq":'
/**
 * A FIFO would block, and a symbolic link could lead anywhere. The file is also read, because its last line may be
 * incomplete.
 */
const APPEND = constants.O_RDWR | constants.O_CREAT | constants.O_APPEND | constants.O_NOFOLLOW | constants.O_NONBLOCK

export type JournalFileOptions = {
  readonly path: string
  /** Limit of both journal files together, in bytes. */
  readonly maxSize: number
  /** Called with the reason when the journal file cannot be written. */
  readonly onProblem: (message: string) => void
  /** Called when the journal file can be written again, with the number of missing events. */
  readonly onGap: (lost: number, why: string) => void
}

export const olderFile = (path: string): string => `${path}.1`

export class JournalFile {
  readonly #options: JournalFileOptions
  #waiting: JournalEvent[] = []
  #writing: Promise<void> | undefined
  #file: FileHandle | undefined
  #size = 0
  /** True while a write to the journal file has not returned. */
  #putting = false
  #lost = 0
  #lostEver = 0
  #why = ''
  /** True if the last attempt to write the journal failed. */
  #failing = false
  #notBefore = Number.NEGATIVE_INFINITY

  constructor(options: JournalFileOptions) {
    this.#options = options
  }

  /** Queues an event for the journal file. The event is written after the turn that recorded it. */
  append(event: JournalEvent): void {
    if (this.#waiting.length >= MOST_WAITING) {
      this.#lose(1, 'the disk is too slow')
      return this.#complain()
    }
    this.#waiting.push(event)
    this.#writing ??= this.#write()
  }

  /**
   * Writes all queued events before the process ends. Does nothing if the file is not open, or failed last time. Does
   * nothing while a write has not returned, because a disk that hangs would keep the process alive. Lost events are not
   * reported.
   */
  writeNow(): void {
    if (this.#file === undefined || this.#putting || this.#failing) return
    const lines = this.#waiting.splice(0).map((event) => `${JSON.stringify(event)}\n`)
    writeSync(this.#file.fd, lines.join(''))
  }

  get state(): JournalSnapshot {
    return { file: this.#options.path, problem: this.#failing ? this.#why : null, lost: this.#lostEver }
  }

  /** Resolves when all queued events are written, or after `within` milliseconds. */
  async flush(within: number): Promise<void> {
    let late: NodeJS.Timeout | undefined
    const patience = new Promise<void>((resolve) => {
      late = setTimeout(resolve, within)
    })
    await Promise.race([this.#writing ?? Promise.resolve(), patience])
    clearTimeout(late)
  }

  async #write(): Promise<void> {
    await new Promise<void>((resolve) => setImmediate(resolve))
    while (this.#waiting.length > 0) {
      const events = this.#waiting.splice(0)
      try {
        if (performance.now() < this.#notBefore) throw new Error(this.#why)
        const left = events.length - (await this.#put(events.map((event) => `${JSON.stringify(event)}\n`)))
        if (left > 0) await this.#fail(left, new Error('the disk is full'))
        else this.#failing = false
      } catch (error) {
        await this.#fail(events.length, error)
      }
    }
    this.#writing = undefined
    if (this.#lost === 0 || performance.now() < this.#notBefore) return
    const lost = this.#lost
    this.#lost = 0
    this.#options.onGap(lost, this.#why)
  }

  /** Writes lines to the journal. Returns how many of them are completely in the file. */
  async #put(lines: readonly string[]): Promise<number> {
    const file = this.#file ?? (await this.#open())
    const bytes = Buffer.from(lines.join(''))
    this.#putting = true
    const { bytesWritten } = await file.write(bytes).finally(() => {
      this.#putting = false
    })
    this.#size += bytesWritten
    if (bytesWritten < bytes.length)
      return bytes.subarray(0, bytesWritten).filter((octet) => octet === END_OF_LINE).length
    if (this.#size > this.#options.maxSize / 2) await this.#rotate(file)
    return lines.length
  }

  async #open(): Promise<FileHandle> {
    const { path } = this.#options
    await mkdir(dirname(path), { recursive: true, mode: 0o755 })
    const file = await open(path, APPEND, MODE)
    try {
      this.#size = await mend(file)
    } catch (error) {
      await file.close()
      throw error
    }
    this.#file = file
    return file
  }

  async #rotate(file: FileHandle): Promise<void> {
    this.#file = undefined
    await file.close()
    await rename(this.#options.path, olderFile(this.#options.path))
  }

  async #fail(events: number, error: unknown): Promise<void> {
    const why = messageOf(error)
    this.#lose(events, why)
    if (performance.now() < this.#notBefore) return
    this.#notBefore = performance.now() + TRY_AGAIN
    await this.#close()
    this.#complain()
  }

  /** Closes the journal file without an incomplete last line, which would stop other readers. */
  async #close(): Promise<void> {
    const file = this.#file
    this.#file = undefined
    if (file === undefined) return
    await mend(file).catch(() => {})
    await file.close().catch(() => {})
  }

  #complain(): void {
    this.#options.onProblem(`Cannot write the event journal ${this.#options.path}: ${this.#why}`)
  }

  #lose(count: number, why: string): void {
    this.#lost += count
    this.#lostEver += count
    this.#why = why
    this.#failing = true
  }
}

/**
 * Removes an incomplete last line of the journal, which a crash or a full disk leaves and at which jq stops. Returns
 * the size without that line. Throws if the line does not belong to a journal, because the path may be a mistake. After
 * a power failure such a line may consist of zeros.
 */
async function mend(file: FileHandle): Promise<number> {
  const stat = await file.stat()
  if (!stat.isFile()) throw new Error('it is not a regular file')
  const { size } = stat
  const length = Math.min(size, LONGEST_LINE)
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, size - length)
  const whole = size - bytesRead + buffer.lastIndexOf(END_OF_LINE, bytesRead - 1) + 1
  if (whole === size) return size
  const start = buffer.toString(
    'latin1',
    whole - (size - bytesRead),
    Math.min(bytesRead, whole - (size - bytesRead) + OPENING.length),
  )
  if (!OPENING.startsWith(start) && !start.startsWith('\0'))
    throw new Error('its last line was not written by holdfast')
  await file.truncate(whole)
  return whole
}

/**
 * Returns the last events of a journal file and of the older file; an empty list if there is no file. Rejects with
 * Error if a file cannot be read.
 */
export async function readJournalFile(path: string, most = MOST_READ): Promise<readonly JournalEvent[]> {
  const newer = await tailOf(path, most)
  const older = newer.length < most ? await tailOf(olderFile(path), most - newer.length) : ''
  return eventsIn(`${older}\n${newer}`)
}

/** Returns the events of the previous run with which the journal in memory begins. */
export const readEarlierLife = (path: string): Promise<readonly JournalEvent[]> => readJournalFile(path, TAIL)

async function tailOf(path: string, most: number): Promise<string> {
  let file: FileHandle
  try {
    file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return ''
    throw error
  }
  try {
    const stat = await file.stat()
    if (!stat.isFile()) throw new Error(`${path}: not a regular file`)
    const length = Math.min(stat.size, most)
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, stat.size - length)
    return buffer.toString('utf8', 0, bytesRead)
  } finally {
    await file.close()
  }
}

/** Returns the events in lines of a journal. Incomplete lines and lines of other versions are left out. */
export function eventsIn(lines: string): readonly JournalEvent[] {
  return lines.split('\n').flatMap((line) => {
    if (line === '') return []
    try {
      return readEvent(JSON.parse(line)) ?? []
    } catch {
      return []
    }
  })
}
