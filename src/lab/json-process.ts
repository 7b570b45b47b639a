/**
 * Runs a process in a network namespace that reads JSON objects from standard input and writes JSON objects to standard
 * output, one object a line. This file decides how an object is sent to the process, and how a test waits for one of
 * its lines. This file does not know the meaning of the objects.
 */
import type { ChildProcess } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Where } from './ip.ts'
import type { Site } from './namespaces.ts'
import { eventually } from './wait.ts'

export type Said = Readonly<Record<string, unknown>>
export type Ended = { readonly code: number | null; readonly signal: NodeJS.Signals | null }

export class JsonProcess {
  /** All lines that the process has written to its standard output, each parsed as JSON. */
  readonly said: Said[] = []
  readonly stderr: string[] = []
  readonly ended: Promise<Ended>
  readonly #child: ChildProcess
  readonly #name: string

  /** Starts the process. `take` is called with each line that the process writes to its standard output. */
  constructor(site: Site, where: Where, argv: readonly string[], take: (line: Said) => void = () => {}) {
    this.#name = argv.slice(-2).join(' ')
    this.#child = site.spawn(where, argv, { stdio: ['pipe', 'pipe', 'pipe'] })
    const { stdout, stderr } = this.#child
    if (stdout === null || stderr === null) throw new Error(`Cannot talk to ${this.#name}: it has no pipes`)
    createInterface({ input: stdout }).on('line', (text) => {
      const line: Said = JSON.parse(text)
      this.said.push(line)
      take(line)
    })
    createInterface({ input: stderr }).on('line', (text) => this.stderr.push(text))
    // A message to a process that has ended is lost without an error, as on any pipe.
    this.#child.stdin?.on('error', () => {})
    this.ended = new Promise((resolve) => {
      this.#child.once('close', (code, signal) => resolve({ code, signal }))
    })
  }

  /** Process number of the program: `ip netns exec` replaces itself with the program it starts. */
  get pid(): number {
    return this.#child.pid ?? 0
  }

  tell(line: object | string): void {
    this.#child.stdin?.write(`${typeof line === 'string' ? line : JSON.stringify(line)}\n`)
  }

  /** Closes the standard input of the process. */
  hush(): void {
    this.#child.stdin?.end()
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal)
  }

  /**
   * Resolves with the first line of the process for which `holds` returns true; earlier lines count too. Throws after
   * `within` ms.
   */
  async line(expected: string, holds: (line: Said) => boolean, within = 10_000): Promise<Said> {
    const sight = () => ({
      ...this.#end,
      lines: this.said.length,
      last: this.said.slice(-5),
      stderr: this.stderr.slice(-3),
    })
    const found = () => this.said.find(holds)
    return eventually(`${expected} from ${this.#name}`, found, { sight, within, every: 2 })
  }

  get #end(): object {
    const { exitCode, signalCode } = this.#child
    return exitCode === null && signalCode === null ? {} : { ended: signalCode ?? exitCode }
  }
}
