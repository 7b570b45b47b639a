/**
 * What was really on the wire, by somebody else's account: dumpcap writes, tshark reads. Decides what "decodes cleanly"
 * means: known fields, checksums of IP and VRRP right (with the pseudo-header, which tshark assumes), nothing malformed,
 * no expert remark. Refuses to know what should have been sent.
 */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import type { Host, Lab } from './lab.ts'
import { LoggedProcess } from './logged-process.ts'

/** What a frame is asked for, in tshark's names and in ours. A field that is absent is ''. */
const FIELDS = {
  at: 'frame.time_epoch',
  mac: 'eth.src',
  source: 'ip.src',
  destination: 'ip.dst',
  ttl: 'ip.ttl',
  ipChecksum: 'ip.checksum.status',
  versionAndType: 'vrrp.typever',
  vrid: 'vrrp.virt_rtr_id',
  priority: 'vrrp.prio',
  centiseconds: 'vrrp.short_adver_int',
  addresses: 'vrrp.ip_addr',
  vrrpChecksum: 'vrrp.checksum.status',
  arpOperation: 'arp.opcode',
  arpSender: 'arp.src.proto_ipv4',
  malformed: '_ws.malformed',
  remark: '_ws.expert.message',
} as const

export type Frame = { readonly [name in keyof typeof FIELDS]: string }

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
    await process.line(/^File: /, 10_000)
    return new Capture(path, process)
  }

  async stop(): Promise<Frame[]> {
    this.#process.signal('SIGINT')
    await this.#process.exited
    return decode(this.path)
  }
}

export function decode(path: string): Frame[] {
  // An address that changes its MAC is what a failover is.
  const options = [
    '-o',
    'vrrp.v3_checksum_as_in_v2:FALSE',
    '-o',
    'ip.check_checksum:TRUE',
    '-o',
    'arp.detect_duplicate_ips:FALSE',
  ]
  const shape = ['-T', 'fields', '-E', 'occurrence=a', '-E', 'aggregator=,']
  const argv = ['-n', '-r', path, ...options, ...shape, ...Object.values(FIELDS).flatMap((field) => ['-e', field])]
  const text = execFileSync('tshark', argv, {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
    maxBuffer: 1 << 28,
  })
  const lines = text.split('\n').filter((line) => line !== '')
  return lines.map((line) => {
    const cells = line.split('\t')
    const cell = (field: string) => cells[Object.values<string>(FIELDS).indexOf(field)] ?? ''
    return {
      at: cell(FIELDS.at),
      mac: cell(FIELDS.mac),
      source: cell(FIELDS.source),
      destination: cell(FIELDS.destination),
      ttl: cell(FIELDS.ttl),
      ipChecksum: cell(FIELDS.ipChecksum),
      versionAndType: cell(FIELDS.versionAndType),
      vrid: cell(FIELDS.vrid),
      priority: cell(FIELDS.priority),
      centiseconds: cell(FIELDS.centiseconds),
      addresses: cell(FIELDS.addresses),
      vrrpChecksum: cell(FIELDS.vrrpChecksum),
      arpOperation: cell(FIELDS.arpOperation),
      arpSender: cell(FIELDS.arpSender),
      malformed: cell(FIELDS.malformed),
      remark: cell(FIELDS.remark),
    }
  })
}

/** Frames that tshark finds fault with, each with the fault. Checksum status 1 is good. */
export function faults(frames: readonly Frame[]): string[] {
  return frames.flatMap((frame) => {
    const wrong = [frame.malformed === '' ? '' : 'malformed', frame.remark]
    if (frame.versionAndType !== '') {
      if (frame.vrrpChecksum !== '1') wrong.push(`VRRP checksum status "${frame.vrrpChecksum}"`)
      if (frame.ipChecksum !== '1') wrong.push(`IP checksum status "${frame.ipChecksum}"`)
    }
    const said = wrong.filter((fault) => fault !== '')
    return said.length === 0 ? [] : [`${frame.at} from ${frame.source || frame.mac}: ${said.join(', ')}`]
  })
}
