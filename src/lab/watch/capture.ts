/**
 * Captures the frames on the wire with dumpcap and decodes them with tshark. This file decides when a frame "decodes
 * cleanly". tshark then knows its fields and has no expert remark, nothing is malformed, and the checksums of IP and
 * VRRP are right. For VRRP, tshark assumes a checksum with pseudo-header. This file does not know which frames should
 * have been sent.
 */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import type { Host, Lab } from '../lab.ts'
import { LoggedProcess } from '../logged-process.ts'
import { sleep } from '../wait.ts'

const FLUSHED = 400

/**
 * Fields of a frame, by the name used here: tshark's names for IPv4, then for IPv6. A field that a frame lacks is ''.
 */
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
  /** Advertisement interval in seconds of a VRRP version 2 packet. */
  seconds: ['vrrp.adver_int'],
  authentication: ['vrrp.auth_type'],
  addresses: ['vrrp.ip_addr', 'vrrp.ipv6_addr'],
  vrrpChecksum: ['vrrp.checksum.status'],
  arpOperation: ['arp.opcode'],
  arpSender: ['arp.src.proto_ipv4'],
  arpTarget: ['arp.dst.proto_ipv4'],
  /** Target address of a Neighbor Advertisement. */
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

  /** Starts a capture on the bridge, or on eth0 of one host. Resolves when the capture has started. */
  static async start(lab: Lab, name: string, filter = 'ip proto 112 or arp', where: Host | 'bridge' = 'bridge') {
    const path = join(lab.directory, `${name}.pcapng`)
    const [host, link] = where === 'bridge' ? [lab.bridge, 'br0'] : [where, 'eth0']
    const process = new LoggedProcess(lab, host, ['dumpcap', '-q', '-i', link, '-f', filter, '-w', path])
    await process.line(/^File: /, 30_000)
    return new Capture(path, process)
  }

  async stop(): Promise<Frame[]> {
    // The kernel hands frames over in blocks, at most 250 ms late. Without this wait, a block that is not yet handed
    // over would be lost.
    await sleep(FLUSHED)
    this.#process.signal('SIGINT')
    await this.#process.exited
    return decode(this.path)
  }
}

export function decode(path: string): Frame[] {
  // In a failover the MAC address of an address changes, which is normal. For this reason tshark's check for duplicate
  // addresses is off.
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

/**
 * Returns the frames in which tshark finds a fault, each with the fault. In tshark, checksum status 1 means a right
 * checksum.
 */
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
