/**
 * The file in which an engine remembers the configuration that it was handed (docs/adr/0051): replaced as a whole, and on
 * the disk before anybody is told so. Decided here: one write at a time and the newest text last, so that a disk which
 * hangs and comes back leaves no older text behind; who waits is told after a while that it is not kept; what could not be
 * written is tried again. Refuses to know what the text says.
 */

import { mkdir, readdir, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { messageOf } from '../base/message-of.ts'
import { replaceFile } from './fresh-file.ts'

const LONGEST_WAIT = 5_000
const TRY_AGAIN = 10_000
/** What an end in the middle of a write has left. */
const LEFT_BEHIND = /^\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

export type ManagedFileOptions = {
  readonly path: string
  /** It cannot be written, in words. */
  readonly onProblem: (message: string) => void
  /** It can again. */
  readonly onKept: () => void
  /** Rejects with Error. */
  readonly put?: (path: string, text: string) => Promise<void>
  /** Milliseconds. */
  readonly longestWait?: number
  readonly tryAgain?: number
}

export class ManagedFile {
  readonly path: string
  readonly #options: ManagedFileOptions
  readonly #put: (path: string, text: string) => Promise<void>
  /** Not yet in the file. */
  #wanted: { readonly text: string } | undefined
  #writing: Promise<void> | undefined
  #problem: string | null = null
  #again: NodeJS.Timeout | undefined

  constructor(options: ManagedFileOptions) {
    this.path = options.path
    this.#options = options
    this.#put = options.put ?? ((path, text) => replaceFile(path, text, true))
  }

  /** Why what is in force is not in it, in words; null: it is. */
  get problem(): string | null {
    return this.#problem
  }

  /** Makes the folder. Never rejects. */
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

  /** Resolves when this text, or a newer one, is in the file, or not in time: why not. Never rejects. */
  keep(text: string): Promise<string | undefined> {
    this.#wanted = { text }
    this.#begin()
    return this.settled()
  }

  /** What was to be kept is, or why not. */
  async settled(within = this.#options.longestWait ?? LONGEST_WAIT): Promise<string | undefined> {
    const writing = this.#writing
    if (writing === undefined) return this.#problem ?? undefined
    let late: NodeJS.Timeout | undefined
    const tooLate = new Promise<void>((resolve) => {
      late = setTimeout(() => {
        if (this.#writing !== undefined) this.#fail(`Cannot write ${this.path}: no answer of the disk in ${within} ms`)
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
      if (this.#problem !== null) this.#options.onKept()
      this.#problem = null
    }
    // In the same turn as the last look: who comes later begins anew.
    this.#writing = undefined
  }

  #fail(message: string): void {
    this.#problem = message
    this.#options.onProblem(message)
  }
}
