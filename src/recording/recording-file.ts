/**
 * The file of a recording on the disk. This file decides that the engine never waits for the disk. Lines that the disk
 * does not take in time are left out and counted in the file. A recording ends at its limit and at the first error of
 * the disk. A file that is no recording is never overwritten. This file knows nothing about the content of a line.
 */

import { close, closeSync, constants, fstatSync, openSync, readSync, renameSync, write, writeSync } from 'node:fs'
import { messageOf } from '../base/message-of.ts'
import { FORMAT, type Header, OPENING } from './lines.ts'

/** Number of characters that may wait for the disk. Further lines are left out. */
const WAITING_LIMIT = 4 << 20
/**
 * Number of characters that are written together. Fewer are written if the first of them has waited for some
 * milliseconds.
 */
const WRITE_SIZE = 64 << 10
const LATEST = 100
/** Octets of the file that are reserved for the last line. */
const RESERVE = 256
const MODE = 0o600
const NEW = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW
export type RecordingOptions = {
  readonly path: string
  /** Largest size of the recording file in octets. */
  readonly limit: number
  /** Version of holdfast that records. */
  readonly version: string
  /** Called with the reason if the recording ends early. */
  readonly onEnd: (message: string) => void
}

/** Returns the path of the recording before this one, which is kept until the next. */
export const olderRecording = (path: string): string => `${path}.1`

export class RecordingFile {
  readonly #options: RecordingOptions
  #fd: number | undefined
  #waiting: string[] = []
  #waitingLength = 0
  #size = 0
  #dropped = 0
  #writing: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined

  private constructor(options: RecordingOptions, fd: number) {
    this.#options = options
    this.#fd = fd
  }

  /**
   * Opens a recording before the engine runs, because opening waits for the disk. An earlier recording moves to
   * olderRecording(path). Throws an Error with a text for the operator if the file cannot be written, or if it exists
   * and is no recording.
   */
  static open(options: RecordingOptions): RecordingFile {
    const { path, version } = options
    let file: RecordingFile | undefined
    try {
      file = new RecordingFile(options, openNew(path))
      file.#begins({ recording: FORMAT, holdfast: version, at: new Date().toISOString() })
      return file
    } catch (error) {
      if (file !== undefined) file.#letGo()
      throw new Error(`Cannot record to ${path}: ${messageOf(error)}`)
    }
  }

  /**
   * Writes the header immediately, so that an engine that dies early leaves a recording without events, not an empty
   * file.
   */
  #begins(header: Header): void {
    if (this.#fd !== undefined) this.#size = writeSync(this.#fd, `${JSON.stringify(header)}\n`)
  }

  /** Adds a line to the recording. Makes no system call. */
  write(line: object): void {
    if (this.#fd === undefined) return
    if (this.#dropped > 0 && !this.#resume()) return
    const text = `${JSON.stringify(line)}\n`
    if (this.#waitingLength + text.length > WAITING_LIMIT) {
      this.#dropped++
      return
    }
    this.#push(text)
  }

  /** Continues the recording. Returns false if the disk is so slow that one more line has to be left out. */
  #resume(): boolean {
    if (this.#waitingLength > WAITING_LIMIT / 2) {
      this.#dropped++
      return false
    }
    this.#push(`${JSON.stringify({ gap: this.#dropped })}\n`)
    this.#dropped = 0
    return true
  }

  #push(text: string): void {
    this.#waiting.push(text)
    this.#waitingLength += text.length
    if (this.#writing !== undefined) return
    if (this.#waitingLength >= WRITE_SIZE) this.#begin()
    else this.#timer ??= setTimeout(() => this.#begin(), LATEST).unref()
  }

  #begin(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#writing ??= this.#write().finally(() => {
      this.#writing = undefined
    })
  }

  async #write(): Promise<void> {
    while (this.#fd !== undefined && this.#waiting.length > 0) {
      const { bytes, isFull } = this.#take()
      try {
        await this.#put(this.#fd, bytes)
      } catch (error) {
        return this.#end(`cannot write it: ${messageOf(error)}`)
      }
      if (isFull) return this.#end(`it reached its limit of ${this.#options.limit} octets`)
    }
  }

  /** Returns the waiting octets, as far as they fit into the file. If not all octets fit, the last line is added. */
  #take(): { readonly bytes: Buffer; readonly isFull: boolean } {
    const lines = this.#waiting
    this.#waiting = []
    this.#waitingLength = 0
    const bytes = Buffer.from(lines.join(''))
    const { limit } = this.#options
    if (this.#size + bytes.length <= limit - RESERVE) return { bytes, isFull: false }
    const fitting: string[] = []
    let length = 0
    for (const line of lines) {
      length += Buffer.byteLength(line)
      if (this.#size + length > limit - RESERVE) break
      fitting.push(line)
    }
    const last = `${JSON.stringify({ end: `the limit of ${limit} octets was reached` })}\n`
    return { bytes: Buffer.from(fitting.join('') + last), isFull: true }
  }

  async #put(fd: number, bytes: Buffer): Promise<void> {
    let from = 0
    while (from < bytes.length) {
      const written = await new Promise<number>((resolve, reject) => {
        write(fd, bytes, from, bytes.length - from, null, (error, count) =>
          error === null ? resolve(count) : reject(error),
        )
      })
      from += written
      this.#size += written
    }
  }

  #end(reason: string): void {
    this.#letGo()
    this.#options.onEnd(`Recording to ${this.#options.path} ended: ${reason}; the daemon continues`)
  }

  #letGo(): void {
    if (this.#fd !== undefined) close(this.#fd, () => {})
    this.#fd = undefined
    this.#waiting = []
    clearTimeout(this.#timer)
  }

  /** Resolves when all lines are written and the file is closed, or after `within` milliseconds. */
  async finish(within: number): Promise<void> {
    let late: NodeJS.Timeout | undefined
    const patience = new Promise<void>((resolve) => {
      late = setTimeout(resolve, within)
    })
    const written = async () => {
      await this.#writing
      this.#begin()
      await this.#writing
    }
    await Promise.race([written(), patience])
    clearTimeout(late)
    this.#letGo()
  }

  /**
   * Writes the waiting lines immediately, because the process ends by a defect. Does nothing while a write is under
   * way: a dead engine must not wait.
   */
  writeNow(): void {
    if (this.#fd === undefined || this.#writing !== undefined || this.#waiting.length === 0) return
    const { bytes } = this.#take()
    writeSync(this.#fd, bytes)
    closeSync(this.#fd)
    this.#fd = undefined
  }
}

function openNew(path: string): number {
  try {
    return openSync(path, NEW, MODE)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  }
  const older = olderRecording(path)
  for (const each of [path, older])
    if (!isRecording(each)) throw new Error(`${each} exists and is not a recording: choose another path`)
  renameSync(path, older)
  return openSync(path, NEW, MODE)
}

/**
 * Returns true for a recording, an empty file, or a missing file. A FIFO is refused, because reading it would block. An
 * empty file may be left by an earlier run that died immediately.
 */
function isRecording(path: string): boolean {
  let fd: number
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return true
    throw error
  }
  try {
    const stat = fstatSync(fd)
    if (!stat.isFile()) return false
    const start = Buffer.alloc(OPENING.length)
    const read = readSync(fd, start, 0, start.length, 0)
    return start.toString('latin1', 0, read) === OPENING.slice(0, read)
  } finally {
    closeSync(fd)
  }
}
