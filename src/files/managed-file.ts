/**
 * The file that stores the configuration which an engine was handed (docs/adr/0051). The file is replaced as a whole,
 * and is on the disk before the sender gets an answer. Only one write runs at a time, and the newest text is written
 * last, so no older text remains after the disk was blocked. If the disk is slow, the sender gets the answer that the
 * text is not stored yet. A failed write is tried again. This file knows nothing about the content.
 */

import { mkdir, readdir, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { messageOf } from '../base/message-of.ts'
import { replaceFile } from './fresh-file.ts'

const LONGEST_WAIT = 5_000
const TRY_AGAIN = 10_000
/** Name of a file that an interrupted write left behind. */
const LEFT_BEHIND = /^\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

export type ManagedFileOptions = {
  readonly path: string
  /** Called when the file cannot be written. */
  readonly onProblem: (message: string) => void
  /** Called when the file can be written again. */
  readonly onStored: () => void
  /** Writes the file. Rejects with Error. For tests. */
  readonly put?: (path: string, text: string) => Promise<void>
  /** Longest time in milliseconds that settled() waits for the file to be written; absent: LONGEST_WAIT. */
  readonly longestWait?: number
  readonly tryAgain?: number
}

export class ManagedFile {
  readonly path: string
  readonly #options: ManagedFileOptions
  readonly #put: (path: string, text: string) => Promise<void>
  /** Text that is not written to the file yet; `undefined` if the file is up to date. */
  #wanted: { readonly text: string } | undefined
  #writing: Promise<void> | undefined
  #problem: string | null = null
  #again: NodeJS.Timeout | undefined

  constructor(options: ManagedFileOptions) {
    this.path = options.path
    this.#options = options
    this.#put = options.put ?? ((path, text) => replaceFile(path, text, true))
  }

  /** Reason why the configuration in force is not in the file; `null` if it is. */
  get problem(): string | null {
    return this.#problem
  }

  /** Creates the folder and removes files of interrupted writes. Never rejects. */
  async prepare(): Promise<void> {
    const folder = dirname(this.path)
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 })
      const name = basename(this.path)
      for (const found of await readdir(folder)) {
        const isOurs = found.startsWith(name) && LEFT_BEHIND.test(found.slice(name.length))
        if (isOurs && this.#writing === undefined) await rm(join(folder, found), { force: true })
      }
    } catch (error) {
      this.#options.onProblem(`Cannot use ${folder}: ${messageOf(error)}`)
    }
  }

  /**
   * Stores a text. Resolves when this text, or a newer one, is in the file. If that takes too long, resolves with the
   * reason. Never rejects.
   */
  keep(text: string): Promise<string | undefined> {
    this.#wanted = { text }
    this.#begin()
    return this.settled()
  }

  /** Waits for the last write of the file. Resolves with the reason if that write failed. */
  async settled(within = this.#options.longestWait ?? LONGEST_WAIT): Promise<string | undefined> {
    const writing = this.#writing
    if (writing === undefined) return this.#problem ?? undefined
    let late: NodeJS.Timeout | undefined
    const tooLate = new Promise<void>((resolve) => {
      late = setTimeout(() => {
        if (this.#writing !== undefined)
          this.#fail(`Cannot write ${this.path}: the disk has not answered for ${within} ms`)
        resolve()
      }, within)
    })
    await Promise.race([writing, tooLate])
    clearTimeout(late)
    return this.#problem ?? undefined
  }

  #begin(): void {
    clearTimeout(this.#again)
    if (this.#wanted !== undefined) this.#writing ??= this.#write()
  }

  async #write(): Promise<void> {
    while (this.#wanted !== undefined) {
      const wanted = this.#wanted
      try {
        await mkdir(dirname(this.path), { recursive: true, mode: 0o700 })
        await this.#put(this.path, wanted.text)
      } catch (error) {
        this.#fail(messageOf(error))
        this.#again = setTimeout(() => this.#begin(), this.#options.tryAgain ?? TRY_AGAIN).unref()
        break
      }
      if (this.#wanted !== wanted) continue
      this.#wanted = undefined
      if (this.#problem !== null) this.#options.onStored()
      this.#problem = null
    }
    // The next line runs in the same turn as the last check, so a later call starts a new write.
    this.#writing = undefined
  }

  #fail(message: string): void {
    this.#problem = message
    this.#options.onProblem(message)
  }
}
