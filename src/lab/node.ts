/**
 * One node of the demo: a real `bin/holdfast run` in its namespace, asked for its state as `holdfast status` does.
 * Decides its configuration file; refuses to know the others.
 */
import type { ChildProcess } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from './installation.ts'
import type { Host, Network } from './network.ts'
import { snapshotOf } from './status.ts'
import { startResponder } from './watch/probe.ts'

export type NodePlan = {
  readonly host: Host
  readonly priority: number
  readonly vip: string
  readonly interval: number
}

function configuration({ priority, vip, interval }: NodePlan, runDirectory: string): string {
  return [
    'version: 1',
    `runDirectory: ${runDirectory}`,
    'api: { listen: false }',
    'virtualRouters:',
    `  - { name: demo, vrid: 51, interface: eth0, addresses: [${vip}], priority: ${priority}, advertisementInterval: ${interval}ms }`,
    '',
  ].join('\n')
}

export class DemoNode {
  readonly host: Host
  readonly priority: number
  readonly #network: Network
  readonly #socket: string
  readonly #daemon: ChildProcess
  #said = ''
  #killed = false

  constructor(network: Network, directory: string, plan: NodePlan) {
    this.#network = network
    this.host = plan.host
    this.priority = plan.priority
    const runDirectory = join(directory, plan.host.name)
    mkdirSync(runDirectory)
    const file = join(runDirectory, 'holdfast.yaml')
    writeFileSync(file, configuration(plan, runDirectory))
    this.#socket = join(runDirectory, 'holdfast.sock')
    startResponder(network, plan.host)
    this.#daemon = network.spawn(plan.host, [join(packageRoot(), 'bin', 'holdfast'), 'run', '-c', file])
    for (const stream of [this.#daemon.stdout, this.#daemon.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.#said = (this.#said + text).slice(-4_000)
      })
    }
    this.#daemon.on('error', (error) => {
      this.#said += error.message
    })
  }

  /** Why it does not run although nobody killed it, in its own words. */
  get startFailure(): string | undefined {
    const { exitCode, signalCode } = this.#daemon
    if (this.#killed || (exitCode === null && signalCode === null)) return undefined
    return `holdfast on ${this.host.name} ended (${signalCode ?? `exit status ${exitCode}`}): ${this.#said.trim()}`
  }

  /** By its own account; undefined when it does not answer. */
  async state(): Promise<string | undefined> {
    return (await snapshotOf(this.#socket))?.routers[0]?.state
  }

  /** The machine dies: what runs on it ends without a word, its cable goes dark. */
  powerOff(): void {
    this.#killed = true
    this.#network.powerOff(this.host)
  }

  /** SIGKILL to the engine alone, as a crash would: its guardian lives. Returns the process id. */
  killEngine(): number {
    const guardian = this.#daemon.pid ?? 0
    const children = readFileSync(`/proc/${guardian}/task/${guardian}/children`, 'utf8').trim().split(' ')
    const engine = Number(children[0])
    if (!(engine > 0)) throw new Error(`Cannot kill the engine on ${this.host.name}: its guardian has no child`)
    this.#killed = true
    process.kill(engine, 'SIGKILL')
    return engine
  }
}
