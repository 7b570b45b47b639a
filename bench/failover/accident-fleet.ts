/**
 * Measures 255 virtual routers on one interface, all Active on r1: the time until another node answers a client at the
 * last of the 255 addresses. This file decides the routers' configuration, alike for both daemons, and when the group
 * is ready. The last router has the address of the other scenarios, so that one of the 255 routers is measured to the
 * millisecond.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Daemon, RouterPlan } from '../../src/lab/daemons/daemon.ts'
import { Holdfast } from '../../src/lab/daemons/holdfast.ts'
import { Keepalived } from '../../src/lab/daemons/keepalived.ts'
import { packageRoot } from '../../src/lab/installation.ts'
import { ip } from '../../src/lab/ip.ts'
import type { Lab } from '../../src/lab/lab.ts'
import { LoggedProcess } from '../../src/lab/logged-process.ts'
import { eventually, monotonicMs, sleep } from '../../src/lab/wait.ts'
import { PROBE_PORT, startResponder } from '../../src/lab/watch/probe.ts'
import {
  afterMove,
  type Cell,
  downMs,
  farewell,
  kindsOf,
  only,
  PRIORITIES,
  type Run,
  type Special,
  silence,
  type Theory,
} from './accident.ts'
import { inLab } from './accident-lab.ts'
import type { Turn } from './company.ts'
import { type Family, prepareFamily, startObservation, vipOf } from './observation.ts'

const COUNT = 255
const NETWORKS: Readonly<Record<Family, { prefix: string; route: string }>> = {
  4: { prefix: '10.88.0.', route: '10.88.0.0/24' },
  6: { prefix: 'fd78::', route: 'fd78::/64' },
}

const vipsOf = (family: Family): readonly string[] => [
  ...Array.from({ length: COUNT - 1 }, (_, i) => `${NETWORKS[family].prefix}${i + 1}`),
  vipOf(family),
]

function keepalivedFile({ host, intervalMs, priority }: RouterPlan, vips: readonly string[]): string {
  const head = ['global_defs {', `  router_id ${host.name}`, '  script_user root', '  enable_script_security', '}']
  const instances = vips.map((vip, i) =>
    [
      `vrrp_instance V${i + 1} {`,
      ...['  state BACKUP', '  interface eth0', `  virtual_router_id ${i + 1}`, `  priority ${priority}`],
      ...[`  advert_int ${intervalMs / 1000}`, '  version 3', '  virtual_ipaddress {', `    ${vip}`, '  }', '}'],
    ].join('\n'),
  )
  return `${[...head, ...instances].join('\n')}\n`
}

function start(lab: Lab, cell: Cell, position: number): Daemon {
  const { family, intervalMs } = cell
  const host = lab.router(position)
  const priority = PRIORITIES[position - 1] ?? 1
  const vips = vipsOf(family)
  const plan: RouterPlan = { host, intervalMs, priority, address: vipOf(family) }
  if (kindsOf(cell)[position === 1 ? 0 : 1] === 'keepalived') {
    const file = join(lab.directory, `fleet-${host.name}.conf`)
    writeFileSync(file, keepalivedFile(plan, vips))
    return new Keepalived(lab, plan, [], file)
  }
  const common = { interface: 'eth0', priority, advertisementInterval: `${intervalMs}ms` }
  const virtualRouters = vips.map((vip, i) => ({ name: `v${i + 1}`, vrid: i + 1, addresses: [vip], ...common }))
  return new Holdfast(lab, plan, {}, [], { virtualRouters })
}

/** A client that probes all 255 virtual addresses. */
class FleetClient {
  readonly #process: LoggedProcess
  readonly #moves: { readonly vip: number; readonly at: number; readonly name: string }[] = []
  #silences: readonly number[] = []

  constructor(lab: Lab, family: Family) {
    const program = join(packageRoot(), 'build', 'bench', 'failover', 'fleet-client.js')
    const argv = [process.execPath, program, `${PROBE_PORT}`, ...vipsOf(family)]
    this.#process = new LoggedProcess(lab, lab.client, argv)
    this.#process.onLine(({ text }) => this.#take(text))
  }

  #take(text: string): void {
    const value: unknown = text.startsWith('{') ? JSON.parse(text) : undefined
    if (typeof value !== 'object' || value === null) return
    if ('silences' in value && Array.isArray(value.silences)) this.#silences = value.silences.map(Number)
    if ('vip' in value && 'at' in value && 'name' in value)
      this.#moves.push({ vip: Number(value.vip), at: Number(value.at), name: String(value.name) })
  }

  /** Number of addresses for which each node answers the client, by node name. */
  get holders(): Readonly<Record<string, number>> {
    const names = new Map(this.#moves.map(({ vip, name }) => [vip, name]))
    const counts: Record<string, number> = {}
    for (const name of names.values()) counts[name] = (counts[name] ?? 0) + 1
    return counts
  }

  get lastMoveAt(): number {
    return this.#moves.at(-1)?.at ?? 0
  }

  /** Starts the measurement: times without an answer count from this call on. */
  begin(): void {
    this.#process.signal('SIGUSR1')
  }

  async end(since: number, from: string) {
    this.#process.signal('SIGTERM')
    await this.#process.exited
    const firsts = new Map<number, number>()
    for (const { vip, at, name } of this.#moves)
      if (at >= since && name !== from && !firsts.has(vip)) firsts.set(vip, at - since)
    const times = [...firsts.values()]
    return {
      moved: times.length,
      firstAnswer: Math.min(...times),
      lastAnswer: Math.max(...times),
      longestOutage: Math.max(...this.#silences),
    }
  }
}

const windowMs = (cell: Cell): number => afterMove(cell, 5_000)

async function happen(lab: Lab, cell: Cell, turn: Turn, strike: (daemon: Daemon) => number): Promise<Run> {
  const { family } = cell
  prepareFamily(lab, family)
  if (family === 6) await lab.addressesSettle()
  ip(lab.client, `route add ${NETWORKS[family].route} dev eth0`)
  for (const host of lab.routers) startResponder(lab, host)
  const daemons = [1, 2, 3].map((position) => start(lab, cell, position))
  const client = new FleetClient(lab, family)
  const observation = await startObservation(lab, { family, cachedNeighbour: true })
  try {
    const settled = () => client.holders.r1 === COUNT && monotonicMs() - client.lastMoveAt > 300 + downMs(cell)
    const within = 30_000 + 6 * downMs(cell)
    await eventually(`r1 to answer at ${COUNT} addresses`, settled, { sight: () => client.holders, within, every: 100 })
    await observation.answeredBy('r1')
    await turn.ready()
    // The repeated announcements of 255 routers belong to their start. The accident comes after them.
    await sleep(6_000 + Math.random() * cell.intervalMs)
    const [daemon] = daemons
    if (daemon === undefined) throw new Error('no daemon was started')
    client.begin()
    const at = strike(daemon)
    const measurement = await observation.measure(at, windowMs(cell))
    const figures = await client.end(at, 'r1')
    await turn.over()
    return { ...measurement, figures }
  } finally {
    await observation.close()
  }
}

type Blow = (lab: Lab) => (daemon: Daemon) => number
const fleet = (name: string, title: string, blow: Blow, of: (cell: Cell) => Theory): Special => ({
  name: `all255-${name}`,
  title: `${COUNT} routers on one interface: ${title}`,
  unsupported: (cell) =>
    only(
      ['holdfast', 'keepalived'],
      `vrrpd needs a macvlan for each router and node: ${3 * COUNT} are not made here`,
    )(cell) ??
    (cell.intervalMs < 100 ? 'more than 2 550 advertisements a second are more than this machine carries' : undefined),
  theory: (cell) => ({ ...of(cell), of: 'lastAnswer' }),
  windowMs,
  measure: (cell, turn) => inLab((lab) => happen(lab, cell, turn, blow(lab))),
  company: { kind: 'fleets', most: 1 },
})

export const FLEET_ACCIDENTS: readonly Special[] = [
  fleet('cut', 'silent death of the node that has all', (lab) => () => lab.cut(lab.router(1)), silence),
  fleet('sigterm', 'SIGTERM of the node that has all', () => (daemon) => daemon.terminate(), farewell),
]
