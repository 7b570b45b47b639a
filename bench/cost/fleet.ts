/**
 * Runs a group of equal nodes with many virtual routers on one interface, all of which are Active on the first node.
 * This file decides that both daemons have the same configuration, with their own defaults, and when the group is in
 * the wanted state. This file does not know which cost is counted.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Holdfast } from '../../src/lab/daemons/holdfast.ts'
import { Keepalived } from '../../src/lab/daemons/keepalived.ts'
import type { Host, Lab } from '../../src/lab/lab.ts'
import { sleep } from '../../src/lab/wait.ts'
import type { Cell } from './result.ts'
import { type Sight, sightOfLog } from './sight.ts'

const PRIORITIES = [200, 150, 100, 90, 80]
const vipOf = (vrid: number): string => `10.88.0.${vrid}`

const vrids = ({ routers }: Cell): readonly number[] => Array.from({ length: routers }, (_, i) => i + 1)

function keepalivedFile(cell: Cell, host: Host, priority: number, peers: readonly string[]): string {
  const unicast = [`  unicast_src_ip ${host.address}`, '  unicast_peer {', ...peers.map((peer) => `    ${peer}`), '  }']
  const instances = vrids(cell).flatMap((vrid) => [
    `vrrp_instance v${vrid} {`,
    ...['  state BACKUP', '  interface eth0', `  virtual_router_id ${vrid}`, `  priority ${priority}`],
    ...[`  advert_int ${cell.intervalMs / 1000}`, '  version 3'],
    ...(cell.transport === 'unicast' ? unicast : []),
    ...['  virtual_ipaddress {', `    ${vipOf(vrid)}`, '  }', '}'],
  ])
  return `${['global_defs {', `  router_id ${host.name}`, '}', ...instances].join('\n')}\n`
}

function holdfastTop(cell: Cell, host: Host, priority: number, peers: readonly string[]) {
  const unicast = { transport: { unicast: { source: host.address, peers } } }
  const virtualRouters = vrids(cell).map((vrid) => ({
    ...{ name: `v${vrid}`, vrid, interface: 'eth0', addresses: [vipOf(vrid)], priority },
    ...{ advertisementInterval: `${cell.intervalMs}ms`, ...(cell.transport === 'unicast' ? unicast : {}) },
  }))
  // `api.listen` opens the port for /metrics, as the default configuration does.
  return { api: { listen: '127.0.0.1:9655' }, virtualRouters }
}

export class FleetNode {
  readonly pid: number
  readonly role: 'Active' | 'Backup'
  readonly #daemon: Holdfast | Keepalived

  /** Creates the node at position 1, 2, … of the group. The node at position 1 should become Active. */
  constructor(lab: Lab, cell: Cell, position: number) {
    const host = lab.router(position)
    const priority = PRIORITIES[position - 1] ?? 1
    const peers = lab.routers.filter((other) => other !== host).map(({ address }) => address)
    const plan = { host, priority, intervalMs: cell.intervalMs, address: vipOf(1) }
    this.role = position === 1 ? 'Active' : 'Backup'
    if (cell.daemon === 'holdfast') {
      const daemon = new Holdfast(lab, plan, {}, [], holdfastTop(cell, host, priority, peers))
      this.#daemon = daemon
      this.pid = daemon.process.pid
    } else {
      const file = join(lab.directory, `cost-${host.name}.conf`)
      writeFileSync(file, keepalivedFile(cell, host, priority, peers))
      const daemon = new Keepalived(lab, plan, [], file)
      this.#daemon = daemon
      this.pid = daemon.pid
    }
  }

  /** Returns the states of the routers that the daemon reports; empty if the daemon reports no state. */
  async sight(): Promise<Sight> {
    if (this.#daemon.kind === 'keepalived') return sightOfLog(this.#daemon.lines.map(({ text }) => text))
    const routers = (await this.#daemon.snapshot())?.routers ?? []
    return new Map(
      routers.map(({ counters, name, reason, state }) => {
        const changes = counters.transitions.reduce((sum, { count }) => sum + count, 0)
        return [name, { state, changes, why: reason }]
      }),
    )
  }

  get ended(): boolean {
    return this.#daemon.kind === 'keepalived' ? !this.#daemon.running : this.#daemon.process.exit !== undefined
  }

  get lastWords(): readonly string[] {
    return this.#daemon.lines.slice(-3).map(({ text }) => text)
  }

  async end(): Promise<void> {
    if (!this.ended) this.#daemon.terminate()
    // A daemon that has too much work may not end within 10 s. If a daemon does not end, the end of the lab kills the
    // daemon.
    await Promise.race([this.#daemon.exited, sleep(10_000)])
  }
}
