/**
 * Whose turn it is to ask a file system. libuv has four threads for files, names and logs in the whole process, and a disk
 * that is gone keeps one for each question that it was asked. Decided here: one question at a time; one that is not answered
 * soon steps aside, nobody else asks that file system until it is, and only MOST_SLOW may do so: a thread is always left
 * for names. Refuses to know what is asked, and what silence means.
 */
import { readFileSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'
import type { Cutoff } from './cutoff.ts'

/** A disk that works has answered by then, as a rule. */
const SLOW = 50
/** Beside the one whose turn it is. The engine asks only at its start, and leaves the rest to the checks. */
const MOST_SLOW = isMainThread ? 0 : 2

export type MountOf = (path: string) => string

type Question = { readonly path: string; readonly begin: () => Promise<unknown> }

/** Its time was over before its turn came. */
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
  /** Whose turn it is has not been answered soon. */
  #overdue = false

  /** `mounts` takes a fresh look at what is mounted where. */
  constructor(mounts: () => MountOf = mountPoints, mostSlow = MOST_SLOW) {
    this.#mounts = mounts
    this.#mostSlow = mostSlow
  }

  /** As the question settles. Rejects with NotAsked when it is cut off before its turn. */
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

  /** Who is asking nobody that does not answer. */
  #firstOf(): Question | undefined {
    const [first] = this.#waiting
    if (first === undefined || this.#slow.size === 0) return first
    const mountOf = this.#mounts()
    const silent = new Set([...this.#slow].map(({ path }) => mountOf(path)))
    return [...this.#waiting].find(({ path }) => !silent.has(mountOf(path)))
  }
}

/** One for all checks of a thread. */
export const disks = new DiskQueue()

/** By what is written; links are not followed, because that would ask the disk. */
function mountPoints(): MountOf {
  const points = mountPointsOf(readFileSync('/proc/self/mountinfo', 'utf8'))
  return (path) => points.find((point) => point === '/' || path === point || path.startsWith(`${point}/`)) ?? '/'
}

/** The deepest first (proc(5): the fifth field, with blanks in octal). */
export function mountPointsOf(text: string): readonly string[] {
  const points = text.split('\n').flatMap((line) => line.split(' ')[4] ?? [])
  const decoded = points.map((point) =>
    point.replace(/\\(\d{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8))),
  )
  return [...new Set(decoded)].sort((a, b) => b.length - a.length)
}
