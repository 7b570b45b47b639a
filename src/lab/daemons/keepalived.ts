/**
 * Runs Debian's keepalived, as the daemon under test or as another implementation in the group. This file decides its
 * configuration (default values where possible), how its states are translated to the names of RFC 9568, and which of
 * its log lines are normal. Every other log line counts as a warning. keepalived 2.2.7 counts packets with a wrong TTL,
 * length, interval or address list. A wrong checksum is only in its log.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Lab } from '../lab.ts'
import { LoggedProcess } from '../logged-process.ts'
import { eventually } from '../wait.ts'
import type { Daemon, RouterPlan } from './daemon.ts'
import { DaemonProcess } from './daemon-process.ts'

const STATES: Readonly<Record<string, string>> = {
  MASTER: 'Active',
  BACKUP: 'Backup',
  FAULT: 'Initialize',
  INIT: 'Initialize',
}

/** Log lines of a healthy keepalived. The caller removes the date of a line. */
const NEWS = [
  /^Starting Keepalived|^Running on Linux|^Command line: |^ +'|^Opening file |^Configuration file |^Stopp(ing|ed)|^CPU usage/,
  /^NOTICE: setting config option max_auto_priority/,
  /^Starting VRRP child process|^Startup complete|^Registering |^Assigned address |^Stopped Keepalived/,
  /^VRRP sockpool: |Entering \w+ STATE|(removing|setting) VIPs\.$|Receive advertisement timeout$/,
  /Sending\/queueing (gratuitous ARPs|Unsolicited Neighbour Adverts)|^Sending (gratuitous ARP|unsolicited Neighbour Advert)/,
  /Backup received priority 0 advertisement|sent 0 priority$|(Received|received) lower priority \(\d+\) advert from/,
  /Received advert from \S+ with lower priority \d+, ours \d+, forcing new election$/,
  /Master received advert from \S+ with higher priority \d+, ours \d+$/,
  /^VRRP_Script\(\w+\) succeeded$|Changing effective priority from \d+ to \d+$|: sending gratuitous (ARP|NA) for [\da-f.:]+$/,
  /advert from \S+ with same priority \d+ but (higher|lower) IP address than ours$/,
  // keepalived writes these log lines on a busy machine.
  /^Track script \w+ is already running, expect idle - skipping run$|^A thread timer expired [\d.]+ seconds ago$/,
  /Printing VRRP|^Terminating on signal|^VRRP_Instance\(\w+\) (sent|Entering)|^Removed pid|^$/,
]

/** A `vrrp_script` of keepalived that the VRRP instance tracks. */
export type TrackedScript = {
  readonly name: string
  /** Command of the check. keepalived splits the command at spaces and uses no shell. */
  readonly command: string
  /** Seconds between two runs of the check. */
  readonly interval: number
  readonly weight: number
  readonly rise?: number
  readonly fall?: number
}

const scriptLines = ({ name, command, interval, weight, rise = 1, fall = 1 }: TrackedScript): readonly string[] => [
  `vrrp_script ${name} {`,
  `  script "${command}"`,
  `  interval ${interval}`,
  `  weight ${weight}`,
  `  rise ${rise}`,
  `  fall ${fall}`,
  '}',
]

export type KeepalivedCounters = {
  readonly received: number
  readonly sent: number
  readonly lengthErrors: number
  readonly ttlErrors: number
  readonly typeErrors: number
  readonly intervalErrors: number
  readonly addressListErrors: number
  readonly checksumErrors: number
  readonly authenticationErrors: number
}

export function keepalivedConfig(plan: RouterPlan, scripts: readonly TrackedScript[] = []): string {
  const {
    host,
    priority,
    intervalMs,
    address,
    addresses = [address],
    vrid = 51,
    version = 3,
    password,
    unicastPeers,
    unicastSource = host.address,
    preempt = true,
    realtime = false,
  } = plan
  const transport = unicastPeers
    ? [`  unicast_src_ip ${unicastSource}`, '  unicast_peer {', ...unicastPeers.map((peer) => `    ${peer}`), '  }']
    : []
  return [
    'global_defs {',
    `  router_id ${host.name}`,
    '  script_user root',
    '  enable_script_security',
    ...(realtime ? ['  vrrp_rt_priority 20'] : []),
    '}',
    ...scripts.flatMap(scriptLines),
    'vrrp_instance VI {',
    '  state BACKUP',
    '  interface eth0',
    `  virtual_router_id ${vrid}`,
    `  priority ${priority}`,
    `  advert_int ${intervalMs / 1000}`,
    `  version ${version}`,
    ...(password === undefined ? [] : ['  authentication {', '    auth_type PASS', `    auth_pass ${password}`, '  }']),
    ...(preempt ? [] : ['  nopreempt']),
    ...transport,
    ...(scripts.length === 0 ? [] : ['  track_script {', ...scripts.map(({ name }) => `    ${name}`), '  }']),
    '  virtual_ipaddress {',
    ...addresses.map((one) => `    ${one}`),
    '  }',
    '}',
    '',
  ].join('\n')
}

export class Keepalived extends DaemonProcess implements Daemon {
  readonly kind = 'keepalived'
  readonly plan: RouterPlan
  readonly #directory: string
  readonly #scripts: readonly TrackedScript[]

  /** Starts keepalived. `file`: path of an existing configuration file; absent: a file is written from the plan. */
  constructor(lab: Lab, plan: RouterPlan, scripts: readonly TrackedScript[] = [], file?: string) {
    const directory = join(lab.directory, `keepalived-${plan.host.name}`)
    rmSync(directory, { recursive: true, force: true })
    mkdirSync(directory)
    const at = (name: string) => join(directory, name)
    if (file === undefined) writeFileSync(at('keepalived.conf'), keepalivedConfig(plan, scripts))
    const argv = [
      'keepalived',
      '--vrrp',
      '--dont-fork',
      '--log-console',
      '--log-detail',
      '--use-file',
      file ?? at('keepalived.conf'),
    ]
    // TMPDIR is the folder of keepalived's statistics. The two keepalived processes write their pid files to a place
    // that no other instance uses.
    super(
      new LoggedProcess(lab, plan.host, [...argv, '--pid', at('pid'), '--vrrp_pid', at('vrrp.pid')], {
        TMPDIR: directory,
      }),
    )
    this.plan = plan
    this.#scripts = scripts
    this.#directory = directory
  }

  get pid(): number {
    return this.process.pid
  }

  async ready(within = 15_000): Promise<void> {
    await this.process.line(/Entering \w+ STATE/, within)
  }

  state(): Promise<string> {
    const entered = this.lines
      .map(({ text }) => /Entering (\w+) STATE/.exec(text)?.[1])
      .filter((state) => state !== undefined)
    return Promise.resolve(STATES[entered.at(-1) ?? 'INIT'] ?? 'Initialize')
  }

  /** Makes keepalived read its configuration file again. Without a plan, the file is not changed before. */
  reload(plan?: RouterPlan): number {
    if (plan !== undefined)
      writeFileSync(join(this.#directory, 'keepalived.conf'), keepalivedConfig(plan, this.#scripts))
    return this.process.signal('SIGHUP')
  }

  /** Returns keepalived's log lines that a healthy keepalived does not write, without their date. */
  warnings(): string[] {
    return this.lines
      .map(({ text }) => text.replace(/^\w{3} \w{3} +\d+ [\d:]+ \d{4}: ?/, ''))
      .filter((text) => !NEWS.some((pattern) => pattern.test(text)))
  }

  async counters(): Promise<KeepalivedCounters> {
    const path = join(this.#directory, 'keepalived.stats')
    rmSync(path, { force: true })
    this.process.signal('SIGUSR2')
    const read = () => {
      try {
        return readFileSync(path, 'utf8')
      } catch {
        return ''
      }
    }
    const complete = () => /Priority Zero:\n +Received: \d+\n +Sent: \d+\n/.test(read()) && read()
    const text = await eventually(`keepalived on ${this.plan.host.name} to print its counters`, complete, {
      sight: read,
      within: 10_000,
    })
    const count = (name: string) => Number(new RegExp(`^ +${name}: (\\d+)$`, 'm').exec(text)?.[1] ?? Number.NaN)
    return {
      received: count('Received'),
      sent: count('Sent'),
      lengthErrors: count('Length'),
      ttlErrors: count('TTL'),
      typeErrors: count('Invalid Type'),
      intervalErrors: count('Advertisement Interval'),
      addressListErrors: count('Address List'),
      checksumErrors: this.lines.filter(({ text: line }) => /checksum/i.test(line)).length,
      authenticationErrors: count('Type Mismatch') + count('Failure'),
    }
  }
}
