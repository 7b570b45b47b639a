/**
 * FRR's vrrpd (with the zebra that it needs) as the neighbour. Decides what its operator has to prepare: one macvlan
 * per virtual router with the virtual MAC, and an eth0 that does not answer for the macvlan's addresses. FRR answers
 * for an address by leaving that macvlan up, so the address never moves; see `Pair.holders`.
 * Refuses to know what other daemons do.
 */
import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { run } from '../command.ts'
import { ip } from '../ip.ts'
import type { Host, Lab } from '../lab.ts'
import { LoggedProcess } from '../logged-process.ts'
import { eventually, monotonicMs } from '../wait.ts'
import type { Daemon, RouterPlan } from './daemon.ts'

const FOLDER = '/usr/lib/frr'
const SCRATCH = '/var/tmp/frr'
const STATES: Readonly<Record<string, string>> = { Master: 'Active', Backup: 'Backup', Initialize: 'Initialize' }

/** What a healthy instance says with `debug vrrp protocol` and `packets`. The date and the message's id are cut off by the caller. */
const NEWS = [
  /^ZEBRA: .*(Disabling MPLS support|starting: vty@|says hello|Setting protodown (on|off) - interface vrrp)/,
  /starting: vty@|zclient socket initialized|Zebra zclient|^VRRP: \[VRRP |debugging/,
  /Interface: (vrrp[46]-\d+|None \(no interface found)|Interface \S+ has a non-VRRP MAC; disregarding/,
  /Refusing to start Virtual Router: (No VRRP interface|No primary IPv[46] address|Already running)/,
  /'(Startup|Shutdown)' event$|Received 'Shutdown' event in 'Initialize' state; ignoring/,
  /Datagram rx: *$|^VRRP: [0-9a-f]+: [0-9a-f]{2} /,
  /(Initialize|Backup|Master) -> (Initialize|Backup|Master)$|(Adver_Timer|Master_Down_Timer) expired$/,
  /Received advertisement from \S+ w\/ priority \d+; switching to Backup|Discarding advertisement from /,
  /Received VRRP Advertisement from \S+: version|Bound (Rx|Tx) socket|Joined VRRP multicast group|as outgoing multicast interface/,
  // IPv6: it asks too early for its own address on the macvlan, so the first advertisement of an Active is missing.
  /(Delaying VRRP|Interface up; sending pending|Failed to find address to bind on vrrp6-)/,
  // Of a socket for router advertisements, between its making and its filter; the longer that is, the more it hears.
  /^ZEBRA: \S+: Rx RA - Unwanted ICMPV6 message type 13[356]$/,
  // Routing by a macvlan whose carrier comes and goes with the VRRP state, by its account a moment late.
  /^ZEBRA: .*(nexthop|Network is down)/i,
  /Sending (gratuitous ARP|unsolicited Neighbor Advertisement)/,
]

type Json = Readonly<Record<string, unknown>>
const fieldsOf = (value: unknown): Json => (typeof value === 'object' && value !== null ? { ...value } : {})

export type FrrCounters = { readonly sent: number; readonly received: number; readonly announced: number }

export class Frr implements Daemon {
  readonly kind = 'frr'
  readonly plan: RouterPlan
  readonly #process: LoggedProcess
  readonly #directory: string
  readonly #family: 'v4' | 'v6'
  /** Its zebra, when it has ended alone. */
  #left: number[] = []

  constructor(lab: Lab, plan: RouterPlan) {
    this.plan = plan
    this.#family = plan.address.includes(':') ? 'v6' : 'v4'
    prepareMacvlan(lab, plan)
    this.#directory = join(lab.directory, `frr-${plan.host.name}`)
    rmSync(this.#directory, { recursive: true, force: true })
    mkdirSync(this.#directory)
    // Both run as user frr and open their sockets in here.
    chmodSync(lab.directory, 0o711)
    chmodSync(this.#directory, 0o777)
    sweepFolders()
    const at = (name: string) => join(this.#directory, name)
    writeFileSync(at('zebra.conf'), '')
    writeFileSync(at('vrrpd.conf'), frrConfig(plan))
    const argv = (name: string) =>
      `${FOLDER}/${name} -f ${at(`${name}.conf`)} -i ${at(`${name}.pid`)} -z ${at('zserv')} --vty_socket ${this.#directory} -P 0 --log stdout --log-level debugging`
    // vrrpd asks for zebra's socket once in 10 s.
    const script = `${argv('zebra')} & until [ -S ${at('zserv')} ]; do sleep 0.02; done; exec ${argv('vrrpd')}`
    this.#process = new LoggedProcess(lab, plan.host, ['sh', '-c', script])
  }

  get lines() {
    return this.#process.lines
  }

  get exited() {
    return this.#process.exited
  }

  get running(): boolean {
    return this.#process.exit === undefined
  }

  async ready(within = 10_000): Promise<void> {
    await this.#process.line(/Initialize -> (Backup|Master)/, within)
    await eventually(
      `vrrpd on ${this.plan.host.name} to open its terminal`,
      () => existsSync(join(this.#directory, 'vrrpd.vty')),
      () => this.lines.slice(-5).map(({ text }) => text),
      { within, every: 20 },
    )
  }

  state(): Promise<string> {
    const tag = this.#family === 'v4' ? '[IPv4]' : '[IPv6]'
    const entered = this.lines.flatMap(({ text }) =>
      text.includes(tag) ? (/ -> (Initialize|Backup|Master)$/.exec(text)?.[1] ?? []) : [],
    )
    return Promise.resolve(STATES[entered.at(-1) ?? 'Initialize'] ?? 'Initialize')
  }

  #terminal(...commands: readonly string[]): string {
    return run(['vtysh', '--vty_socket', this.#directory, ...commands.flatMap((command) => ['-c', command])])
  }

  /** `vrrp VRID shutdown`: at SIGTERM no priority 0 was seen when zebra ends with it. */
  terminate(): number {
    const at = monotonicMs()
    this.#terminal('configure terminal', 'interface eth0', `vrrp ${this.plan.vrid ?? 51} shutdown`)
    return at
  }

  /** SIGTERM of vrrpd, while its zebra lives and can turn the macvlan off. */
  endAlone(): number {
    this.#left = this.#process.children
    return this.#process.signal('SIGTERM')
  }

  reload(plan: RouterPlan): number {
    writeFileSync(join(this.#directory, 'vrrpd.conf'), frrConfig(plan))
    return this.#process.signal('SIGHUP')
  }

  killEngine(): number {
    return this.#process.signal('SIGKILL')
  }

  killAll(): number {
    const at = this.#process.killFamily()
    for (const pid of this.#left.splice(0)) {
      try {
        process.kill(pid, 'SIGKILL')
      } catch {
        // It ended by itself.
      }
    }
    return at
  }

  freeze(): number {
    return this.#process.signal('SIGSTOP')
  }

  thaw(): number {
    return this.#process.signal('SIGCONT')
  }

  /** Lines that are no plain news, without their date and id. */
  warnings(): string[] {
    return this.lines
      .map(({ text }) => text.replace(/^[\d/]+ [\d:]+ (\w+: )(\[[\w -]+\])+ /, '$1'))
      .filter((text) => !NEWS.some((pattern) => pattern.test(text)))
  }

  counters(): Promise<FrrCounters> {
    const shown: unknown = JSON.parse(this.#terminal('show vrrp json'))
    const router = fieldsOf(Array.isArray(shown) ? shown[0] : undefined)
    const stats = fieldsOf(fieldsOf(router[this.#family]).stats)
    return Promise.resolve({
      sent: Number(stats.adverTx),
      received: Number(stats.adverRx),
      announced: Number(stats.garpTx ?? stats.neighborAdverTx),
    })
  }
}

export function frrConfig({ priority, intervalMs, address, addresses = [address], vrid = 51, ...rest }: RouterPlan) {
  const word = address.includes(':') ? 'ipv6' : 'ip'
  return [
    'debug vrrp protocol',
    // Only this says which packets it discards, and why.
    'debug vrrp packets',
    'interface eth0',
    ` vrrp ${vrid} version ${rest.version ?? 3}`,
    ` vrrp ${vrid} priority ${priority}`,
    ` vrrp ${vrid} advertisement-interval ${intervalMs}`,
    ...(rest.preempt === false ? [` no vrrp ${vrid} preempt`] : []),
    ...addresses.map((one) => ` vrrp ${vrid} ${word} ${one}`),
    '',
  ].join('\n')
}

/** Where FRR's IPv6 advertisements come from: the link-local address of its macvlan. */
export const frrSource = (host: Host) => `fe80::f:${host.address.split('.').at(-1)}`

/** Each process has a folder with its pid in the name; one that was killed leaves it to whoever gets that pid. */
function sweepFolders(): void {
  const left = existsSync(SCRATCH) ? readdirSync(SCRATCH) : []
  for (const name of left.filter((one) => /^(zebra|vrrpd)\.\d+$/.test(one)))
    if (!existsSync(`/proc/${name.split('.').at(-1)}`)) rmSync(join(SCRATCH, name), { recursive: true, force: true })
}

/** What FRR's manual asks of the operator. Made once: it outlives the daemon, as on a node. */
function prepareMacvlan(lab: Lab, { host, address, addresses = [address], vrid = 51 }: RouterPlan): void {
  const v6 = address.includes(':')
  const name = `vrrp${v6 ? 6 : 4}-${vrid}`
  if (ip(host, '-brief link show').includes(`${name}@`)) return
  const mac = `00:00:5e:00:0${v6 ? 2 : 1}:${vrid.toString(16).padStart(2, '0')}`
  const lines = [
    `link add ${name} link eth0 type macvlan mode bridge`,
    `link set ${name} address ${mac} addrgenmode none`,
    `link set ${name} up`,
    ...addresses.map((one) => `address add ${one}/${v6 ? '128' : '32'} dev ${name}${v6 ? ' nodad' : ''}`),
    // FRR sends from the link-local address that the kernel lists first: the one added last. It may not be a VIP.
    ...(v6 ? [`address add ${frrSource(host)}/64 dev ${name} nodad`] : []),
  ]
  // Otherwise eth0 answers for the address with its own MAC, also where the macvlan is off.
  lab.exec(host, ['sh', '-c', 'echo 1 >/proc/sys/net/ipv4/conf/eth0/arp_ignore'])
  ip(host, ...lines)
}
