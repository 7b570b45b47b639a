/**
 * Settings of a keepalived file for addresses, announcements and packets, on real kernels. The tests judge the
 * addresses in the kernel, and that no address stays, whatever ends the daemon. All settings run in a LAN of keepalived
 * and in a LAN of holdfast, and tshark reads the packets of both.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { Holdfast, holdfastConfig } from '../../src/lab/daemons/holdfast.ts'
import { ip, shownAddresses } from '../../src/lab/ip.ts'
import { createLab, type Host, LAB_VIP6, type Lab } from '../../src/lab/lab.ts'
import { LoggedProcess } from '../../src/lab/logged-process.ts'
import { eventually, sleep } from '../../src/lab/wait.ts'
import { Capture, type Frame } from '../../src/lab/watch/capture.ts'
import { Prober, startResponder } from '../../src/lab/watch/probe.ts'
import { describeInterop } from '../support/require.ts'

const VIP = '10.77.0.100'
/** A VIP on another interface than the router's. */
const AWAY = '10.88.0.100'
/** A second address of the host, which is the source of the advertisements. */
const SOURCE = '10.77.0.31'
/** A VIP in a network in which the node has no address yet, so the VIP becomes the primary address. */
const PRIMARY = '10.99.0.100'
const SECONDARY = '10.99.0.7'
const WITHIN = 10_000
const ADDRESSES = [{ address: `${VIP}/24`, label: 'vip' }]
const EXTRA = { profile: 'keepalived', addresses: ADDRESSES, excludedAddresses: [`${LAB_VIP6}/64`] }

const labs: Lab[] = []
afterEach(() => {
  for (const lab of labs.splice(0)) lab.destroy()
})

function layLan(): { lab: Lab; host: Host } {
  const lab = createLab({ routers: 1 })
  labs.push(lab)
  return { lab, host: lab.router(1) }
}

const plan = (host: Host) => ({ host, priority: 100, intervalMs: 200, address: VIP })

const listed = (host: Host) => shownAddresses(host).filter(({ local }) => local === VIP || local === LAB_VIP6)

const waitFor = (what: string, host: Host, count: number, within = WITHIN) =>
  eventually(what, () => listed(host).length === count, { sight: () => listed(host), within, every: 20 })

describeInterop('a setting of a keepalived file', () => {
  test('VIPs with a label, a prefix length or another family are installed and answer, and are gone after reload, kill and stop', async () => {
    const { lab, host } = layLan()
    const first = new Holdfast(lab, plan(host), EXTRA)
    await waitFor('both addresses', host, 2)
    expect(listed(host)).toEqual([
      expect.objectContaining({ local: VIP, prefixlen: 24, label: 'vip' }),
      expect.objectContaining({ local: LAB_VIP6, prefixlen: 64, deprecated: true, nodad: true }),
    ])
    ip(lab.client, 'address add fd00:77::2/64 dev eth0 nodad')
    startResponder(lab, host)
    const client = new Prober(lab, lab.client, LAB_VIP6)
    await eventually(`${LAB_VIP6} to answer a client`, () => client.holders.at(-1)?.name === host.name, {
      sight: () => client.holders,
      every: 20,
    })
    await client.stop()

    const keys = { ...EXTRA, addresses: [{ address: `${VIP}/24`, label: 'other' }], excludedAddresses: [] }
    writeFileSync(first.file, holdfastConfig(plan(host), join(lab.directory, `holdfast-${host.name}`), keys))
    first.process.signal('SIGHUP')
    await waitFor('one address after the reload', host, 1)
    await eventually('the new label', () => listed(host)[0]?.label === 'other', {
      sight: () => listed(host),
      every: 20,
    })
    expect(await first.state()).toBe('Active')

    first.killAll()
    await first.exited
    await waitFor('no address after the death of all of its processes', host, 0)

    const second = new Holdfast(lab, plan(host), EXTRA)
    await waitFor('both addresses again', host, 2)
    second.terminate()
    await second.exited
    expect(listed(host), 'addresses of the node after SIGTERM').toEqual([])
  })

  test.each([
    ['SIGTERM', 'put back', '0'],
    ['kill -9 of the engine', 'left at 1', '1'],
    ['kill -9 of all processes', 'left at 1', '1'],
  ])(
    "the node's own secondary address stays when a VIP with a network leaves by %s; promote_secondaries is %s",
    async (end, _, after) => {
      const { lab, host } = layLan()
      const inside = (...argv: string[]) => lab.exec(host, argv)
      const promote = 'net.ipv4.conf.eth0.promote_secondaries'
      inside('sysctl', '-qw', 'net.ipv4.conf.all.promote_secondaries=0', `${promote}=0`)
      const daemon = new Holdfast(lab, plan(host), { profile: 'keepalived', addresses: [`${PRIMARY}/24`] })
      const shown = () => inside('ip', '-4', '-o', 'address', 'show', 'dev', 'eth0')
      await eventually('the VIP', () => shown().includes(` ${PRIMARY}/24 `), { sight: shown, every: 20 })
      inside('ip', 'address', 'add', `${SECONDARY}/24`, 'dev', 'eth0')
      expect(shown()).toMatch(new RegExp(`${SECONDARY}/24 .* secondary`))
      if (end === 'SIGTERM') daemon.terminate()
      else if (end === 'kill -9 of the engine') daemon.killEngine()
      else daemon.killAll()
      await daemon.exited
      await eventually('no VIP', () => !shown().includes(` ${PRIMARY}/24 `), { sight: shown, every: 20 })
      expect(shown()).toContain(` ${SECONDARY}/24 `)
      expect(inside('sysctl', '-n', promote).trim()).toBe(after)
    },
  )

  test("a VIP that becomes the node's own address after a clean stop stays, and an address on lo stays in every state", async () => {
    const { lab, host } = layLan()
    const inside = (...argv: string[]) => lab.exec(host, argv)
    const on = (device: string) => inside('ip', '-4', '-o', 'address', 'show', 'dev', device)
    const has = (address: string) => on('eth0').includes(` ${address}/24 `)
    inside('ip', 'address', 'add', `${PRIMARY}/32`, 'dev', 'lo')
    const written = (address: string) => ({ profile: 'keepalived', addresses: [`${address}/24`] })
    const first = new Holdfast(lab, plan(host), written(PRIMARY))
    await eventually('the VIP', () => has(PRIMARY), { sight: () => on('eth0'), every: 20 })
    expect(on('lo')).toContain(` ${PRIMARY}/32 `)
    first.terminate()
    await first.exited
    expect([has(PRIMARY), on('lo').includes(` ${PRIMARY}/32 `)]).toEqual([false, true])

    inside('ip', 'address', 'add', `${PRIMARY}/24`, 'dev', 'eth0')
    const second = new Holdfast(lab, plan(host), written(SECONDARY))
    await eventually('the other VIP', () => has(SECONDARY), { sight: () => on('eth0'), every: 20 })
    expect(has(PRIMARY), "whether eth0 has the node's own address").toBe(true)
    second.terminate()
    await second.exited
    expect(on('eth0')).toContain(` ${PRIMARY}/24 `)
  })

  test('a VIP on another interface is announced there, is a fault while the interface is down, and is gone with its engine', async () => {
    const { lab, host } = layLan()
    const { namespace } = host
    const far = lab.client.namespace
    ip(namespace, `link add eth1 type veth peer name far netns ${far}`)
    for (const [where, link] of [
      [namespace, 'eth1'],
      [far, 'far'],
    ] as const)
      ip(where, `link set ${link} up`)
    ip(far, 'address add 10.88.0.2/24 dev far')
    // The client's entry names another host. Only an announcement corrects the entry.
    ip(far, `neighbour add ${AWAY} lladdr 02:00:00:00:00:99 dev far nud stale`)
    const on = (device: string) => ip(namespace, `-o -4 address show dev ${device}`)
    const held = () => [on('eth0').includes(` ${VIP}/`), on('eth1').includes(` ${AWAY}/24 `), on('eth0').includes(AWAY)]
    const both = (what: string, wanted: boolean) =>
      eventually(
        what,
        () =>
          held()
            .slice(0, 2)
            .every((has) => has === wanted),
        { sight: held, every: 20 },
      )

    const addresses = [VIP, { address: `${AWAY}/24`, interface: 'eth1' }]
    const daemon = new Holdfast(lab, plan(host), { profile: 'keepalived', addresses })
    await both('each address on its interface', true)
    expect(held()[2], `whether eth0 has ${AWAY} as well`).toBe(false)
    const mac = /link\/ether (\S+)/.exec(ip(namespace, 'link show eth1'))?.[1] ?? 'no MAC'
    const known = () => ip(far, `neighbour show ${AWAY}`)
    await eventually('the client to hear of it', () => known().includes(mac), { sight: known, every: 20 })

    ip(namespace, 'link set eth1 down')
    await both('neither while eth1 is down', false)
    expect((await daemon.router()).faults).toEqual(['addressInterfaceDown:eth1'])
    ip(namespace, 'link set eth1 up')
    await both('both when it is up again', true)

    daemon.killEngine()
    await daemon.process.line(/engine (died|missed its deadline): removed /, WITHIN)
    await both('neither after kill -9', false)
  })

  test("with the same settings, announcements, source, count of addresses and wait before the start equal keepalived's", async () => {
    const [ours, theirs] = [layLan(), layLan()]
    for (const { host } of [ours, theirs]) ip(host, `address add ${SOURCE}/24 dev eth0`)
    const captures = await Promise.all(
      [ours, theirs].map(({ lab }) => Capture.start(lab, 'wire', 'ip proto 112 or arp or icmp6')),
    )
    new Holdfast(
      ours.lab,
      { ...plan(ours.host), intervalMs: 1000 },
      {
        ...EXTRA,
        startAs: 'active',
        transport: { multicast: { source: SOURCE } },
        announce: { at: ['0ms', '2s'], copies: 3 },
      },
    )
    const startedAt = [Date.now()]
    const file = join(theirs.lab.directory, 'keepalived.conf')
    writeFileSync(
      file,
      `vrrp_instance V {
  state MASTER
  interface eth0
  virtual_router_id 51
  priority 100
  advert_int 1
  version 3
  mcast_src_ip ${SOURCE}
  garp_master_delay 2
  garp_master_repeat 3
  virtual_ipaddress {
    ${VIP}/24 label vip
  }
  virtual_ipaddress_excluded {
    ${LAB_VIP6}/64
  }
}
`,
    )
    const pids = ['-p', join(theirs.lab.directory, 'pid'), '-r', join(theirs.lab.directory, 'vrrp')]
    const argv = ['keepalived', '-n', '-P', '-l', '-D', '-f', file, ...pids]
    startedAt.push(Date.now())
    const keepalived = new LoggedProcess(theirs.lab, theirs.host, argv)
    await keepalived.line(/Entering BACKUP STATE/, WITHIN)
    await waitFor('keepalived to be Active', theirs.host, 2)
    await waitFor('holdfast to be Active', ours.host, 2)
    await sleep(2_700)
    const frames = await Promise.all(captures.map((capture) => capture.stop()))
    const seen = frames.map(summaryOf)
    const waits = frames.map((each, i) => firstOf(each) * 1000 - (startedAt[i] ?? 0))
    for (const wait of waits)
      expect(
        wait,
        `ms from the start to the first advertisement, of ${waits}: both listen for an Active_Down_Interval`,
      ).toBeGreaterThan(3_500)
    expect(seen[0], 'packets of holdfast, compared with those of keepalived').toEqual(seen[1])
    expect(seen[1]).toEqual({ source: SOURCE, ttl: '255', addresses: VIP, arp: [3, 3], na: [3, 3] })
  })

  test('every unicast packet has the TTL of unicast_ttl, also the priority 0 of the guardian', async () => {
    const { lab, host } = layLan()
    const capture = await Capture.start(lab, 'ttl', 'ip proto 112')
    const daemon = new Holdfast(lab, plan(host), { ...EXTRA, transport: { unicast: { peers: ['10.77.0.2'], ttl: 3 } } })
    await waitFor('both addresses', host, 2)
    await sleep(300)
    daemon.killEngine()
    await waitFor('no address', host, 0)
    await sleep(300)
    const sent = await capture.stop()
    expect(sent.at(-1)?.priority, 'priority of the last packet, which the guardian sent').toBe('0')
    expect(new Set(sent.map(({ ttl, destination }) => `${destination} ${ttl}`))).toEqual(new Set(['10.77.0.2 3']))
  })
})

const isAdvertisement = ({ vrid }: Frame): boolean => vrid !== ''
/** Returns the time of the first advertisement, in seconds since 1970. */
const firstOf = (frames: readonly Frame[]): number => Number(frames.find(isAdvertisement)?.at ?? 0)

/** Returns the number of announcements soon after the first advertisement, and 2 s later. */
function summaryOf(frames: readonly Frame[]) {
  const advertisement = frames.find(isAdvertisement)
  if (advertisement === undefined) throw new Error('Cannot find an advertisement in the capture')
  const { addresses, at, source, ttl } = advertisement
  const counts = (those: readonly Frame[]) => {
    const after = those.map((frame) => Number(frame.at) - Number(at))
    return [after.filter((s) => s < 0.5).length, after.filter((s) => Math.abs(s - 2) < 0.5).length]
  }
  const arp = frames.filter(({ arpSender, arpTarget }) => arpSender === VIP && arpTarget === VIP)
  const na = frames.filter(({ naTarget, naSolicited }) => naTarget === LAB_VIP6 && !['1', 'True'].includes(naSolicited))
  return { source, ttl, addresses, arp: counts(arp), na: counts(na) }
}
