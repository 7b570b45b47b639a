/**
 * `holdfast doctor` on a LAN with a running daemon. In a healthy lab the command finds nothing and disturbs no host, not even the daemon on
 * its own node. In a lab with every fault that one node can find, the command names each fault. A capture shows the packets that the
 * command sends.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { statusCommand } from '../../src/cli/status/status.ts'
import type { Finding } from '../../src/doctor/finding.ts'
import { Holdfast, holdfastConfig } from '../../src/lab/daemons/holdfast.ts'
import { inside, ip } from '../../src/lab/ip.ts'
import { createLab, HOLDFAST, type Host, LAB_VIP, type Lab } from '../../src/lab/lab.ts'
import { LoggedProcess } from '../../src/lab/logged-process.ts'
import { eventually } from '../../src/lab/wait.ts'
import { Capture } from '../../src/lab/watch/capture.ts'
import { describeNetns } from '../support/require.ts'

const INTERVAL = 500
/** Duration of the command's listening: longer than three intervals. */
const DURATION = '2s'
const PEERS = ['10.77.0.11', '10.77.0.12']
/** Limit in ms for process starts on a busy machine. */
const WITHIN = 30_000
const WITHOUT_NICE = ['setpriv', '--bounding-set', '-all,+net_admin,+net_raw', '--inh-caps', '-all']

type Report = {
  readonly version: number
  readonly worst: string
  readonly interval: { readonly ordinary: { readonly intervalMs: number } | null }
  readonly findings: readonly Finding[]
}
type Doctored = { readonly code: number | null; readonly report: Report }

let lab: Lab
beforeEach(() => {
  lab = createLab({ routers: 3, clients: ['client', 'observer'] })
})
afterEach(() => lab.destroy())

const plan = (position: number, priority: number) => {
  return { host: lab.router(position), priority, intervalMs: INTERVAL, address: LAB_VIP, peers: PEERS }
}

function fileFor(position: number): string {
  const file = join(lab.directory, `doctor-${position}.yaml`)
  writeFileSync(file, holdfastConfig(plan(position, 100), lab.directory))
  return file
}

async function doctor(host: Host, ...options: readonly string[]): Promise<Doctored> {
  const process = new LoggedProcess(lab, host, [HOLDFAST, 'doctor', '--json', '--duration', DURATION, ...options])
  const { code } = await process.exited
  const text = process.lines.map((line) => line.text).join('\n')
  try {
    const report: Report = JSON.parse(text)
    return { code, report }
  } catch {
    throw new Error(`holdfast doctor on ${host.name} ended with ${code} and printed: ${text}`)
  }
}

const lines = ({ findings }: Report) =>
  findings.map(({ about, check, found, level }) => `${level} ${check} ${about}: ${found}`)
/** Checks about the load of the machine. The findings about load do not belong to the lab. */
const WEATHER = ['timers', 'interval', 'processor', 'clock']
const bad = (report: Report) =>
  lines(report).filter((line) => /^(warning|error) /.test(line) && !WEATHER.includes(line.split(' ')[1] ?? ''))
const STATUS: Readonly<Record<string, number>> = { ok: 0, note: 0, warning: 2, error: 3 }

async function active(daemon: Holdfast): Promise<void> {
  await daemon.becomes('Active', WITHIN)
}

/** Waits for a log line. A log line and the status arrive by different ways. */
const says = (daemon: Holdfast, words: string) =>
  eventually(`the log to say ${words}`, () => daemon.records.some(({ msg }) => msg === words), {
    sight: () => daemon.lines,
    within: 2_000,
  })

describeNetns('holdfast doctor', () => {
  test('in a healthy lab, holdfast doctor finds nothing on either node, and the daemon on the node notices nothing', async () => {
    const daemon = new Holdfast(lab, plan(1, 200), {}, ['--realtime'])
    await active(daemon)
    const before = { addresses: lab.addresses(lab.router(1)), router: await daemon.router() }
    const capture = await Capture.start(lab, 'doctor', 'ip proto 112 or ip6 proto 112 or arp or udp port 9656')
    const [beside, alone] = await Promise.all([doctor(lab.router(1), daemon.file), doctor(lab.router(2), fileFor(2))])
    const frames = await capture.stop()
    expect(bad(beside.report), 'warnings and errors on the node of the Active').toEqual([])
    expect(bad(alone.report), 'warnings and errors on the node without a daemon').toEqual([])
    for (const { code, report } of [beside, alone]) expect(code, report.worst).toBe(STATUS[report.worst])
    expect(beside.report.version).toBe(1)
    const said = lines(alone.report).join('\n')
    expect(said).toContain('ok multicast eth0, IPv4: passes in both directions: doctor on 10.77.0.11')
    expect(said).toContain(`answers for ${LAB_VIP}`)
    expect(said).toMatch(/10\.77\.0\.11, Active of VRID 51 with priority 200/)
    expect(lines(beside.report).join('\n')).toContain(`${LAB_VIP} is on this node, and no other host answers for it`)

    // The real-time priority of --realtime is in the log and in the status, and doctor reports the priority.
    expect(lines(beside.report).join('\n')).toMatch(/ok processes undefined: holdfast \(pid \d+\) runs here, SCHED_RR/)
    expect((await daemon.snapshot())?.scheduling).toEqual({
      policy: 'SCHED_RR',
      priority: 20,
      realtimeAsked: true,
      guardian: { policy: 'SCHED_RR', priority: 21, confined: true },
    })
    await says(daemon, "Real-time priority 20 (SCHED_RR) for the engine's own thread; guardian: 21")

    // The capture on a third host has advertisements of the Active only.
    const speakers = frames.filter(({ versionAndType }) => versionAndType !== '').map(({ source }) => source)
    expect([...new Set(speakers)], 'sources of the captured advertisements').toEqual(['10.77.0.11'])
    // The packets by which doctor tests the firewall rules of a node stay on the node.
    expect(frames.filter(({ ttl }) => ttl === '0')).toEqual([])
    const after = await daemon.router()
    expect(after).toMatchObject({ state: 'Active', since: before.router.since, duplicates: [], mismatchedRouters: [] })
    expect(after.counters.discarded).toEqual({})
    expect((await daemon.snapshot())?.interfaces.map(({ discarded }) => discarded)).toEqual([{}])
    expect(lab.addresses(lab.router(1))).toEqual(before.addresses)
    expect(lab.addresses(lab.router(2))).not.toContain(`${LAB_VIP}/32`)
  })

  test('in a broken lab, holdfast doctor names each fault', async () => {
    const [r1, r2, r3] = [lab.router(1), lab.router(2), lab.router(3)]
    // A second group with the same VRID.
    const otherPlan = { ...plan(3, 200), address: '10.77.0.150', peers: [] }
    const other = new Holdfast(lab, otherPlan, {}, ['--realtime'], {}, WITHOUT_NICE)
    await active(other)
    // The configuration asks for real-time priority. The daemon has no permission for it, and logs that.
    expect(await statusCommand(other.socket, { json: false })).toMatchObject({
      stdout: expect.stringContaining(', WITHOUT THE REQUESTED REAL-TIME PRIORITY\n'),
    })
    await says(
      other,
      'Real-time priority was requested, but the engine runs with SCHED_OTHER: CAP_SYS_NICE is missing, or RLIMIT_RTPRIO allows less',
    )
    expect(r3.address).toBe('10.77.0.13')
    // One host has the virtual address, and one host has the address of this node.
    ip(lab.client, `address add ${LAB_VIP}/24 dev eth0`)
    ip(lab.host('observer'), `address add ${r2.address}/24 dev eth0`)
    ip(r2, 'link set eth0 mtu 1000')
    // The route back to the peer leads to another link.
    ip(r2, 'link add away type veth peer name far')
    for (const end of ['away', 'far']) ip(r2, `link set ${end} up`)
    ip(r2, `route add ${r1.address}/32 dev away`)
    inside(r2, ['sysctl', '-qw', 'net.ipv4.conf.eth0.rp_filter=1', 'net.ipv4.conf.eth0.arp_ignore=8'])
    inside(r2, [
      'nft',
      'add table ip t; add chain ip t in { type filter hook input priority 0; }; add rule ip t in ip protocol 112 drop;' +
        'add chain ip t out { type filter hook output priority 0; }; add rule ip t out ip protocol 112 drop',
    ])
    const { code, report } = await doctor(r2, fileFor(2))
    const found = (check: string) =>
      bad(report)
        .filter((line) => line.split(' ')[1] === check)
        .join('\n')
    expect
      .soft(found('vrid'))
      .toMatch(/error .*10\.77\.0\.13 .*advertises VRID 51: .*for 10\.77\.0\.150.*has the same VRID for 10\.77\.0\.100/)
    expect
      .soft(found('virtual-address'))
      .toMatch(
        /error virtual-address vip: .* answers for 10\.77\.0\.100, but no router|error .*\d hosts answer for 10\.77\.0\.100/,
      )
    expect
      .soft(found('primary-address'))
      .toMatch(/error .*10\.77\.0\.12 belongs to this node, but .* also answers for it/)
    expect.soft(found('mtu')).toMatch(/warning .*the MTU is 1000/)
    expect.soft(found('reverse-path')).toMatch(/error .*10\.77\.0\.11 \(by away\)/)
    expect.soft(found('arp-settings')).toMatch(/error .*arp_ignore is 8/)
    expect.soft(found('packet-filter')).toMatch(/error .*blocks outgoing VRRP packets/)
    expect
      .soft(found('packet-filter'))
      .toMatch(/error .*advertisements of 10\.77\.0\.13 arrived, but this node dropped them: a packet filter/)
    expect.soft(report.worst).toBe('error')
    expect(code).toBe(3)
  })

  test('strict reverse path filtering is judged by the rules of policy routing, not by the main table', async () => {
    const r2 = lab.router(2)
    const file = join(lab.directory, 'rules.yaml')
    writeFileSync(file, holdfastConfig({ ...plan(2, 100), peers: ['10.77.0.11', '10.77.0.13'] }, lab.directory))
    ip(r2, 'link add away type veth peer name far')
    for (const end of ['away', 'far']) ip(r2, `link set ${end} up`)
    // A rule leads packets for the first peer to another link. The main table leads packets for the second peer there, and a rule leads
    // them back.
    ip(r2, 'route add 10.77.0.11/32 dev away table 100')
    ip(r2, 'rule add to 10.77.0.11 lookup 100')
    ip(r2, 'route add 10.77.0.13/32 dev away')
    ip(r2, 'route add 10.77.0.13/32 dev eth0 table 101')
    ip(r2, 'rule add to 10.77.0.13 lookup 101')
    inside(r2, ['sysctl', '-qw', 'net.ipv4.conf.eth0.rp_filter=1'])
    const reversePath = async () => {
      const { report } = await doctor(r2, file)
      return lines(report).filter((line) => line.split(' ')[1] === 'reverse-path')
    }
    expect(await reversePath()).toEqual([
      expect.stringMatching(
        /^error .* uses another interface for 10\.77\.0\.11 \(policy routing: ip rule, [^)]*\): the kernel drops/,
      ),
    ])
    ip(r2, 'rule delete to 10.77.0.11')
    expect(await reversePath()).toEqual([
      expect.stringMatching(/^ok reverse-path eth0: rp_filter is 1 \(strict\), and/),
    ])
  })
})
