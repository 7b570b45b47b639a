/**
 * Runs the nodes of one virtual router, with a client and an observer. All nodes read a keepalived file, with
 * keepalived or with holdfast. This file decides the content of the file (OpenShift's, with two checks that a test can
 * fail), and how each holdfast gets a /run folder of its own. A node counts as holder if its kernel answers for the
 * virtual address. This file does not know what happens to the nodes.
 */

import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { RouterPlan } from '../../src/lab/daemons/daemon.ts'
import { Holdfast } from '../../src/lab/daemons/holdfast.ts'
import { Keepalived } from '../../src/lab/daemons/keepalived.ts'
import { ip, macOf } from '../../src/lab/ip.ts'
import { createLab, type Host, LAB_VIP, type Lab } from '../../src/lab/lab.ts'
import { eventually, monotonicMs } from '../../src/lab/wait.ts'
import { ArpObserver } from '../../src/lab/watch/arp-observer.ts'
import { type Change, longestOf, spansIn } from '../../src/lab/watch/history.ts'
import { Prober, startResponder } from '../../src/lab/watch/probe.ts'
import type { Family } from '../../src/wire/address.ts'

export type FileKind = 'holdfast' | 'keepalived'

export type Row = {
  readonly family: Family
  readonly version: 2 | 3
  readonly transport: 'unicast' | 'multicast'
  readonly intervalMs: number
}

/** Values that a node's keepalived file has in addition to those of the row. */
export type NodeFile = {
  readonly priority: number
  /**
   * Positions of the nodes in the file's list of unicast peers, with or without the node itself. By default, all
   * members of the group.
   */
  readonly peers?: readonly number[]
  readonly checks?: boolean
}

export const BASE = { priority: 40, weight: 20 } as const
export const BOOTSTRAP = 70
const VIPS: Readonly<Record<Family, string>> = { ipv4: LAB_VIP, ipv6: 'fd77::100' }

// Among nodes with equal priority the higher address wins, so the last node becomes the first holder.
const lastPart = (host: Host) => host.address.split('.').at(-1) ?? ''

function addIpv6(host: Host): void {
  const own = [`fe80::${lastPart(host)}`, `fd77::${lastPart(host)}`].map(
    (one) => `address add ${one}/64 dev eth0 nodad`,
  )
  ip(host, 'address flush dev eth0 scope link', ...own)
}

type Daemon = Holdfast | Keepalived
type Node = { readonly host: Host; daemon: Daemon | undefined; readonly everyDaemon: Daemon[]; file: NodeFile }

/** A period in which the kernel may still have the addresses of a killed daemon. Times in ms. */
type Death = { readonly name: string; readonly from: number; to: number }

export class FileGroup {
  readonly lab: Lab
  readonly row: Row
  readonly vip: string
  readonly prober: Prober
  readonly #nodes: readonly Node[]
  readonly #members: readonly number[]
  readonly #observer: ArpObserver
  readonly #names: ReadonlyMap<string, string>
  readonly #deaths: Death[] = []

  /**
   * Creates a group of `members` nodes, each of which is in the peer list of all nodes. The `others` are further nodes:
   * they list the members, and no node lists them.
   */
  constructor(row: Row, members: number, others = 0) {
    this.row = row
    this.vip = VIPS[row.family]
    this.lab = createLab({ routers: members + others })
    this.#members = Array.from({ length: members }, (_, i) => i + 1)
    const { lab, vip } = this
    for (const host of row.family === 'ipv6' ? lab.hosts.values() : []) addIpv6(host)
    this.#nodes = lab.routers.map((host) => ({
      host,
      daemon: undefined,
      everyDaemon: [],
      file: { priority: BASE.priority },
    }))
    for (const { host } of this.#nodes) {
      startResponder(lab, host)
      mkdirSync(this.#folder(host))
      for (const check of ['serves', 'lives'] as const) this.setCheck(host.name, check, true)
    }
    this.#names = new Map(lab.routers.map((host) => [macOf(host), host.name]))
    this.#observer = new ArpObserver(lab, lab.host('observer'), vip)
    this.prober = new Prober(lab, lab.client, vip)
  }

  #folder(host: Host): string {
    return join(this.lab.directory, `node-${host.name}`)
  }

  #at(position: number): Node {
    const node = this.#nodes[position - 1]
    if (node === undefined) throw new Error(`Cannot find node ${position}: have ${this.#nodes.length}`)
    return node
  }

  positionOf(name: string): number {
    return this.#nodes.findIndex(({ host }) => host.name === name) + 1
  }

  nameOf(position: number): string {
    return this.#at(position).host.name
  }

  daemon(position: number): Holdfast | Keepalived {
    const { daemon, host } = this.#at(position)
    if (daemon === undefined) throw new Error(`Cannot use the daemon of ${host.name}: it was not started`)
    return daemon
  }

  /**
   * Makes a check of the node pass or fail. The check `serves` has a weight. A failed check `lives` puts the instance
   * into FAULT.
   */
  setCheck(name: string, check: 'serves' | 'lives', passes: boolean): void {
    const path = join(this.#folder(this.lab.host(name)), check)
    if (passes) writeFileSync(path, '')
    else rmSync(path, { force: true })
  }

  #source(host: Host): string {
    return this.row.family === 'ipv4' ? host.address : `fd77::${lastPart(host)}`
  }

  #text({ host }: Node, { priority, peers = this.#members, checks = true }: NodeFile): string {
    const { family, version, transport, intervalMs } = this.row
    const folder = this.#folder(host)
    const others = peers.map((position) => this.#at(position).host).filter((other) => other !== host)
    const byDefault = version === (family === 'ipv4' ? 2 : 3)
    const length = family === 'ipv4' ? '/32 label vip' : '/128'
    const script = (name: string, file: string, rest: readonly string[]) => [
      `vrrp_script ${name} {`,
      `  script "/usr/bin/test -e ${join(folder, file)}"`,
      ...rest,
      '}',
    ]
    // A busy machine starts a check program late. keepalived's default for the timeout is the interval.
    const pace = ['  interval 1', '  timeout 3', '  rise 2', '  fall 2']
    return [
      'global_defs {',
      '  enable_script_security',
      '  script_user root',
      '  max_auto_priority -1',
      '  vrrp_garp_master_refresh 60',
      ...(byDefault ? [] : [`  vrrp_version ${version}`]),
      '}',
      ...(checks ? script('chk_serves', 'serves', [...pace, `  weight ${BASE.weight}`]) : []),
      ...(checks ? script('chk_lives', 'lives', pace) : []),
      'vrrp_instance hf_API_0 {',
      '  state BACKUP',
      '  interface eth0',
      '  virtual_router_id 51',
      `  priority ${priority}`,
      `  advert_int ${intervalMs / 1_000}`,
      ...(transport === 'multicast'
        ? []
        : [
            `  unicast_src_ip ${this.#source(host)}`,
            '  unicast_peer {',
            ...others.map((other) => `    ${this.#source(other)}`),
            '  }',
          ]),
      ...(version === 2 ? ['  authentication {', '    auth_type PASS', '    auth_pass hf_api_v', '  }'] : []),
      '  virtual_ipaddress {',
      `    ${this.vip}${length}`,
      '  }',
      ...(checks ? ['  track_script {', '    chk_serves', '    chk_lives', '  }'] : []),
      '}',
      '',
    ].join('\n')
  }

  /** Starts the daemon of the node at this position. Resolves when the daemon's state machine runs. */
  async start(position: number, kind: FileKind, file: NodeFile = { priority: BASE.priority }): Promise<void> {
    const node = this.#at(position)
    const { host } = node
    node.file = file
    const plan: RouterPlan = { host, priority: file.priority, intervalMs: this.row.intervalMs, address: this.vip }
    const path = this.#write(node)
    node.daemon = kind === 'holdfast' ? holdfastFrom(this.lab, plan, path) : new Keepalived(this.lab, plan, [], path)
    node.everyDaemon.push(node.daemon)
    await node.daemon.ready(60_000)
    for (const death of this.#deaths) if (death.name === host.name) death.to = Math.min(death.to, monotonicMs())
  }

  #write(node: Node): string {
    const path = join(this.#folder(node.host), 'keepalived.conf')
    writeFileSync(path, this.#text(node, node.file))
    return path
  }

  /**
   * Stops the daemon of the node as an operator does (SIGTERM). Resolves when the daemon has ended, with the time of
   * the signal in ms.
   */
  async stop(position: number): Promise<number> {
    const daemon = this.daemon(position)
    const at = daemon.terminate()
    await daemon.exited
    this.#at(position).daemon = undefined
    return at
  }

  /** Kills all processes of the node together. The node's kernel keeps the addresses. Resolves with the time in ms. */
  async kill(position: number): Promise<number> {
    const daemon = this.daemon(position)
    const at = daemon.killAll()
    this.#deaths.push({ name: this.nameOf(position), from: at, to: Number.POSITIVE_INFINITY })
    await daemon.exited
    this.#at(position).daemon = undefined
    return at
  }

  /** Changes the daemon's configuration file and makes the daemon read the file again. */
  reload(position: number, change: Partial<NodeFile> = {}): void {
    const node = this.#at(position)
    node.file = { ...node.file, ...change }
    this.#write(node)
    const daemon = this.daemon(position)
    if (daemon instanceof Holdfast) daemon.process.signal('SIGHUP')
    else daemon.reload()
  }

  /**
   * Returns which nodes' kernels answered for the virtual address, over time. A node whose daemon was killed does not
   * count until the daemon runs again.
   */
  holders(): Change[] {
    const { claims } = this.#observer
    const turns = this.#deaths.flatMap(({ from, to }) => [from, to]).filter(Number.isFinite)
    const atTurns = turns.map((at) => ({ at, macs: claims.findLast((claim) => claim.at <= at)?.macs ?? [] }))
    const inOrder = [...claims, ...atTurns].sort((one, other) => one.at - other.at)
    return inOrder.map(({ at, macs }) => {
      const names = macs.map((mac) => this.#names.get(mac) ?? mac)
      return { at, holders: names.filter((name) => !this.#isDead(name, at)).sort() }
    })
  }

  #isDead(name: string, at: number): boolean {
    return this.#deaths.some((death) => death.name === name && at >= death.from && at < death.to)
  }

  holder(): string | undefined {
    const last = this.holders().at(-1)
    return last?.holders.length === 1 ? last.holders[0] : undefined
  }

  longest(wanted: (count: number) => boolean, from: number, to: number): number {
    return longestOf(spansIn(this.holders(), wanted, { from, to }))
  }

  /** Returns the names of the nodes that answered at the same time as another node, at any time in the window. */
  competing(from: number, to: number): string[] {
    const found = spansIn(this.holders(), (count) => count > 1, { from, to })
    return [...new Set(found.flatMap(({ holders }) => holders))].sort()
  }

  /**
   * Returns the longest time in ms without an answer to the client that overlaps the window, and the number of
   * unanswered probes in all such times.
   */
  silence(from: number, to: number): { readonly longest: number; readonly lost: number } {
    const gaps = this.prober.gaps.filter((gap) => gap.to >= from && gap.from <= to)
    return { longest: this.prober.longestGap(from, to), lost: gaps.reduce((sum, { lost }) => sum + lost, 0) }
  }

  /**
   * Waits until one node whose name `passes` accepts has answered alone for `steady` ms and also answers the client.
   * Returns its name.
   */
  async settles(occasion: string, steady: number, within: number, passes = (_name: string) => true): Promise<string> {
    const look = () => {
      const last = this.holders().at(-1)
      const [name, ...others] = last?.holders ?? []
      if (last === undefined || name === undefined || others.length > 0) return undefined
      const settled = monotonicMs() - last.at >= steady && this.prober.holder === name && passes(name)
      return settled && this.#clientSendsTo() === name ? name : undefined
    }
    const client = () => `answered by ${this.prober.holder}, sends to ${this.#clientSendsTo()}`
    const sight = () => ({ claims: this.holders().slice(-4), client: client(), log: this.#lastLines() })
    return eventually(`one holder after ${occasion}`, look, { sight, within, every: 20 })
  }

  /**
   * Returns the name of the node to whose MAC address the client's kernel sends now. An announcement of the losing node
   * may arrive after the winner's answer.
   */
  #clientSendsTo(): string | undefined {
    const entry = this.lab.exec(this.lab.client, ['ip', 'neigh', 'show', 'to', this.vip, 'dev', 'eth0'])
    return this.#names.get(/lladdr (\S+)/.exec(entry)?.[1] ?? '')
  }

  /**
   * Returns lines with the nodes that answered and the daemons' log lines, in ms since `from`, for the error of a
   * failed test.
   */
  story(from: number, to: number): string[] {
    const answered = this.holders().map(({ at, holders }) => ({
      at,
      text: `answered by ${holders.join(' and ') || 'nobody'}`,
    }))
    const logged = this.#nodes.flatMap(({ host, everyDaemon }) =>
      everyDaemon.flatMap(({ lines }) => lines.map(({ at, text }) => ({ at, text: `${host.name}: ${text}` }))),
    )
    return [...answered, ...logged]
      .filter(({ at }) => at >= from && at <= to)
      .sort((one, other) => one.at - other.at)
      .map(({ at, text }) => `${(at - from).toFixed(0)} ${text}`)
  }

  #lastLines(): Record<string, readonly string[]> {
    const lines = this.#nodes.map(({ host, daemon }) => [
      host.name,
      daemon?.lines.slice(-4).map(({ text }) => text) ?? [],
    ])
    return Object.fromEntries(lines)
  }

  destroy(): void {
    this.lab.destroy()
  }
}

/**
 * Returns a holdfast that reads the keepalived file, with a folder of its own. Without a folder of its own, the daemon
 * would use the folder of the machine.
 */
export function holdfastFrom(lab: Lab, plan: RouterPlan, file: string): Holdfast {
  // The script is called as: sh -c SCRIPT holdfast run -c YAML. The folder of the YAML file becomes the daemon's run
  // directory, which has the socket.
  const script = [
    'mount -t tmpfs none /run',
    'mkdir /run/holdfast',
    'mount --bind "$(dirname "$3")" /run/holdfast',
    `exec "$0" run -f ${file}`,
  ].join(' && ')
  return new Holdfast(lab, plan, {}, [], {}, ['sh', '-c', script])
}
