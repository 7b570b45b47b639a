/**
 * Starts the measuring programs (bench/native), each on one host of the lab. This file decides that the programs are
 * compiled if they are older than their sources, and a program that ends by itself fails the run. This file does not
 * know the meaning of their records.
 */
import type { ChildProcess } from 'node:child_process'
import { appendFileSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { run } from '../../src/lab/command.ts'
import { packageRoot } from '../../src/lab/installation.ts'
import type { Host, LabView } from '../../src/lab/lab.ts'
import { eventually } from '../../src/lab/wait.ts'
import { type Entry, JournalReader } from './journal.ts'

export const GAUGE_PORT = 7008

function builtAt(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0
}

/** Compiles the measuring programs if needed. Returns the path of the executable. */
export function gaugePath(): string {
  const sources = join(packageRoot(), 'bench', 'native')
  // The measuring programs share C sources with the product's prober.
  const shared = join(packageRoot(), 'native', 'common')
  const path = join(packageRoot(), 'build', 'native', 'gauge')
  const files = [sources, shared].flatMap((folder) => readdirSync(folder).map((name) => join(folder, name)))
  const newest = Math.max(...files.map(builtAt))
  if (builtAt(path) < newest) run([join(sources, 'build.sh'), path])
  return path
}

export class Gauge {
  readonly #child: ChildProcess
  readonly #ended: Promise<void>
  #began = false
  #exit: string | undefined
  #stopping = false
  #complaint = ''

  constructor(lab: LabView, host: Host, argv: readonly string[], take: (entry: Entry) => void) {
    const reader = new JournalReader()
    this.#child = lab.spawn(host, [gaugePath(), ...argv])
    const kept = lab.logs === undefined ? undefined : join(lab.logs, `${host.name}-${argv[0]}.journal`)
    this.#child.stdout?.on('data', (chunk: Buffer) => {
      if (kept !== undefined) appendFileSync(kept, chunk)
      for (const entry of reader.take(chunk)) {
        if (entry.kind === 'begin') this.#began = true
        if (entry.kind === 'end' && entry.value > 0) this.#complaint += `${entry.value} records found no room`
        take(entry)
      }
    })
    this.#child.stderr?.setEncoding('utf8').on('data', (chunk: string) => {
      this.#complaint += chunk
    })
    this.#ended = new Promise((resolve) => {
      this.#child.once('close', (code, signal) => {
        this.#exit = `${code ?? signal}`
        resolve()
      })
      this.#child.once('error', (error) => {
        this.#complaint += error.message
        resolve()
      })
    })
  }

  /** Throws if the measuring program has ended by itself. */
  check(): void {
    if (this.#exit !== undefined && !this.#stopping)
      throw new Error(`Cannot measure: the gauge ended (${this.#exit}) ${this.#complaint.trim()}`)
  }

  async ready(): Promise<void> {
    const began = () => {
      this.check()
      return this.#began
    }
    await eventually('the gauge to begin', began, { sight: () => this.#complaint, within: 5_000, every: 2 })
  }

  async stop(): Promise<void> {
    this.#stopping = true
    this.#child.kill('SIGTERM')
    await this.#ended
  }
}
