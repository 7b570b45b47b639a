/**
 * Runs FRR's vrrpd, with the zebra process that vrrpd needs, as another implementation in the group. This file decides
 * what FRR's operator has to prepare. The operator has to prepare one macvlan interface with the virtual MAC for each
 * virtual router, and an eth0 that does not answer for the macvlan's addresses. FRR becomes the holder by setting that
 * macvlan up, so the address never moves between interfaces; see `Pair.holders`. This file does not know other daemons.
 */
import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { run } from '../command.ts'
import { ip } from '../ip.ts'
import type { Host, Lab } from '../lab.ts'
import { LoggedProcess } from '../logged-process.ts'
import { eventually, monotonicMs } from '../wait.ts'
import type { Daemon, RouterPlan } from './daemon.ts'
import { DaemonProcess } from './daemon-process.ts'

const FOLDER = '/usr/lib/frr'
const SCRATCH = '/var/tmp/frr'
const STATES: Readonly<Record<string, string>> = { Master: 'Active', Backup: 'Backup', Initialize: 'Initialize' }

/**
 * Log lines of a healthy FRR with `debug vrrp protocol` and `packets`. The caller removes the date and the message id
 * of a line.
 */
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
  // For IPv6, FRR binds to its own address on the macvlan too early, so the first advertisement of an Active is not
  // sent.
  /(Delaying VRRP|Interface up; sending pending|Failed to find address to bind on vrrp6-)/,
  // zebra may report the address of an interface to vrrpd before it reports the interface. zebra repeats the address
  // later.
  /^VRRP: INTERFACE_ADDRESS_ADD: Cannot find IF \d+ in VRF 0$/,
  // Packets that arrive at zebra's socket for router advertisements before the socket's filter is set.
  /^ZEBRA: \S+: Rx RA - Unwanted ICMPV6 message type 13[356]$/,
  // zebra learns a moment late that the carrier of a macvlan has changed with the VRRP state, and logs problems with
  // routes over that macvlan.
  /^ZEBRA: .*(nexthop|Network is down)/i,
  /Sending (gratuitous ARP|unsolicited Neighbor Advertisement)/,
]

type Json = Readonly<Record<string, unknown>>
const fieldsOf = (value: unknown): Json => (typeof value === 'object' && value !== null ? { ...value } : {})

export type FrrCounters = { readonly sent: number; readonly received: number; readonly announced: number }

export class Frr extends DaemonProcess implements Daemon {
  readonly kind = 'frr'
  readonly plan: RouterPlan
  readonly #directory: string
  readonly #family: 'v4' | 'v6'
  /** Process numbers of the zebra whose vrrpd has ended alone. */
  #left: number[] = []

  constructor(lab: Lab, plan: RouterPlan) {
    prepareMacvlan(lab, plan)
    const directory = join(lab.directory, `frr-${plan.host.name}`)
    rmSync(directory, { recursive: true, force: true })
    mkdirSync(directory)
    // The programs zebra and vrrpd run as the user frr and create their sockets in this folder.
    chmodSync(lab.directory, 0o711)
    chmodSync(directory, 0o777)
    sweepFolders()
    const at = (name: string) => join(directory, name)
    writeFileSync(at('zebra.conf'), '')
    writeFileSync(at('vrrpd.conf'), frrConfig(plan))
    const argv = (name: string) =>
      `${FOLDER}/${name} -f ${at(`${name}.conf`)} -i ${at(`${name}.pid`)} -z ${at('zserv')} --vty_socket ${directory} -P 0 --log stdout --log-level debugging`
    // vrrpd tries to open zebra's socket only once in 10 s, so vrrpd is started after the socket exists.
    const script = `${argv('zebra')} & until [ -S ${at('zserv')} ]; do sleep 0.02; done; exec ${argv('vrrpd')}`
    super(new LoggedProcess(lab, plan.host, ['sh', '-c', script]))
    this.plan = plan
    this.#family = plan.address.includes(':') ? 'v6' : 'v4'
    this.#directory = directory
  }

  async ready(within = 10_000): Promise<void> {
    await this.process.line(/Initialize -> (Backup|Master)/, within)
    await eventually(
      `vrrpd on ${this.plan.host.name} to open its terminal`,
      () => existsSync(join(this.#directory, 'vrrpd.vty')),
      { sight: () => this.lines.slice(-5).map(({ text }) => text), within, every: 20 },
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

  /**
   * Stops the virtual router by FRR's command `vrrp VRID shutdown`. After SIGTERM, no priority 0 was observed if zebra
   * ends at the same time.
   */
  override terminate(): number {
    const at = monotonicMs()
    this.#terminal('configure terminal', 'interface eth0', `vrrp ${this.plan.vrid ?? 51} shutdown`)
    return at
  }

  /**
   * Sends SIGTERM to vrrpd only, while its zebra lives and can set the macvlan down. Returns the time of the signal in
   * ms.
   */
  endAlone(): number {
    this.#left = this.process.children
    return this.process.signal('SIGTERM')
  }

  reload(plan: RouterPlan): number {
    writeFileSync(join(this.#directory, 'vrrpd.conf'), frrConfig(plan))
    return this.process.signal('SIGHUP')
  }

  override killEngine(): number {
    return this.process.signal('SIGKILL')
  }

  override killAll(): number {
    const at = this.process.killFamily()
    for (const pid of this.#left.splice(0)) {
      try {
        process.kill(pid, 'SIGKILL')
      } catch {
        // The FRR process has already ended.
      }
    }
    return at
  }

  override freeze(): number {
    return this.process.signal('SIGSTOP')
  }

  override thaw(): number {
    return this.process.signal('SIGCONT')
  }

  /** Returns FRR's log lines that a healthy FRR does not write, without date and message id. */
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
    // Only this FRR option logs each discarded packet with the reason.
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

/** Returns the source address of FRR's IPv6 advertisements: the link-local address of its macvlan. */
export const frrSource = (host: Host) => `fe80::f:${host.address.split('.').at(-1)}`

/**
 * Removes the FRR folders of ended processes. Each test process has a folder with its process number in the name. A
 * killed process leaves its folder behind, and the next process with that number would use it.
 */
function sweepFolders(): void {
  const left = existsSync(SCRATCH) ? readdirSync(SCRATCH) : []
  for (const name of left.filter((one) => /^(zebra|vrrpd)\.\d+$/.test(one)))
    if (!existsSync(`/proc/${name.split('.').at(-1)}`)) rmSync(join(SCRATCH, name), { recursive: true, force: true })
}

/**
 * Prepares the macvlan that FRR's manual requires. The macvlan is created once and outlives the daemon, as on a real
 * node.
 */
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
    // FRR sends from the link-local address that the kernel lists first, which is the address that was added last. A
    // virtual address must not be the first.
    ...(v6 ? [`address add ${frrSource(host)}/64 dev ${name} nodad`] : []),
  ]
  // Without this setting, eth0 answers ARP for the virtual address with its own MAC, even while the macvlan is down.
  lab.exec(host, ['sh', '-c', 'echo 1 >/proc/sys/net/ipv4/conf/eth0/arp_ignore'])
  ip(host, ...lines)
}
