/**
 * A recording on the disk. Decided here: that the engine never waits for it (what a disk does not take in time is left out,
 * counted, and said in the file), that it ends at its limit and at the first error of the disk, and whose file is not written
 * over. Refuses to know what a line says.
 */

import { close, closeSync, constants, fstatSync, openSync, readSync, renameSync, write, writeSync } from 'node:fs'
import { messageOf } from '../base/message-of.ts'
import { FORMAT, type Header, OPENING } from './lines.ts'

/** Characters that wait for the disk; behind them lines are left out. */
const MOST_WAITING = 4 << 20
/** Written in one go, or when the first of them is so many milliseconds old. */
const ENOUGH = 64 << 10
const LATEST = 100
/** For the last line. */
const RESERVE = 256
const MODE = 0o600
const NEW = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW
export type RecordingOptions = {
  readonly path: string
  /** Octets. */
  readonly limit: number
  /** Of this program. */
  readonly version: string
  /** It has ended before its time, in words. */
  readonly onEnd: (words: string) => void
}

/** The one before it, which is kept until the next. */
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
   * Before the engine runs: this waits for the disk. An earlier recording goes to olderRecording(path). Throws Error, in
   * words, when nothing can be written there, or somebody's file is there that is no recording.
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

  /** At once: whoever dies early leaves a recording of nothing, and no file that is none. */
  #begins(header: Header): void {
    if (this.#fd !== undefined) this.#size = writeSync(this.#fd, `${JSON.stringify(header)}\n`)
  }

  /** Costs no system call now. */
  write(line: object): void {
    if (this.#fd === undefined) return
    if (this.#dropped > 0 && !this.#resume()) return
    const text = `${JSON.stringify(line)}\n`
    if (this.#waitingLength + text.length > MOST_WAITING) {
      this.#dropped++
      return
    }
    this.#push(text)
  }

  /** False: one more is left out. */
  #resume(): boolean {
    if (this.#waitingLength > MOST_WAITING / 2) {
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
    if (this.#waitingLength >= ENOUGH) this.#begin()
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
        return this.#end(`it cannot be written: ${messageOf(error)}`)
      }
      if (isFull) return this.#end(`it has reached its limit of ${this.#options.limit} octets`)
    }
  }

  /** What waits, as far as it fits; the last line where not all of it does. */
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

  #end(words: string): void {
    this.#letGo()
    this.#options.onEnd(`The recording in ${this.#options.path} has ended: ${words}; the daemon goes on`)
  }

  #letGo(): void {
    if (this.#fd !== undefined) close(this.#fd, () => {})
    this.#fd = undefined
    this.#waiting = []
    clearTimeout(this.#timer)
  }

  /** Resolves when all is written and the file closed, or after `within` milliseconds. */
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
   * What waits, at once: the process ends with a bug. Not while the disk owes an answer: a dead engine waits for nobody.
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
    if (!isRecording(each)) throw new Error(`${each} is there and is no recording: it is left as it is`)
  renameSync(path, older)
  return openSync(path, NEW, MODE)
}

/** Or nothing is there. A FIFO would hang; an empty file is what an earlier life has left that died at once. */
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
