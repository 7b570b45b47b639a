/**
 * Represents the running Compose lab: its Compose project and the reports of its client. This file decides that the lab
 * is at rest when one node, the expected one, has had both virtual addresses for AT_REST milliseconds.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { eventually, monotonicMs } from '../../src/lab/wait.ts'
import { ClientView, type Line, lineOf } from './client-view.ts'
import type { Project } from './project.ts'

export const ADDRESSES = ['198.51.100.100', 'fd42:51::100'] as const
export const ROUTERS = ['r1', 'r2', 'r3'] as const

/**
 * Milliseconds for which a node must have both addresses. Longer than two scrapes of Prometheus, and longer than the 2
 * s after which a late IPv6 announcement may still move a client.
 */
const AT_REST = 2_500
/** Milliseconds until the lab must be at rest. Containers start slowly on a busy machine. */
const WITHIN = 60_000

export class Lab {
  readonly project: Project
  readonly client = new ClientView()
  readonly #logs: ChildProcess
  #resting: { readonly holder: string | undefined; readonly since: number } = { holder: undefined, since: 0 }

  static async attach(project: Project): Promise<Lab> {
    return new Lab(project, await project.container('client'))
  }

  private constructor(project: Project, container: string) {
    this.project = project
    this.#logs = spawn('docker', ['logs', '--follow', container], {
      stdio: ['ignore', 'pipe', 'ignore'],
      detached: true,
    })
    if (this.#logs.stdout !== null)
      createInterface({ input: this.#logs.stdout }).on('line', (text) => {
        const line = lineOf(text)
        if (line !== undefined) this.#take(line)
      })
    process.on('exit', () => this.#logs.kill('SIGKILL'))
  }

  #take(line: Line): void {
    this.client.take(line)
    if (this.holder === this.#resting.holder) return
    this.#resting = { holder: this.holder, since: monotonicMs() }
  }

  /** Name of the node that answers the client, for each virtual address. */
  get sight(): Readonly<Record<string, string>> {
    const of = (address: string) => `${this.client.holder(address)}, ${this.client.claimants(address)} say so`
    return Object.fromEntries(ADDRESSES.map((address) => [address, of(address)]))
  }

  /** Name of the only node that has both virtual addresses; `undefined` if no single node has both. */
  get holder(): string | undefined {
    const [one, ...others] = ADDRESSES.map((address) => this.client.holder(address))
    const alone = ADDRESSES.every((address) => this.client.claimants(address) === 1)
    return alone && others.every((other) => other === one) ? one : undefined
  }

  /**
   * Resolves with the name of the node that has had both addresses alone for AT_REST ms: the node `at`, or any node
   * other than `not`.
   */
  async rests(who: { readonly at?: string; readonly not?: string }): Promise<string> {
    const rests = () => {
      const { holder, since } = this.#resting
      const wanted = holder !== undefined && (who.at === undefined || holder === who.at) && holder !== who.not
      return wanted && monotonicMs() - since >= AT_REST && holder
    }
    const expected = who.at === undefined ? `another node than ${who.not}` : who.at
    return eventually(`${expected} to have both addresses alone`, rests, {
      sight: () => this.sight,
      within: WITHIN,
      every: 20,
    })
  }

  /** Resolves when two nodes claim each virtual address. */
  async isParted(): Promise<void> {
    const parted = () => ADDRESSES.every((address) => this.client.claimants(address) > 1)
    await eventually('two nodes to have both addresses', parted, { sight: () => this.sight, within: WITHIN, every: 20 })
  }

  close(): void {
    this.#logs.kill('SIGKILL')
  }
}
