/**
 * The LAN of the crash matrix: nodes, a witness that asks every millisecond, a capture of every advertisement, and each
 * kernel's notifications about its addresses, all on one clock. Decides when the LAN is ready for a fault. This file
 * does not know the faults and their bounds.
 */
import { macOf } from '../../src/lab/ip.ts'
import { createLab, type Lab } from '../../src/lab/lab.ts'
import { LoggedProcess } from '../../src/lab/logged-process.ts'
import { eventually, monotonicMs } from '../../src/lab/wait.ts'
import { Capture } from '../../src/lab/watch/capture.ts'
import { startWitness, type Witness, type WitnessRecord } from '../../src/lab/watch/witness.ts'
import { PRIORITIES } from './crash-judge.ts'
import { type Column, CrashNode } from './crash-node.ts'

/** A captured advertisement, with its time in ms and its sender. */
export type Spoken = {
  readonly at: number
  readonly node: string
  readonly vrid: number
  readonly priority: number
  readonly v6: boolean
}
/** A notification of a node's kernel: the kernel added, changed or removed an address of eth0. */
export type AddressNews = { readonly at: number; readonly node: string; readonly gone: boolean; readonly text: string }

export type CrashLanOptions = {
  readonly nodes: number
  readonly columns: readonly Column[]
  readonly extra?: Readonly<Record<string, unknown>>
  readonly options?: readonly string[]
}

/**
 * Returns the difference in ms between CLOCK_MONOTONIC and CLOCK_REALTIME, which captures and ip(8) use. The clocks are read when the
 * millisecond changes.
 */
function realtimeOffset(): number {
  const before = Date.now()
  let now = before
  while (now === before) now = Date.now()
  return monotonicMs() - now
}

export class CrashLan {
  readonly lab: Lab
  readonly columns: readonly Column[]
  readonly nodes: readonly CrashNode[]
  readonly #witness: Witness
  readonly #monitors: readonly LoggedProcess[]
  #capture: Capture | undefined

  constructor({ nodes, columns, ...rest }: CrashLanOptions) {
    this.columns = columns
    this.lab = createLab({ routers: nodes, ipv6: true })
    this.#witness = startWitness(this.lab, {
      addresses: columns.map(({ vip }) => vip),
      observer: this.lab.host('observer'),
      client: this.lab.client,
    })
    this.#monitors = this.lab.routers.map(
      (host) =>
        new LoggedProcess(this.lab, host, ['ip', '-ts', '-o', 'monitor', 'address', 'dev', 'eth0'], { TZ: 'UTC' }),
    )
    this.nodes = this.lab.routers.map(
      (host, i) => new CrashNode(this.lab, host, { columns, priority: PRIORITIES[i] ?? 1, ...rest }),
    )
  }

  async listen(): Promise<void> {
    this.#capture = await Capture.start(this.lab, 'crash', 'ip proto 112 or ip6 proto 112')
  }

  node(position: number): CrashNode {
    const node = this.nodes[position - 1]
    if (node === undefined) throw new Error(`Cannot find node ${position}: have ${this.nodes.length}`)
    return node
  }

  look(): readonly WitnessRecord[] {
    return this.#witness.look()
  }

  /** Resolves when r1 alone has held every address for a while and every node has its state. */
  async settled(within = 15_000): Promise<void> {
    // A period that is longer than a third of the shortest lifetime. By its end, every address has been renewed at the same time as the
    // others.
    const steady = 800
    const last = () => this.look().map(({ address, holders }) => ({ address, ...holders.at(-1) }))
    const sure = async () => {
      if (!last().every((one) => one.holders?.join() === 'r1' && monotonicMs() - (one.from ?? 0) >= steady))
        return false
      const snapshots = await Promise.all(this.nodes.map((node) => node.snapshot()))
      return snapshots.every((snapshot, i) =>
        snapshot?.routers.every(({ state }) => state === (i === 0 ? 'Active' : 'Backup')),
      )
    }
    const sight = async () => ({
      holders: last().map(({ address, holders }) => `${address}: ${holders?.join() ?? 'never anybody'}`),
      states: await Promise.all(
        this.nodes.map(
          async (node) => (await node.snapshot())?.routers.map(({ state }) => state).join() ?? 'no daemon',
        ),
      ),
      said: this.nodes.flatMap((node) => (node.ended ? [] : node.process.lines.slice(-3).map(({ text }) => text))),
    })
    await eventually('r1 alone to answer for every address', sure, { sight, within, every: 50 })
  }

  /** Returns the nodes whose kernel has the address now. */
  holders(vip: string): string[] {
    return this.lab.holders(vip)
  }

  /** Returns the notifications of all nodes' kernels about their addresses so far. */
  get news(): AddressNews[] {
    const offset = realtimeOffset()
    return this.#monitors.flatMap((monitor, i) => {
      const node = this.lab.routers[i]?.name ?? ''
      return monitor.lines.flatMap(({ text }) => {
        const [, stamp, rest = ''] = /^\[([^\]]+)\]\s*(.*)$/.exec(text) ?? []
        if (stamp === undefined) return []
        return [
          { at: Date.parse(`${stamp.slice(0, 23)}Z`) + offset, node, gone: rest.startsWith('Deleted'), text: rest },
        ]
      })
    })
  }

  /** Ends the observation. Returns every captured advertisement with its sender. */
  async stop(): Promise<readonly Spoken[]> {
    const offset = realtimeOffset()
    const names = new Map(this.lab.routers.map((host) => [macOf(host), host.name]))
    const frames = (await this.#capture?.stop()) ?? []
    await this.#witness.stop()
    return frames.map(({ at, mac, vrid, priority, source }) => ({
      at: Number(at) * 1_000 + offset,
      node: names.get(mac) ?? mac,
      vrid: Number(vrid),
      priority: Number(priority),
      v6: source.includes(':'),
    }))
  }
}
