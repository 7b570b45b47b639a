/**
 * The event journal on the disk: one JSON object a line, appended, so that a crash costs at most the line that was being
 * written. Decided here: what is kept (two files, the older one with `.1` behind its name), that nothing waits for a
 * disk, and that one which is full or read-only costs events in the file, counted and told, and nothing else. Refuses to
 * know what an event means.
 */

import { constants, writeSync } from 'node:fs'
import { type FileHandle, mkdir, open, rename } from 'node:fs/promises'
import { dirname } from 'node:path'
import { messageOf } from '../base/message-of.ts'
import type { JournalEvent } from './event.ts'
import { readEvent } from './event.ts'

/** The file of the event journal. */
export type JournalSnapshot = {
  readonly file: string
  /** Why the last event is not in it; null: it is. */
  readonly problem: string | null
  /** Events that are not in it, since the start; in memory they were. */
  readonly lost: number
}

/** Not yet written: then a disk that hangs costs events. */
const MOST_WAITING = 1_000
/** What could not be written is not tried again with each event. */
const TRY_AGAIN = 10_000
/** Of an earlier life, for memory: read before anybody asks. */
const TAIL = 256 * 1024
/** By people, of files that may be as large as they like. */
const MOST_READ = 64 << 20
const MODE = 0o600
/** Longer than any line; what is longer was not written by us. */
const LONGEST_LINE = 64 * 1024
const END_OF_LINE = 0x0a
/** Of every event. */
const OPENING = '{"seq":'
/** A FIFO would hang, a link could lead anywhere. Read as well: its last line may be half of one. */
const APPEND = constants.O_RDWR | constants.O_CREAT | constants.O_APPEND | constants.O_NOFOLLOW | constants.O_NONBLOCK

export type JournalFileOptions = {
  readonly path: string
  /** Octets, of both files together. */
  readonly maxSize: number
  /** It cannot be written, in words. */
  readonly onProblem: (message: string) => void
  /** It can again: so many events are missing. */
  readonly onGap: (lost: number, why: string) => void
}

export const olderFile = (path: string): string => `${path}.1`

export class JournalFile {
  readonly #options: JournalFileOptions
  #waiting: JournalEvent[] = []
  #writing: Promise<void> | undefined
  #file: FileHandle | undefined
  #size = 0
  /** The disk owes an answer. */
  #putting = false
  #lost = 0
  #lostEver = 0
  #why = ''
  /** Since the last line that was written. */
  #failing = false
  #notBefore = Number.NEGATIVE_INFINITY

  constructor(options: JournalFileOptions) {
    this.#options = options
  }

  /** Costs nothing now: it is written after the turn that recorded it. */
  append(event: JournalEvent): void {
    if (this.#waiting.length >= MOST_WAITING) {
      this.#lose(1, 'the disk does not keep up')
      return this.#complain()
    }
    this.#waiting.push(event)
    this.#writing ??= this.#write()
  }

  /**
   * What waits, at once: the process ends. Only into a file that is open and works, and not while it owes an answer: a
   * disk that hangs would keep a dead process. What is lost is not told any more.
   */
  writeNow(): void {
    if (this.#file === undefined || this.#putting || this.#failing) return
    const lines = this.#waiting.splice(0).map((event) => `${JSON.stringify(event)}\n`)
    writeSync(this.#file.fd, lines.join(''))
  }

  get state(): JournalSnapshot {
    return { file: this.#options.path, problem: this.#failing ? this.#why : null, lost: this.#lostEver }
  }

  /** Resolves when all is written that can be, or after `within` milliseconds. */
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

  /** Returns how many are in the file, as whole lines. */
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

  /** Half a line at its end would spoil the file for whoever reads it meanwhile. */
  async #close(): Promise<void> {
    const file = this.#file
    this.#file = undefined
    if (file === undefined) return
    await mend(file).catch(() => {})
    await file.close().catch(() => {})
  }

  #complain(): void {
    this.#options.onProblem(`Cannot keep the event journal in ${this.#options.path}: ${this.#why}`)
  }

  #lose(count: number, why: string): void {
    this.#lost += count
    this.#lostEver += count
    this.#why = why
    this.#failing = true
  }
}

/**
 * A crash, or a disk that was full, may have left half a line: jq would end there. Returns the size without it. Nothing is cut
 * off that we have not written: the path may be a mistake. (Zeros are what is left of a line by a machine that lost its power.)
 */
async function mend(file: FileHandle): Promise<number> {
  const stat = await file.stat()
  if (!stat.isFile()) throw new Error('it is no regular file')
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
  if (!OPENING.startsWith(start) && !start.startsWith('\0')) throw new Error('its last line is none of ours')
  await file.truncate(whole)
  return whole
}

/** The last events of a file and of the one before it; [] where there is none. Rejects with Error for anything else. */
export async function readJournalFile(path: string, most = MOST_READ): Promise<readonly JournalEvent[]> {
  const newer = await tailOf(path, most)
  const older = newer.length < most ? await tailOf(olderFile(path), most - newer.length) : ''
  return eventsIn(`${older}\n${newer}`)
}

/** What the memory of the next life begins with. */
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
    if (!stat.isFile()) throw new Error(`Cannot read ${path}: it is no regular file`)
    const length = Math.min(stat.size, most)
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, stat.size - length)
    return buffer.toString('utf8', 0, bytesRead)
  } finally {
    await file.close()
  }
}

/** A line that a crash has cut off, or another version wrote, is left out. */
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
