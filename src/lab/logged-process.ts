/**
 * Runs a process in the lab, and stores each line of its output with the time of reception. This file decides how a
 * daemon with child processes is killed so that no child can react. This file does not know the meaning of a line.
 */
import type { ChildProcess } from 'node:child_process'
import { appendFileSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { Readable } from 'node:stream'
import type { Site } from './namespaces.ts'
import type { Host } from './network.ts'
import { eventually, monotonicMs } from './wait.ts'

export type LoggedLine = { readonly at: number; readonly text: string }
export type Exit = { readonly at: number; readonly code: number | null; readonly signal: NodeJS.Signals | null }

function childrenOf(pid: number): number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number)
  } catch {
    return []
  }
}

/** Returns whether the process is the guardian's starter of engines (docs/adr/0095). */
function isStarter(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8') === 'holdfast-start\n'
  } catch {
    return false
  }
}

/** Returns the process numbers of a process and of all its descendants, parents before children. */
export function familyOf(pid: number): number[] {
  return [pid, ...childrenOf(pid).flatMap(familyOf)]
}

function signalQuietly(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // The process has ended since it was listed.
  }
}

export class LoggedProcess {
  readonly lines: LoggedLine[] = []
  readonly exited: Promise<Exit>
  readonly name: string
  readonly #child: ChildProcess
  readonly #listeners = new Set<(line: LoggedLine) => void>()
  /**
   * Path of the file that also stores the lines of the process, each with its time of reception (monotonicMs());
   * `undefined`: no file.
   */
  readonly #kept: string | undefined
  #exit: Exit | undefined

  constructor(site: Site, host: Host | string, argv: readonly string[], env: Readonly<Record<string, string>> = {}) {
    this.name = `${argv[0]} on ${typeof host === 'string' ? host : host.name}`
    this.#child = site.spawn(host, argv, { env: { ...process.env, ...env } })
    const file = `${typeof host === 'string' ? host : host.name}-${basename(argv[0] ?? '')}-${this.#child.pid}.log`
    this.#kept = site.logs === undefined ? undefined : join(site.logs, file)
    this.#collect(this.#child.stdout)
    this.#collect(this.#child.stderr)
    this.exited = new Promise((resolve) => {
      const done = (code: number | null, signal: NodeJS.Signals | null) => {
        this.#exit = { at: monotonicMs(), code, signal }
        resolve(this.#exit)
      }
      this.#child.once('close', done)
      this.#child.once('error', (error) => {
        this.#take(`cannot start: ${error.message}`)
        done(null, null)
      })
    })
  }

  #collect(stream: Readable | null): void {
    let rest = ''
    stream?.setEncoding('utf8')
    stream?.on('data', (chunk: string) => {
      const lines = (rest + chunk).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) this.#take(line)
    })
    stream?.on('end', () => rest !== '' && this.#take(rest))
  }

  #take(text: string): void {
    const line = { at: monotonicMs(), text }
    this.lines.push(line)
    if (this.#kept !== undefined) appendFileSync(this.#kept, `${line.at.toFixed(3)} ${text}\n`)
    for (const listener of this.#listeners) listener(line)
  }

  onLine(listener: (line: LoggedLine) => void): void {
    this.#listeners.add(listener)
  }

  get pid(): number {
    if (this.#child.pid === undefined) throw new Error(`Cannot signal ${this.name}: it did not start`)
    return this.#child.pid
  }

  get exit(): Exit | undefined {
    return this.#exit
  }

  get children(): number[] {
    return childrenOf(this.pid)
  }

  /** Sends a signal to the process. Returns the time of the signal in ms. */
  signal(signal: NodeJS.Signals): number {
    const at = monotonicMs()
    signalQuietly(this.pid, signal)
    return at
  }

  /**
   * Sends a signal to the only child of the process. The child does the work while its parent watches. Returns the time
   * in ms.
   */
  signalChild(signal: NodeJS.Signals): number {
    const [child, ...others] = this.children.filter((pid) => !isStarter(pid))
    if (child === undefined || others.length > 0) {
      throw new Error(
        `Cannot send ${signal} to the child of ${this.name}: it has ${others.length + (child === undefined ? 0 : 1)}`,
      )
    }
    const at = monotonicMs()
    signalQuietly(child, signal)
    return at
  }

  /**
   * Sends SIGKILL to the process and all its descendants, as when a container is killed. All are stopped first
   * (SIGSTOP), so that no survivor reacts to the death of another process.
   */
  killFamily(): number {
    const at = monotonicMs()
    const family = familyOf(this.pid)
    for (const pid of family) signalQuietly(pid, 'SIGSTOP')
    for (const pid of family) signalQuietly(pid, 'SIGKILL')
    return at
  }

  /**
   * Resolves with the first line of the process that matches the pattern; earlier lines count too. Throws after
   * `within` ms.
   */
  line(pattern: RegExp, within: number): Promise<LoggedLine> {
    return eventually(`${this.name} to log ${pattern}`, () => this.lines.find(({ text }) => pattern.test(text)), {
      sight: () => this.lines.slice(-5).map(({ text }) => text),
      within,
    })
  }
}
