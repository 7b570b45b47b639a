/**
 * An attacker on one host of the lab: sends forged frames once, at a rate, or until it is told to stop. Decides how the
 * process is spoken to; refuses to know what the frames say (forged-frame.ts) and what they do to whom.
 */
import type { ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import { packageRoot } from '../../src/lab/installation.ts'
import type { Host, Lab } from '../../src/lab/lab.ts'
import { eventually, monotonicMs } from '../../src/lab/wait.ts'
import { toHex } from './hex.ts'

export type Onslaught = { readonly at: number; readonly sent: number; readonly failed: number; readonly ms: number }

type Report = { readonly id?: number; readonly sent?: number; readonly failed?: number; readonly ms?: number }

export class Attacker {
  readonly host: Host
  readonly #child: ChildProcess
  readonly #reports = new Map<number, Report>()
  #ready = false
  #attacks = 0

  constructor(lab: Lab, host: Host, link = 'eth0') {
    this.host = host
    const program = join(packageRoot(), 'test', 'support', 'attacker.mjs')
    this.#child = lab.spawn(host, [process.execPath, program, link], { stdio: ['pipe', 'pipe', 'inherit'] })
    let rest = ''
    this.#child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
      const lines = (rest + chunk).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) this.#take(JSON.parse(line))
    })
  }

  #take(report: Report): void {
    if (report.id === undefined) this.#ready = true
    else this.#reports.set(report.id, report)
  }

  async ready(): Promise<void> {
    await eventually(
      `the attacker on ${this.host.name} to start`,
      () => this.#ready,
      () => this.#child.exitCode,
      { within: 10_000 },
    )
  }

  #say(words: object): void {
    if (this.#child.stdin?.writable !== true) throw new Error(`Cannot attack from ${this.host.name}: the process ended`)
    this.#child.stdin.write(`${JSON.stringify(words)}\n`)
  }

  /** Resolves when all are sent: `count` of them, the frames in turn. */
  async send(frames: readonly Uint8Array[], count = frames.length, perSecond = 0): Promise<Onslaught> {
    const at = monotonicMs()
    const { end } = this.keepSending(frames, perSecond, count)
    return { ...(await end(60_000)), at }
  }

  /** Until stop(), which says how many were sent. */
  keepSending(frames: readonly Uint8Array[], perSecond: number, count = 0) {
    const at = monotonicMs()
    this.#attacks += 1
    const id = this.#attacks
    this.#say({ id, frames: frames.map(toHex), count, perSecond })
    const end = async (within: number): Promise<Onslaught> => {
      const report = await eventually(
        `the attack from ${this.host.name} to end`,
        () => this.#reports.get(id),
        () => this.#child.exitCode,
        { within },
      )
      return { at, sent: report.sent ?? 0, failed: report.failed ?? 0, ms: report.ms ?? 0 }
    }
    const stop = (): Promise<Onslaught> => {
      this.#say({ stop: id })
      return end(20_000)
    }
    return { at, stop, end }
  }
}
