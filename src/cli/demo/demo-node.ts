/** One node of the demo: a daemon with one virtual router, and the service that answers its clients. */
import { join } from 'node:path'
import { HoldfastProcess, minimal } from '../../lab/daemons/holdfast-process.ts'
import type { Host, Network } from '../../lab/network.ts'
import { startResponder } from '../../lab/watch/probe.ts'

export type NodePlan = {
  readonly host: Host
  readonly priority: number
  readonly vip: string
  readonly interval: number
}

function configuration({ interval, priority, vip }: NodePlan, runDirectory: string): object {
  const router = { name: 'demo', vrid: 51, interface: 'eth0', addresses: [vip], priority }
  return { ...minimal(runDirectory), virtualRouters: [{ ...router, advertisementInterval: `${interval}ms` }] }
}

export class DemoNode extends HoldfastProcess {
  readonly priority: number
  readonly #network: Network
  #killed = false

  constructor(network: Network, folder: string, plan: NodePlan) {
    const directory = join(folder, plan.host.name)
    super(network, plan.host, { directory, configuration: configuration(plan, directory) })
    startResponder(network, plan.host)
    this.#network = network
    this.priority = plan.priority
  }

  /** Returns why the daemon ended although the demo did not end it, otherwise `undefined`. */
  get startFailure(): string | undefined {
    const { exit } = this.process
    if (this.#killed || exit === undefined) return undefined
    const how = exit.signal ?? `exit status ${exit.code}`
    return `holdfast on ${this.host.name} ended (${how}): ${this.lastLines(20).join('\n').trim()}`
  }

  /** Kills everything on the node at the same moment and cuts its link, as a power failure does. */
  powerOff(): void {
    this.#killed = true
    this.#network.powerOff(this.host)
  }

  override killEngine(): number {
    this.#killed = true
    return super.killEngine()
  }
}
