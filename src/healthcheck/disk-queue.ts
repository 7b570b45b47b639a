/**
 * Orders requests to file systems. libuv has four threads for files, names and logs of the whole process, and each
 * request to a disk that does not answer blocks one of them. This file decides that one request runs at a time. A slow
 * request no longer blocks the queue, but its file system gets no other request until the slow one is answered. Only
 * MOST_SLOW slow requests may be open, so a thread is always left for names. `disk-queue.ts` does not know what a
 * request reads.
 */
import { readFileSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'
import type { Cutoff } from './cutoff.ts'

/** Milliseconds in which a working disk usually answers a request. */
const SLOW = 50
/**
 * Number of slow disk requests that may run besides the current request. The engine reads files only at its start, and
 * leaves the other threads of libuv to the checks.
 */
const MOST_SLOW = isMainThread ? 0 : 2

export type MountOf = (path: string) => string

type Question = { readonly path: string; readonly begin: () => Promise<unknown> }

/** Error of a disk request whose time was over before the request was sent to the disk. */
export class NotAsked extends Error {
  constructor(path: string) {
    super(`${path} was not looked at: a file system does not answer`)
    this.name = 'NotAsked'
  }
}

export class DiskQueue {
  readonly #mounts: () => MountOf
  readonly #mostSlow: number
  readonly #waiting = new Set<Question>()
  readonly #slow = new Set<Question>()
  #turn: Question | undefined
  /** True if the current disk request is slow. */
  #overdue = false

  /** `mounts` reads the mount table of the node again. */
  constructor(mounts: () => MountOf = mountPoints, mostSlow = MOST_SLOW) {
    this.#mounts = mounts
    this.#mostSlow = mostSlow
  }

  /**
   * Sends a disk request when the requests before it have ended. Settles as the request does. Rejects with NotAsked if
   * `cutoff` ends the wait for the queue.
   */
  ask<T>(path: string, question: () => Promise<T>, cutoff?: Cutoff): Promise<T> {
    return new Promise((resolve, reject) => {
      const asked: Question = {
        path,
        begin: () => {
          cutoff?.removeEventListener('abort', late)
          const answered = question()
          answered.then(resolve, reject)
          return answered
        },
      }
      const late = () => {
        this.#waiting.delete(asked)
        reject(new NotAsked(path))
      }
      if (cutoff?.aborted === true) return late()
      cutoff?.addEventListener('abort', late, { once: true })
      this.#waiting.add(asked)
      this.#next()
    })
  }

  #next(): void {
    if (this.#turn !== undefined) return
    const question = this.#firstOf()
    if (question === undefined) return
    this.#waiting.delete(question)
    this.#turn = question
    this.#overdue = false
    const slow = setTimeout(() => {
      this.#overdue = true
      this.#stepAside()
    }, SLOW).unref()
    const over = () => {
      clearTimeout(slow)
      this.#slow.delete(question)
      if (this.#turn === question) this.#turn = undefined
      if (this.#turn !== undefined && this.#overdue) this.#stepAside()
      else this.#next()
    }
    question.begin().then(over, over)
  }

  #stepAside(): void {
    if (this.#turn === undefined || this.#slow.size >= this.#mostSlow) return
    this.#slow.add(this.#turn)
    this.#turn = undefined
    this.#next()
  }

  /** Returns the first disk request whose file system has no unanswered request. */
  #firstOf(): Question | undefined {
    const [first] = this.#waiting
    if (first === undefined || this.#slow.size === 0) return first
    const mountOf = this.#mounts()
    const silent = new Set([...this.#slow].map(({ path }) => mountOf(path)))
    return [...this.#waiting].find(({ path }) => !silent.has(mountOf(path)))
  }
}

/** The queue of all disk requests of the checks of a thread. */
export const disks = new DiskQueue()

/**
 * Returns a function that finds the mount point of a path by the text of the path. Symbolic links are not followed,
 * because that would read the disk.
 */
function mountPoints(): MountOf {
  const points = mountPointsOf(readFileSync('/proc/self/mountinfo', 'utf8'))
  return (path) => points.find((point) => point === '/' || path === point || path.startsWith(`${point}/`)) ?? '/'
}

/**
 * Returns the mount points in the text of a mount table, the deepest first (proc(5): the fifth field, with blanks in
 * octal).
 */
export function mountPointsOf(text: string): readonly string[] {
  const points = text.split('\n').flatMap((line) => line.split(' ')[4] ?? [])
  const decoded = points.map((point) =>
    point.replace(/\\(\d{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8))),
  )
  return [...new Set(decoded)].sort((a, b) => b.length - a.length)
}
