/**
 * A node of the soak: a ChaosNode with flapping health checks, notifications, a scraped API, and the services of the
 * checks. Decides its configuration. The flapping checks never change the order of the nodes, and `mover` always does.
 * This file does not know which event happens when.
 */
import type { ChildProcess } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { reloadCommand } from '../../src/cli/reload.ts'
import { ask } from '../../src/files/control-client.ts'
import { packageRoot } from '../../src/lab/installation.ts'
import { type Host, LAB_VIP, type Lab } from '../../src/lab/lab.ts'
import { ChaosNode, VIP6 } from '../chaos/chaos-node.ts'
import { LIFTED, soakPriorityOf } from './soak-bounds.ts'

const API_PORT = 9655
export const apiOf = (host: Host): string => `${host.address}:${API_PORT}`

/** Weight that puts the node below every other node, whatever flaps there. */
const MOVES = -150
/** Times that are long enough for a busy machine. */
const often = { interval: '500ms', timeout: '3s' }

/**
 * Returns the configuration. `steady` is the value that a harmless reload changes: the interval of a check that is
 * always up.
 */
export function soakConfiguration(host: Host, interval: number, steady: () => string) {
  return (priority: number, directory: string) => {
    const file = (name: string) => join(directory, name)
    const healthchecks = [
      { name: 'steady', http: 'http://127.0.0.1:8080/', interval: steady(), timeout: '3s' },
      { name: 'flap-http', http: 'http://127.0.0.1:8081/', ...often },
      { name: 'flap-tcp', tcp: '127.0.0.1:8082', ...often },
      { name: 'flap-file', file: file('flap-file'), ...often },
      { name: 'flap-program', exec: ['/usr/bin/test', '-e', file('flap-program')], ...often },
      { name: 'flap-priority', file: file('flap-priority'), interval: '200ms' },
      { name: 'flap-both', all: ['steady', 'flap-http'] },
      { name: 'mover', file: file('mover'), interval: '200ms' },
    ]
    // 28 in all, less than the distance between any two nodes: 200, 150, 100, and 240 for the raised one.
    const track = [
      { healthcheck: 'steady', weight: -1 },
      { healthcheck: 'flap-http', weight: -1 },
      { healthcheck: 'flap-tcp', weight: -2 },
      { healthcheck: 'flap-file', weight: -2 },
      { healthcheck: 'flap-program', weight: -1 },
      { healthcheck: 'flap-priority', weight: -20 },
      { healthcheck: 'flap-both', weight: -1 },
      { healthcheck: 'mover', weight: MOVES },
    ]
    const common = {
      ...{ vrid: 51, interface: 'auto', priority, advertisementInterval: `${interval}ms`, track },
      notify: { change: ['/bin/true'] },
      // Less than 40 ms after its start an engine still loads code, and at 10 ms every pause of 30 ms is an absence.
    }
    return {
      ...{ version: 1, runDirectory: directory, api: { listen: apiOf(host), public: true } },
      // Small enough to be rotated within an hour.
      journal: { maxSize: '256KiB' },
      healthchecks,
      virtualRouters: [
        { name: 'v4', addresses: [`${LAB_VIP}/24`], ...common },
        { name: 'v6', addresses: [`${VIP6}/64`], ...common },
      ],
    }
  }
}

/**
 * Memory in the heap of a thread after a collection of garbage, as V8 reports it, in bytes. Thread 0 is the engine's.
 */
export type HeapLook = { readonly look: string; readonly pid: number; readonly threadId: number; readonly used: number }

export class SoakNode {
  readonly chaos: ChaosNode
  readonly #services: ChildProcess
  readonly #look: string
  #steady = '1s'
  #lifted = false

  constructor(lab: Lab, host: Host, interval: number) {
    const support = (name: string) => join(packageRoot(), 'test', 'support', name)
    const look = join(lab.directory, `heap-${host.name}`)
    this.chaos = new ChaosNode(lab, host, {
      ...{ daemon: 'holdfast', interval, priority: soakPriorityOf(host.name), realtime: true },
      configuration: soakConfiguration(host, interval, () => this.#steady),
      environment: { NODE_OPTIONS: `--import=${support('heap-look.mjs')}`, HEAP_LOOK: look },
    })
    this.#look = look
    this.#services = lab.spawn(host, [process.execPath, support('flapping-services.mjs'), this.chaos.directory], {
      stdio: ['pipe', 'ignore', 'inherit'],
    })
  }

  get name(): string {
    return this.chaos.host.name
  }

  get #socket(): string {
    return join(this.chaos.directory, 'holdfast.sock')
  }

  flap(on: boolean): void {
    this.#services.stdin?.write(on ? 'go on\n' : 'pause\n')
  }

  /** Sets the check `mover`: if it is down, the node is below every other node. */
  setMover(well: boolean): void {
    const file = join(this.chaos.directory, 'mover')
    if (well) writeFileSync(file, '')
    else rmSync(file, { force: true })
  }

  /** Yields both routers. Returns false if the node refused, or did not answer. */
  async yieldFor(forMs: number): Promise<boolean> {
    const answers = await Promise.all(
      ['v4', 'v6'].map((router) =>
        ask(this.#socket, { path: '/v1/yield', order: { router, forMs }, within: 3_000 }).catch(() => undefined),
      ),
    )
    return answers.every((answer) => answer?.status === 200)
  }

  /**
   * Reloads by SIGHUP or by the command. Returns false if the command reports that the configuration was not put in
   * force.
   */
  async reload(way: 'signal' | 'command'): Promise<boolean> {
    const priority = this.#lifted ? LIFTED : soakPriorityOf(this.name)
    if (way === 'signal') return this.chaos.reload(priority)
    this.chaos.configure(priority)
    const { exitCode } = await reloadCommand(this.#socket, { json: true })
    return exitCode === 0
  }

  /** Sets the changes of the next reload. */
  change(what: { readonly lifted?: boolean; readonly otherValue?: boolean }): void {
    if (what.lifted !== undefined) this.#lifted = what.lifted
    if (what.otherValue === true) this.#steady = this.#steady === '1s' ? '1100ms' : '1s'
  }

  /** Requests the sizes of the heaps; answers come within some seconds (`looks`). */
  lookAtHeap(name: string): void {
    writeFileSync(this.#look, name)
  }

  get looks(): HeapLook[] {
    try {
      const lines = readFileSync(`${this.#look}.answers`, 'utf8').trim().split('\n')
      return lines.map((line): HeapLook => JSON.parse(line))
    } catch {
      return []
    }
  }
}
