/**
 * The traffic on the wire, captured by dumpcap and decoded by tshark. This file decides that "decodes cleanly" means
 * known fields, right checksums of IP and VRRP (with the pseudo-header, which tshark assumes), nothing malformed, no
 * expert remark. This file does not know what should have been sent.
 */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import type { Host, Lab } from '../lab.ts'
import { LoggedProcess } from '../logged-process.ts'
import { sleep } from '../wait.ts'

const FLUSHED = 400

/** Fields of a frame, with tshark's names (IPv4's, then IPv6's) and ours. A missing field is ''. */
const FIELDS = {
  at: ['frame.time_epoch'],
  mac: ['eth.src'],
  toMac: ['eth.dst'],
  source: ['ip.src', 'ipv6.src'],
  destination: ['ip.dst', 'ipv6.dst'],
  ttl: ['ip.ttl', 'ipv6.hlim'],
  ipChecksum: ['ip.checksum.status'],
  versionAndType: ['vrrp.typever'],
  vrid: ['vrrp.virt_rtr_id'],
  priority: ['vrrp.prio'],
  centiseconds: ['vrrp.short_adver_int'],
  /** Field with the interval in version 2. */
  seconds: ['vrrp.adver_int'],
  authentication: ['vrrp.auth_type'],
  addresses: ['vrrp.ip_addr', 'vrrp.ipv6_addr'],
  vrrpChecksum: ['vrrp.checksum.status'],
  arpOperation: ['arp.opcode'],
  arpSender: ['arp.src.proto_ipv4'],
  arpTarget: ['arp.dst.proto_ipv4'],
  /** Target of a Neighbor Advertisement. */
  naTarget: ['icmpv6.nd.na.target_address'],
  naSolicited: ['icmpv6.nd.na.flag.s'],
  nsTarget: ['icmpv6.nd.ns.target_address'],
  vlan: ['vlan.id'],
  malformed: ['_ws.malformed'],
  remark: ['_ws.expert.message'],
} as const

type Name = keyof typeof FIELDS
export type Frame = { readonly [name in Name]: string }

export class Capture {
  readonly path: string
  readonly #process: LoggedProcess

  private constructor(path: string, process: LoggedProcess) {
    this.path = path
    this.#process = process
  }

  /** Listens on the bridge, or on eth0 of one host. Resolves when it does. */
  static async start(lab: Lab, name: string, filter = 'ip proto 112 or arp', where: Host | 'bridge' = 'bridge') {
    const path = join(lab.directory, `${name}.pcapng`)
    const [host, link] = where === 'bridge' ? [lab.bridge, 'br0'] : [where, 'eth0']
    const process = new LoggedProcess(lab, host, ['dumpcap', '-q', '-i', link, '-f', filter, '-w', path])
    await process.line(/^File: /, 30_000)
    return new Capture(path, process)
  }

  async stop(): Promise<Frame[]> {
    // The kernel delivers frames in blocks, 250 ms late at most. A block that is under way at the end would be lost.
    await sleep(FLUSHED)
    this.#process.signal('SIGINT')
    await this.#process.exited
    return decode(this.path)
  }
}

export function decode(path: string): Frame[] {
  // An address whose MAC changes is normal in a failover, so tshark's check for duplicates is off.
  const options = [
    '-o',
    'vrrp.v3_checksum_as_in_v2:FALSE',
    '-o',
    'ip.check_checksum:TRUE',
    '-o',
    'arp.detect_duplicate_ips:FALSE',
  ]
  const fields: readonly string[] = Object.values(FIELDS).flat()
  const shape = ['-T', 'fields', '-E', 'occurrence=a', '-E', 'aggregator=,']
  const argv = ['-n', '-r', path, ...options, ...shape, ...fields.flatMap((field) => ['-e', field])]
  const text = execFileSync('tshark', argv, {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
    maxBuffer: 1 << 28,
  })
  const lines = text.split('\n').filter((line) => line !== '')
  return lines.map((line) => {
    const cells = line.split('\t')
    const cell = (name: Name) => FIELDS[name].map((field) => cells[fields.indexOf(field)] ?? '').find(Boolean) ?? ''
    return {
      at: cell('at'),
      mac: cell('mac'),
      toMac: cell('toMac'),
      source: cell('source'),
      destination: cell('destination'),
      ttl: cell('ttl'),
      ipChecksum: cell('ipChecksum'),
      versionAndType: cell('versionAndType'),
      vrid: cell('vrid'),
      priority: cell('priority'),
      centiseconds: cell('centiseconds'),
      seconds: cell('seconds'),
      authentication: cell('authentication'),
      addresses: cell('addresses'),
      vrrpChecksum: cell('vrrpChecksum'),
      arpOperation: cell('arpOperation'),
      arpSender: cell('arpSender'),
      arpTarget: cell('arpTarget'),
      naTarget: cell('naTarget'),
      naSolicited: cell('naSolicited'),
      nsTarget: cell('nsTarget'),
      vlan: cell('vlan'),
      malformed: cell('malformed'),
      remark: cell('remark'),
    }
  })
}

/** Returns the frames in which tshark finds a fault, with the fault. Checksum status 1 is good. */
export function faults(frames: readonly Frame[]): string[] {
  return frames.flatMap((frame) => {
    const wrong = [frame.malformed === '' ? '' : 'malformed', frame.remark]
    if (frame.versionAndType !== '') {
      if (frame.vrrpChecksum !== '1') wrong.push(`VRRP checksum status "${frame.vrrpChecksum}"`)
      if (frame.ipChecksum !== '1' && !frame.source.includes(':'))
        wrong.push(`IP checksum status "${frame.ipChecksum}"`)
    }
    const said = wrong.filter((fault) => fault !== '')
    return said.length === 0 ? [] : [`${frame.at} from ${frame.source || frame.mac}: ${said.join(', ')}`]
  })
}
