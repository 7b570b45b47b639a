/**
 * Nodes that each run 255 virtual routers on one interface, VRID n with 10.88.0.n, and the holders of all addresses as
 * the kernels report them. Decides the order of the samples, so that no sample shows a false overlap. This file does
 * not know the allowed times.
 */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { HoldfastProcess, minimal } from '../../src/lab/daemons/holdfast-process.ts'
import type { Host, Lab } from '../../src/lab/lab.ts'
import { monotonicMs, sleep } from '../../src/lab/wait.ts'

export const COUNT = 255
const GROUP_OF = 15
export const VIPS: readonly string[] = Array.from({ length: COUNT }, (_, i) => `10.88.0.${i + 1}`)
const execute = promisify(execFile)

export class FleetNode extends HoldfastProcess {
  /** Configures 255 routers; `grouped` puts them into 17 sync groups of 15. */
  constructor(lab: Lab, host: Host, priority: number, grouped = false) {
    const directory = join(lab.directory, `fleet-${host.name}`)
    const peers = lab.routers.filter((other) => other !== host).map(({ address }) => address)
    const common = { interface: 'eth0', priority, peers }
    const virtualRouters = VIPS.map((vip, i) => ({ name: `r${i + 1}`, vrid: i + 1, addresses: [vip], ...common }))
    const names = virtualRouters.map(({ name }) => name)
    const groups = names.flatMap((_, i) =>
      i % GROUP_OF === 0 ? [{ name: `g${i / GROUP_OF}`, members: names.slice(i, i + GROUP_OF) }] : [],
    )
    const syncGroups = grouped ? groups : []
    super(lab, host, { directory, configuration: { ...minimal(directory), virtualRouters, syncGroups } })
  }

  /** Returns the number of routers in each state, such as "Active 255" or "Backup 254, Initialize 1". */
  async states(): Promise<string> {
    const counts = new Map<string, number>()
    for (const { state } of (await this.snapshot())?.routers ?? []) counts.set(state, (counts.get(state) ?? 0) + 1)
    return [...counts].map(([state, count]) => `${state} ${count}`).join(', ')
  }

  /** Returns the log records of level warn (40) and above, and the lines that are no records, one of each kind. */
  get complaints(): string[] {
    const bare = this.lastLines().filter((text) => !text.startsWith('{'))
    const records = this.records.filter(({ level }) => level >= 40)
    return [...new Set([...bare, ...records.map(({ msg }) => msg.replace(/^r\d+( \(g\d+\))?: /, 'r*: '))])]
  }
}

async function vipsOn(host: Host): Promise<ReadonlySet<string>> {
  const argv = ['-n', host.namespace, '-json', '-4', 'address', 'show', 'dev', 'eth0']
  const { stdout } = await execute('ip', argv, { maxBuffer: 1 << 24 })
  return new Set([...stdout.matchAll(/"local":"(10\.88\.0\.\d+)"/g)].map(([, vip = '']) => vip))
}

export type Sight = {
  readonly at: number
  readonly held: Readonly<Record<string, number>>
  readonly twice: readonly string[]
}

/**
 * Returns the number of addresses on each host, and the addresses on both hosts. The gaining host is asked first. An address that the
 * gaining host has, and that the losing host has later, was on both hosts in between, because no address goes back.
 */
export async function look(gaining: Host, losing: Host): Promise<Sight> {
  const at = monotonicMs()
  const gained = await vipsOn(gaining)
  const kept = await vipsOn(losing)
  return {
    at,
    held: { [gaining.name]: gained.size, [losing.name]: kept.size },
    twice: [...kept].filter((vip) => gained.has(vip)),
  }
}

/** Samples every 50 ms until the gaining host has all addresses and the losing host has none. Returns all samples. */
export async function watchMove(gaining: Host, losing: Host, within: number): Promise<Sight[]> {
  const sights: Sight[] = []
  const since = monotonicMs()
  for (;;) {
    const sight = await look(gaining, losing)
    sights.push(sight)
    if (sight.held[gaining.name] === COUNT && sight.held[losing.name] === 0) return sights
    if (monotonicMs() - since > within) {
      const seen = sights.slice(-3).map(({ held }) => JSON.stringify(held))
      throw new Error(
        `Expected all ${COUNT} on ${gaining.name} alone within ${within} ms, last samples: ${seen.join(' ')}`,
      )
    }
    await sleep(50)
  }
}
