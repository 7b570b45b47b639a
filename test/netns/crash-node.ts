/**
 * One node of the crash matrix: `bin/holdfast run` with a virtual router for each column. Engine and guardian can be
 * stopped or killed separately. Decides the configuration and the way in which a fault blocks the engine. This file
 * does not know the expected outcome of a fault.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Snapshot } from '../../src/daemon/telemetry/snapshot.ts'
import { HoldfastProcess, minimal } from '../../src/lab/daemons/holdfast-process.ts'
import { packageRoot } from '../../src/lab/installation.ts'
import type { Host, Lab } from '../../src/lab/lab.ts'
import type { LoggedProcess } from '../../src/lab/logged-process.ts'
import { monotonicMs } from '../../src/lab/wait.ts'

/** A virtual router with its own interval. All columns are routers of one engine, so a fault hits all columns. */
export type Column = { readonly name: string; readonly vip: string; readonly vrid: number; readonly interval: number }

export const COLUMNS: readonly Column[] = [
  { name: '10 ms', vip: '10.77.0.101', vrid: 51, interval: 10 },
  { name: '100 ms', vip: '10.77.0.102', vrid: 52, interval: 100 },
  { name: '1 s', vip: '10.77.0.103', vrid: 53, interval: 1_000 },
  { name: 'IPv6, 100 ms', vip: 'fd00:77::102', vrid: 52, interval: 100 },
]

export type NodeOptions = {
  readonly columns: readonly Column[]
  readonly priority: number
  /** Further configuration keys of every virtual router. */
  readonly extra?: Readonly<Record<string, unknown>>
  /** Further options of `holdfast run`. */
  readonly options?: readonly string[]
}

export type Victim = 'engine' | 'guardian'

export class CrashNode {
  readonly host: Host
  readonly #lab: Lab
  readonly #options: NodeOptions
  readonly #directory: string
  #daemon: HoldfastProcess | undefined

  constructor(lab: Lab, host: Host, options: NodeOptions) {
    this.#lab = lab
    this.host = host
    this.#options = options
    this.#directory = join(lab.directory, `crash-${host.name}`)
  }

  /** Starts the daemon; `more` are options of Node itself. */
  start(more = ''): void {
    const { columns, priority, extra = {}, options = [] } = this.#options
    const common = { interface: 'eth0', priority }
    const virtualRouters = columns.map(({ vip, vrid, interval }) => ({
      ...{ name: `${vip.includes(':') ? 'v6' : 'v4'}-${interval}`, vrid, addresses: [vip], ...common },
      ...{ advertisementInterval: `${interval}ms`, ...extra },
    }))
    const directory = this.#directory
    const preload = join(packageRoot(), 'test', 'support', 'misbehaving-engine.mjs')
    this.#daemon = new HoldfastProcess(this.#lab, this.host, {
      ...{ directory, configuration: { ...minimal(directory), virtualRouters }, flags: options },
      environment: { NODE_OPTIONS: `--import=${preload} ${more}`.trim(), MISBEHAVIOUR: this.#orders },
    })
  }

  get #orders(): string {
    return join(this.#directory, 'orders')
  }

  get process(): LoggedProcess {
    if (this.#daemon === undefined) throw new Error(`Cannot use the daemon on ${this.host.name}: it was not started`)
    return this.#daemon.process
  }

  get ended(): boolean {
    return this.#daemon === undefined || this.process.exit !== undefined
  }

  #pid(victim: Victim): number {
    const [engine] = this.process.children
    const pid = victim === 'guardian' ? this.process.pid : engine
    if (pid === undefined || this.ended) throw new Error(`Cannot find the ${victim} on ${this.host.name}: it has ended`)
    return pid
  }

  /** Sends the signal. Returns a function that sends another signal to the same process ids. */
  signal(victims: readonly Victim[], signal: NodeJS.Signals): (next: NodeJS.Signals) => void {
    const pids = victims.map((victim) => this.#pid(victim))
    const send = (what: NodeJS.Signals) => {
      for (const pid of pids) {
        try {
          process.kill(pid, what)
        } catch {
          // The process has ended in the meantime.
        }
      }
    }
    send(signal)
    return send
  }

  /** Kills all processes of the node together, as when a container is killed, so no process can react to the death of another. */
  killGroup(): void {
    this.process.killFamily()
  }

  /** Orders a misbehaviour of the engine: `throw`, `eat` or `block MS`. Resolves with the time of its beginning. */
  async misbehave(order: string): Promise<number> {
    writeFileSync(this.#orders, order)
    const since = this.process.lines.length
    this.signal(['engine'], 'SIGWINCH')
    const sent = monotonicMs()
    while (monotonicMs() - sent < 2_000) {
      const line = this.process.lines.slice(since).find(({ text }) => text.startsWith('{"deed"'))
      if (line !== undefined) {
        const { began }: { began: number } = JSON.parse(line.text)
        return began
      }
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
    throw new Error(`Cannot make the engine on ${this.host.name} ${order}: no report within 2 s`)
  }

  async snapshot(): Promise<Snapshot | undefined> {
    return this.#daemon?.snapshot()
  }
}
