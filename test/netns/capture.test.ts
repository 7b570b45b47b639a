/**
 * `holdfast capture` on a LAN with real daemons. The printed lines agree with tshark's reading of the file that the same command wrote. The
 * lines mark packets that every receiver discards. The capture waits for an interface that goes down or is deleted.
 */
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { neighborAdvertisement } from '../../src/arp/neighbor-advertisement.ts'
import { neighborSolicitation } from '../../src/arp/neighbor-solicitation.ts'
import { startDaemon } from '../../src/lab/daemons/start-daemon.ts'
import { ip } from '../../src/lab/ip.ts'
import { createLab, HOLDFAST, type Host, LAB_VIP, type Lab } from '../../src/lab/lab.ts'
import { LoggedProcess } from '../../src/lab/logged-process.ts'
import { eventually } from '../../src/lab/wait.ts'
import { decode, faults } from '../../src/lab/watch/capture.ts'
import { encodeAdvertisement } from '../../src/vrrp/packet.ts'
import { address } from '../../src/wire/address.ts'
import { concatBytes, uint16 } from '../../src/wire/bytes.ts'
import { macFromBytes } from '../../src/wire/mac.ts'
import { centis } from '../../src/wire/units.ts'
import { toHex } from '../support/hex.ts'
import { describeCapture } from '../support/require.ts'
import { Agent } from './linux-fixture.ts'

const WITHIN = 10_000

type Line = Readonly<Record<string, unknown>>

let lab: Lab | undefined
let agent: Agent | undefined
afterEach(() => {
  agent?.stop()
  agent = undefined
  lab?.destroy()
  lab = undefined
})

function newLab(routers: number): Lab {
  lab = createLab({ routers })
  return lab
}

class Capture {
  readonly process: LoggedProcess

  constructor(on: Lab, host: Host, options: readonly string[]) {
    this.process = new LoggedProcess(on, host, [HOLDFAST, 'capture', ...options])
  }

  static async listening(on: Lab, host: Host, ...options: readonly string[]): Promise<Capture> {
    const capture = new Capture(on, host, options)
    await capture.process.line(/listening on "eth0"/, WITHIN)
    return capture
  }

  get lines(): readonly string[] {
    return this.process.lines.map(({ text }) => text)
  }

  /** Records that the command has printed with --json. */
  get seen(): readonly Line[] {
    return this.lines.filter((text) => text.startsWith('{')).map((text): Line => JSON.parse(text))
  }

  until(what: string, holds: (line: Line) => boolean): Promise<Line> {
    return eventually(what, () => this.seen.find(holds), { sight: () => this.lines.slice(-5) })
  }

  async stop(): Promise<void> {
    this.process.signal('SIGINT')
    expect(await this.process.exited, this.lines.slice(-5).join('\n')).toMatchObject({ code: 0, signal: null })
  }
}

describeCapture('holdfast capture', () => {
  test('when keepalived takes over from holdfast, each packet is a line, and tshark reads the same packets', async () => {
    const on = newLab(2)
    const [high, low] = [on.router(1), on.router(2)]
    const file = join(on.directory, 'capture.pcap')
    const capture = await Capture.listening(on, on.host('observer'), '--json', '--write', file)
    const plan = { intervalMs: 100, address: LAB_VIP }
    const holdfast = startDaemon('holdfast', on, { ...plan, host: high, priority: 200 })
    const keepalived = startDaemon('keepalived', on, { ...plan, host: low, priority: 100 })
    await Promise.all([holdfast.ready(), keepalived.ready()])
    const from = (host: Host) => (line: Line) => line.kind === 'vrrp' && line.source === host.address
    await capture.until('an advertisement of holdfast', from(high))
    holdfast.terminate()
    await capture.until('priority 0', (line) => from(high)(line) && line.priority === 0)
    await capture.until('the successor', from(low))
    const announced = (line: Line) => line.what === 'gratuitous' && line.address === LAB_VIP
    const claims = new Set(capture.seen.filter(announced).map(({ mac }) => mac))
    await eventually(
      'both to announce',
      () => new Set(capture.seen.filter(announced).map(({ mac }) => mac)).size === 2,
      { sight: () => [...claims] },
    )
    await capture.stop()

    const adverts = capture.seen.filter(({ kind }) => kind === 'vrrp')
    for (const line of adverts) {
      expect(line).toMatchObject({
        interface: 'eth0',
        family: 'ipv4',
        destination: '224.0.0.18',
        ttl: 255,
        version: 3,
        vrid: 51,
        intervalMs: 100,
        addresses: [LAB_VIP],
        warnings: [],
      })
      expect(line.discard).toBeUndefined()
    }
    // The file is readable by its owner only: version 2 passwords are sent in clear text.
    expect(statSync(file).mode & 0o777).toBe(0o600)
    const frames = decode(file)
    expect(faults(frames)).toEqual([])
    expect(frames.length, 'frames in the file, one for each printed line').toBe(capture.seen.length)
    const theirs = frames.filter(({ versionAndType }) => versionAndType !== '')
    expect(theirs.map(({ priority, source, ttl, vrid }) => [source, ttl, vrid, priority].map(String))).toEqual(
      adverts.map(({ priority, source, ttl, vrid }) => [source, ttl, vrid, priority].map(String)),
    )
    const apart = frames.map((frame, i) => Math.abs(Number(frame.at) * 1000 - Date.parse(String(capture.seen[i]?.at))))
    expect(Math.max(...apart), 'ms between the times of a frame in the file and in its line').toBeLessThan(1.1)
    expect(readFileSync(file).length).toBeGreaterThan(24)
  })

  test('a line names the discard reason of its packet, and shows IPv6, Neighbor Discovery and the VLAN', async () => {
    const on = newLab(1)
    const host = on.router(1)
    const file = join(on.directory, 'neighbors.pcap')
    const capture = await Capture.listening(on, on.host('observer'), '--json', '--write', file)
    agent = new Agent(host.namespace)
    const eth0 = (await agent.call('links')).find(({ name }) => name === 'eth0')
    if (eth0 === undefined) throw new Error('no eth0')
    const where = { interfaceIndex: eth0.index, interfaceName: 'eth0' }
    const advertised = { version: 3, vrid: 9, priority: 100, interval: centis(100) } as const

    const v4 = { source: address(host.address), destination: address('224.0.0.18'), checksum: 'pseudo-header' } as const
    const four = await agent.open({ ...where, family: 'ipv4', source: v4.source })
    const broken = encodeAdvertisement({ ...advertised, addresses: [address(LAB_VIP)] }, v4)
    broken[2] = 101
    await agent.call('send', four, [{ destination: v4.destination, bytes: toHex(broken) }])
    expect(await capture.until('the broken one', ({ vrid }) => vrid === 9)).toMatchObject({
      discard: 'checksum',
      priority: 101,
      source: host.address,
    })

    ip(host, 'address add fe80::77/64 dev eth0 nodad')
    const v6 = { source: address('fe80::77'), destination: address('ff02::12'), checksum: 'pseudo-header' } as const
    const six = await agent.open({ ...where, family: 'ipv6', source: v6.source })
    const good = encodeAdvertisement({ ...advertised, vrid: 10, addresses: [address('fe80::100')] }, v6)
    await agent.call('send', six, [{ destination: v6.destination, bytes: toHex(good) }])
    const line = await capture.until('the IPv6 one', ({ vrid }) => vrid === 10)
    expect(line).toMatchObject({ family: 'ipv6', source: 'fe80::77', ttl: 255, addresses: ['fe80::100'], warnings: [] })
    expect(line.discard).toBeUndefined()

    const frames = await agent.call('openFrames', { ...where, hears: 'nothing', family: 'ipv6' })
    const mac = macFromBytes(Uint8Array.of(2, 0, 0, 0, 0, 7))
    const claim = neighborAdvertisement({ address: address('2001:db8::100'), mac })
    await agent.call('sendFrames', frames.socket ?? -1, [toHex(claim)])
    expect(await capture.until('the claim', ({ kind }) => kind === 'na')).toMatchObject({
      address: '2001:db8::100',
      mac,
      override: true,
    })

    const asked = neighborSolicitation({ target: address('2001:db8::100'), source: address('fe80::77'), mac })
    await agent.call('sendFrames', frames.socket ?? -1, [toHex(asked)])
    const question = (line: Line) => line.kind === 'ns' && line.source === 'fe80::77'
    const expected = { address: '2001:db8::100', destination: 'ff02::1:ff00:100', mac, duplicateDetection: false }
    expect(await capture.until('the question', question)).toMatchObject(expected)

    const tagged = concatBytes(asked.subarray(0, 12), uint16(0x8100), uint16(0x6005), asked.subarray(12))
    await agent.call('sendFrames', frames.socket ?? -1, [toHex(tagged)])
    expect(await capture.until('the question in a VLAN', ({ vlan }) => vlan === 5)).toMatchObject(expected)
    await capture.stop()
    const questions = decode(file).filter(({ nsTarget }) => nsTarget === '2001:db8::100')
    expect(questions.map(({ vlan }) => vlan).sort()).toEqual(['', '5'])
  })

  test('--count ends the capture after the given number of frames', async () => {
    const on = newLab(1)
    const capture = await Capture.listening(on, on.host('observer'), '--json', '--count', '3')
    const daemon = startDaemon('holdfast', on, { host: on.router(1), priority: 100, intervalMs: 100, address: LAB_VIP })
    expect(await capture.process.exited).toMatchObject({ code: 0, signal: null })
    expect(capture.seen.length).toBe(3)
    daemon.terminate()
  })

  test('capture goes on after its interface went down and up, or was deleted and created again', async () => {
    const on = newLab(1)
    const observer = on.host('observer')
    const capture = await Capture.listening(on, observer)
    const listening = () => capture.lines.filter((text) => text.includes('listening on "eth0"')).length
    const waiting = () => capture.lines.filter((text) => text.includes('waiting for it')).length
    const becomes = (what: string, holds: () => boolean) => eventually(what, holds, { sight: () => capture.lines })

    on.setLink(observer, 'down')
    await becomes('it to wait', () => waiting() === 1)
    on.setLink(observer, 'up')
    await becomes('it to listen again', () => listening() === 2)
    // A connection that is refused causes a packet. ARP has already resolved the observer's address.
    const connect = `echo 2>/dev/null >/dev/tcp/${observer.address}/9 || true`
    on.exec(on.router(1), ['bash', '-c', connect])
    await becomes('it to show frames again', () => capture.lines.some((text) => text.includes(' ARP ')))
    ip(observer, 'link delete eth0')
    await becomes('it to wait again', () => waiting() === 2)
    ip(observer, 'link add eth0 type veth peer name far')
    ip(observer, 'link set far up')
    ip(observer, 'link set eth0 up')
    await becomes('it to listen on the new one', () => listening() === 3)
    await capture.stop()
    const expected =
      /^TIME |^holdfast: "eth0" is down or gone: waiting for it$|^holdfast: listening on "eth0"$|^\d\d:.* (ARP|NS|NA) /
    expect(capture.lines.filter((text) => !expected.test(text))).toEqual([])
  })

  test('a capture that cannot start prints one line with the reason and ends with an exit status other than 0', async () => {
    const on = newLab(1)
    const tried = async (host: Host, ...options: readonly string[]) => {
      const { process } = new Capture(on, host, options)
      const { code } = await process.exited
      return [code, process.lines.map(({ text }) => text).join('\n')]
    }
    const host = on.router(1)
    expect(await tried(host, '-i', 'eth9')).toEqual([1, 'holdfast: Cannot capture on "eth9": interface does not exist'])
    ip(host, 'link add eth1 type veth peer name far')
    ip(host, 'link set eth1 up')
    ip(host, 'address add 10.78.0.1/24 dev eth1')
    expect(await tried(host)).toEqual([
      64,
      'holdfast: Cannot choose an interface: eth0, eth1 have addresses; name one with -i',
    ])
    expect(await tried(host, '-i', 'eth0', '--count', 'many')).toMatchObject([
      64,
      expect.stringContaining('accepted: an integer'),
    ])
    const [code, text] = await tried(host, '-i', 'eth0', '--write', '/nowhere/x.pcap')
    expect([code, text]).toMatchObject([1, expect.stringContaining("'/nowhere/x.pcap'")])
  })
})
