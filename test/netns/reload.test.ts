/**
 * Reload as an operator does it, on three nodes. Changes around an unchanged router must not be visible on that router. Assertions use a
 * client that probes the router every millisecond, the kernel's own notifications, and the packets of the LAN. The commands yield and stop
 * use the same socket.
 */
import { execFile, execFileSync } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, type TestContext } from 'vitest'
import { Holdfast } from '../../src/lab/daemons/holdfast.ts'
import { ip } from '../../src/lab/ip.ts'
import { createLab, HOLDFAST, type Host, LAB_VIP, type Lab } from '../../src/lab/lab.ts'
import { familyOf, LoggedProcess } from '../../src/lab/logged-process.ts'
import { eventually, sleep } from '../../src/lab/wait.ts'
import { Capture } from '../../src/lab/watch/capture.ts'
import { Prober, startResponder } from '../../src/lab/watch/probe.ts'
import { judgeTime } from '../judge/time.ts'
import { describeNetns } from '../support/require.ts'
import { Turns } from '../support/turns.ts'

const INTERVAL = 1_000
const PRIORITIES = [200, 150, 100] as const
const WITHIN = 10_000
/**
 * Shortest and longest gap in ms between two advertisements. A timer that a reload restarts moves an advertisement within its interval, and
 * a missing advertisement makes a gap of two intervals. Twelve reloads do not all end near an advertisement. A busy machine is late by
 * less.
 */
const GAPS = { shortest: 0.5 * INTERVAL, longest: 1.5 * INTERVAL }
/**
 * Limit of lost probes, with one probe a millisecond. Without a hand-over, r2 waits for its Skew_Time (414 ms) or its Active_Down_Interval
 * (3.4 s).
 */
const HANDED_OVER = 200
const SECOND_VIP = '10.77.0.101'
const VIP6 = 'fd00:77::110'
const SECOND_VIP6 = 'fd00:77::111'

type Keys = Readonly<Record<string, unknown>>
type Ran = { readonly status: number | undefined; readonly stdout: string; readonly stderr: string }

/** Keys of the router that never changes. */
const steady = (priority: number): Keys => ({
  name: 'vip',
  vrid: 51,
  interface: 'eth0',
  addresses: [LAB_VIP],
  priority,
  advertisementInterval: `${INTERVAL}ms`,
  transport: 'multicast',
  announce: { refresh: false },
})
/** Keys of the same router in IPv6. */
const steady6 = (priority: number): Keys => ({ ...steady(priority), name: 'vip6', vrid: 71, addresses: [VIP6] })
const other = (name: string, vrid: number, priority: number, extra: Keys = {}): Keys => ({
  name,
  vrid,
  interface: 'eth0',
  addresses: [`10.77.0.${100 + vrid - 51}`],
  priority,
  advertisementInterval: '200ms',
  ...extra,
})

class Node {
  readonly host: Host
  readonly daemon: Holdfast
  readonly file: string
  readonly directory: string
  readonly priority: number

  constructor(network: Lab, position: number) {
    this.host = network.router(position)
    this.priority = PRIORITIES[position - 1] ?? 1
    this.directory = join(network.directory, `holdfast-${this.host.name}`)
    this.file = join(this.directory, 'holdfast.yaml')
    const plan = { host: this.host, priority: this.priority, intervalMs: INTERVAL, address: LAB_VIP }
    this.daemon = new Holdfast(network, plan, { announce: { refresh: false } })
  }

  write(routers: readonly Keys[], keys: Keys = {}): void {
    const config = {
      version: 1,
      runDirectory: this.directory,
      api: { listen: false },
      virtualRouters: routers,
      ...keys,
    }
    writeFileSync(this.file, JSON.stringify(config, null, 2))
  }

  /** Runs a command. The status of the command is `undefined` if a signal ended it. */
  command(...words: readonly string[]): Promise<Ran> {
    const argv = [...words, '--socket', this.daemon.socket]
    return new Promise((resolve) => {
      execFile(HOLDFAST, argv, { timeout: 30_000 }, (error, stdout, stderr) => {
        const status = error === null ? 0 : error.code
        resolve({ status: typeof status === 'number' ? status : undefined, stdout, stderr })
      })
    })
  }

  /** Writes the routers to the configuration file and reloads it. Returns the output of the command. */
  async reload(routers: readonly Keys[], keys: Keys = {}): Promise<string> {
    this.write(routers, keys)
    const { status, stdout, stderr } = await this.command('reload')
    expect([status, stderr], `reload on ${this.host.name}`).toEqual([0, ''])
    return stdout
  }

  snapshot() {
    return this.daemon.status()
  }

  async router(name: string) {
    return (await this.daemon.snapshot())?.routers.find((router) => router.name === name)
  }

  async becomes(name: string, state: string, occasion: string): Promise<void> {
    await eventually(
      `"${name}" on ${this.host.name} to be ${state} after ${occasion}`,
      async () => (await this.router(name))?.state === state,
      { sight: () => this.router(name), every: 50 },
    )
  }

  /** Returns the inodes of the engine's raw sockets, as the kernel reports them. */
  rawSockets(): string[] {
    const engine = familyOf(this.daemon.process.pid).at(-1) ?? 0
    const rows = ['raw', 'raw6'].flatMap((name) =>
      readFileSync(`/proc/${engine}/net/${name}`, 'utf8').trim().split('\n').slice(1),
    )
    return rows.map((row) => row.trim().split(/\s+/)[9] ?? '').sort()
  }
}

async function settled({ onTestFinished }: TestContext, nodes = 3): Promise<{ lab: Lab; nodes: Node[]; first: Node }> {
  const network = createLab({ routers: nodes })
  onTestFinished(() => network.destroy())
  for (const host of network.routers) startResponder(network, host)
  const all = network.routers.map((_, i) => new Node(network, i + 1))
  for (const node of all) await node.daemon.ready()
  const [first] = all
  if (first === undefined) throw new Error('no node')
  await first.becomes('vip', 'Active', 'the start')
  for (const node of all.slice(1)) await node.becomes('vip', 'Backup', 'the start')
  return { lab: network, nodes: all, first }
}

/** Reports whether a line of `ip monitor address` is a removal; all other lines are renewals by the guardian. */
const isRemoval = (text: string): boolean => text.startsWith('Deleted')

describeNetns('a reload of the configuration', () => {
  const turns = new Turns(3)

  turns.test('twelve reloads of three nodes leave a router with unchanged settings untouched', async (context) => {
    const { lab: network, nodes, first } = await settled(context)
    const peers = network.routers.map(({ address }) => address)
    const unicast = (host: Host, ...others: readonly string[]) => ({
      transport: { unicast: { source: host.address, peers: others } },
    })
    for (const node of nodes)
      expect(await node.reload([steady(node.priority), steady6(node.priority)])).toMatch(/^vip6: added$/m)
    await first.becomes('vip6', 'Active', 'its arrival')
    for (const node of nodes.slice(1)) await node.becomes('vip6', 'Backup', 'its arrival')
    // By then the first announcements have ended.
    await sleep(6_000)
    const monitor = new LoggedProcess(network, first.host, ['ip', 'monitor', 'address'])
    const capture = await Capture.start(network, 'reload', 'ip proto 112 or ip6 proto 112 or arp or icmp6')
    const prober = new Prober(network, network.client, LAB_VIP)
    await prober.answeredBy('r1', WITHIN)
    const before = [await first.router('vip'), await first.router('vip6')]
    const sockets = first.rawSockets()
    expect(sockets.length, 'raw sockets of the engine').toBeGreaterThan(1)

    const rounds: readonly ((node: Node) => readonly [readonly Keys[], Keys?])[] = [
      ({ priority }) => [
        [steady(priority), other('b', 52, priority), other('b6', 72, priority, { addresses: [SECOND_VIP6] })],
      ],
      ({ priority }) => [[steady(priority), other('b', 52, 300 - priority)]],
      ({ priority }) => [[steady(priority), other('b', 52, priority, { advertisementInterval: '50ms' })]],
      ({ priority, host }) => [[steady(priority), other('b', 52, priority, unicast(host, ...peers.slice(0, 2)))]],
      ({ priority, host }) => [[steady(priority), other('b', 52, priority, unicast(host, ...peers))]],
      ({ priority }) => [[other('b', 52, priority), other('c', 53, priority), steady(priority)]],
      ({ priority }) => [
        [steady(priority), other('b', 52, priority), other('c', 53, priority)],
        { syncGroups: [{ name: 'g', members: ['b', 'c'] }] },
      ],
      ({ priority }) => [
        [steady(priority), other('b', 52, 300 - priority), other('c', 53, 300 - priority), other('d', 54, priority)],
        { syncGroups: [{ name: 'g', members: ['b', 'c'] }] },
      ],
      ({ priority }) => [
        [steady(priority), other('b', 52, priority), other('c', 53, priority), other('d', 54, priority)],
        { syncGroups: [{ name: 'h', members: ['c', 'd'] }] },
      ],
      ({ priority }) => [[steady(priority), other('b', 62, priority), other('d', 54, priority, { preempt: false })]],
      ({ priority }) => [[steady(priority), other('d', 54, priority, { addresses: ['10.77.0.120', '10.77.0.121'] })]],
      ({ priority }) => [[steady(priority)]],
    ]
    for (const [i, round] of rounds.entries()) {
      const reload = async (node: Node) => {
        const [routers, keys] = round(node)
        const said = await node.reload([...routers, steady6(node.priority)], keys)
        expect(said, `output of reload ${i + 1}, which must not name the unchanged routers`).not.toMatch(/^vip6?:/m)
        expect(said).toMatch(/unchanged\n$/)
      }
      await Promise.all(nodes.map(reload))
      expect(first.rawSockets(), `raw sockets of the engine after reload ${i + 1}`).toEqual(sockets)
      await sleep(1_200)
    }
    // By then the removed routers have left.
    await sleep(1_000)
    const { lost, sent } = await prober.stop()
    const after = [await first.router('vip'), await first.router('vip6')]
    expect(lost, `probes lost of ${sent}`).toBe(0)
    expect(sent).toBeGreaterThan(10_000)
    for (const [i, router] of after.entries()) {
      expect([router?.state, router?.since, router?.counters.transitions, router?.counters.foreignChanges]).toEqual([
        'Active',
        before[i]?.since,
        before[i]?.counters.transitions,
        {},
      ])
    }
    for (const { host } of nodes)
      expect(network.addresses(host).filter((text) => text.endsWith('/32'))).toEqual(
        host === first.host ? [`${LAB_VIP}/32`] : [],
      )

    const frames = await capture.stop()
    for (const vrid of ['51', '71']) {
      const beats = frames
        .filter((frame) => frame.vrid === vrid)
        .map(({ at, mac }) => ({ at: Number(at) * 1_000, mac }))
      const macs = [network.exec(first.host, ['cat', '/sys/class/net/eth0/address']).trim()]
      expect([...new Set(beats.map(({ mac }) => mac))], `MACs that advertised VRID ${vrid}`).toEqual(macs)
      expect(beats.length, `advertisements of VRID ${vrid}`).toBeGreaterThan(10)
      const gaps = beats.slice(1).map(({ at }, i) => at - (beats[i]?.at ?? 0))
      judgeTime(`ms, the longest gap of VRID ${vrid}`, Math.max(...gaps), GAPS.longest, 'RFC 9568 §6.4.3')
      expect(Math.min(...gaps), `shortest gap in ms between two advertisements of VRID ${vrid}`).toBeGreaterThan(
        GAPS.shortest,
      )
    }
    const told6 = (vip: string) => frames.filter(({ naTarget }) => naTarget === vip).length
    expect([told6(VIP6), told6(SECOND_VIP6) > 0], 'Neighbor Advertisements for it, and for another one').toEqual([
      0,
      true,
    ])
    const claims = frames.filter(({ arpSender, arpOperation }) => arpSender === LAB_VIP && arpOperation === '1')
    expect(claims, 'gratuitous ARP for the unchanged VIP').toEqual([])
    const announced = frames.filter(({ arpSender, arpOperation }) => arpSender === SECOND_VIP && arpOperation === '1')
    expect(announced.length, 'gratuitous ARP for another VIP, which shows that the observer worked').toBeGreaterThan(0)
    const told = monitor.lines.filter(({ text }) => text.includes(`${SECOND_VIP}/`))
    expect(told.length, 'kernel notifications about another address, which show that the watch worked').toBeGreaterThan(
      0,
    )
    const news = monitor.lines.filter(
      ({ text }) => isRemoval(text) && (text.includes(`${LAB_VIP}/`) || text.includes(`${VIP6}/`)),
    )
    expect(news, 'removals of the addresses of the unchanged routers in the kernel notifications').toEqual([])
    monitor.killFamily()
    expect(await first.snapshot()).toMatchObject({ config: { reloads: { ok: rounds.length + 1, failed: 0 } } })
  })

  turns.test(
    'a bad file keeps the old configuration and is reported everywhere, until SIGHUP loads a good file',
    async (context) => {
      const { lab: network, first } = await settled(context, 1)
      const port = '127.0.0.1:9655'
      ip(first.host, 'link set lo up')
      first.daemon.terminate()
      await first.daemon.exited
      first.write([steady(200)], { api: { listen: port } })
      const daemon = new LoggedProcess(network, first.host, [HOLDFAST, 'run', '-c', first.file])
      await first.becomes('vip', 'Active', 'its second start')
      const metrics = () => {
        const stdout = network.exec(first.host, ['curl', '-s', '-m', '10', `http://${port}/metrics`])
        return stdout.split('\n').filter((line) => line.startsWith('holdfast_config_'))
      }
      const hash = (await first.snapshot()).config.hash ?? ''
      expect(metrics()).toContain(`holdfast_config_hash ${Number.parseInt(hash, 16)}`)
      expect(metrics()).toContain('holdfast_config_reload_success 1')

      writeFileSync(
        first.file,
        'virtualRouters:\n  - { name: vip, vrid: 300, interface: eth0, addresses: [10.77.0.100] }\n',
      )
      const bad = await first.command('reload')
      expect([bad.status, bad.stdout]).toEqual([78, ''])
      expect(bad.stderr.split('\n')[0], 'first line of the refused reload, with the place of the problem').toMatch(
        new RegExp(`^${first.file}:2:24: .*300`),
      )
      expect(bad.stderr).toContain(
        `holdfast: Cannot reload ${first.file}: one problem; the configuration in force is kept`,
      )
      const json = await first.command('reload', '--json')
      expect([json.status, JSON.parse(json.stdout)]).toEqual([
        78,
        expect.objectContaining({ ok: false, fault: 'invalid' }),
      ])
      const logged = () => daemon.lines.filter(({ text }) => text.includes('"level":50')).map(({ text }) => text)
      await eventually('the log to name the place', () => logged().some((text) => text.includes(':2:24:')), {
        sight: logged,
      })
      expect(await first.snapshot()).toMatchObject({
        config: {
          hash,
          reloads: { ok: 0, failed: 2 },
          lastReload: { ok: false, reason: 'one problem', problems: [{ line: 2 }] },
        },
        routers: [{ name: 'vip', state: 'Active', vrid: 51 }],
      })
      expect((await first.command('status')).stdout).toContain('LAST RELOAD FAILED')
      expect(metrics()).toContain('holdfast_config_reload_success 0')
      expect(metrics()).toContain('holdfast_config_reloads_total{result="failed"} 2')

      // First a missing file, then a file with a problem that only this node can find.
      rmSync(first.file)
      expect(await first.command('reload')).toMatchObject({
        status: 78,
        stderr: expect.stringContaining('there is no such file'),
      })
      first.write([{ ...steady(200), addresses: [first.host.address] }])
      expect(await first.command('reload')).toMatchObject({
        status: 78,
        stderr: expect.stringContaining('the own address of'),
      })
      expect((await first.router('vip'))?.state).toBe('Active')

      first.write([steady(200), other('b', 52, 100)], { api: { listen: port }, log: { level: 'warn' } })
      daemon.signal('SIGHUP')
      await first.becomes('b', 'Active', 'SIGHUP')
      expect(await first.snapshot()).toMatchObject({
        config: { reloads: { ok: 1, failed: 4 }, lastReload: { ok: true } },
      })
      expect(metrics()).toContain('holdfast_config_reload_success 1')
      expect(network.addresses(first.host)).toEqual(expect.arrayContaining([`${LAB_VIP}/32`, `${SECOND_VIP}/32`]))
      daemon.signal('SIGTERM')
      expect((await daemon.exited).code).toBe(0)
    },
  )

  turns.test(
    'changed peers of a unicast router and a new multicast router beside it touch neither address nor socket',
    async (context) => {
      const { lab: network, nodes, first } = await settled(context, 2)
      const [, second] = nodes
      if (second === undefined) throw new Error('Cannot find the second node')
      const addresses = network.routers.map(({ address }) => address)
      const unicast = ({ host, priority }: Node, ...more: readonly string[]) => ({
        ...steady(priority),
        transport: { unicast: { source: host.address, peers: [...addresses, ...more] } },
      })
      for (const node of [second, first])
        expect(await node.reload([unicast(node)])).toMatch(/^vip: recreated \(transport multicast → unicast\)$/m)
      await first.becomes('vip', 'Active', 'its change to unicast')
      await second.becomes('vip', 'Backup', 'its change to unicast')
      await eventually(
        'the socket that had joined the group to be gone',
        () => nodes.every((node) => node.rawSockets().length > 1),
        { sight: () => nodes.map((node) => node.rawSockets()) },
      )
      const prober = new Prober(network, network.client, LAB_VIP)
      const monitor = new LoggedProcess(network, first.host, ['ip', 'monitor', 'address'])
      await prober.answeredBy('r1', WITHIN)
      const sockets = nodes.map((node) => node.rawSockets())
      for (const node of nodes)
        expect(await node.reload([unicast(node, '10.77.0.50')])).toMatch(
          /^vip: changed \(transport\.unicast\.peers .+\)$/m,
        )
      for (const node of nodes) {
        const beside = other('c', 53, node.priority)
        expect(await node.reload([unicast(node, '10.77.0.50'), beside])).toMatch(/^c: added\n.*1 router unchanged$/m)
      }
      await first.becomes('c', 'Active', 'its arrival')
      // Only a router that has joined the group receives the advertisements of the Active.
      await eventually(
        'r2 to follow r1 in "c"',
        async () => (await second.router('c'))?.holder.address === first.host.address,
        { sight: () => second.router('c') },
      )
      await sleep(2 * INTERVAL)
      expect((await second.router('c'))?.state).toBe('Backup')
      expect(nodes.map((node) => node.rawSockets())).toEqual(sockets)
      // Only the TTL changes; the capture shows the TTL on the LAN.
      const capture = await Capture.start(network, 'ttl', 'ip proto 112', first.host)
      const near = unicast(first, '10.77.0.50')
      const before = (await first.snapshot()).config.reloads.ok
      const far = { ...near, transport: { unicast: { ...near.transport.unicast, ttl: 64 } } }
      first.write([far, other('c', 53, first.priority)])
      const dry = await first.command('reload', '--dry-run')
      expect([dry.status, dry.stdout]).toEqual([
        0,
        expect.stringMatching(/^vip: changed \(transport\.unicast\.ttl 255 → 64\)\n.*: would be reloaded \(/),
      ])
      expect((await first.snapshot()).config.reloads.ok).toBe(before)
      expect(await first.reload([far, other('c', 53, first.priority)])).toMatch(
        /^vip: changed \(transport\.unicast\.ttl 255 → 64\)$/m,
      )
      const reloadedAt = Date.now() / 1000
      await sleep(2.5 * INTERVAL)
      const ttls = (await capture.stop()).filter(({ vrid, at }) => vrid === '51' && Number(at) > reloadedAt)
      expect(ttls.length, 'advertisements after the reload').toBeGreaterThan(1)
      expect(new Set(ttls.map(({ ttl }) => ttl))).toEqual(new Set(['64']))
      expect(first.rawSockets(), 'raw sockets after the reload: the old ones, and one more for the new TTL').toEqual(
        expect.arrayContaining(sockets[0] ?? []),
      )
      const { lost, sent } = await prober.stop()
      expect(lost, `probes lost of ${sent}`).toBe(0)
      expect(monitor.lines.filter(({ text }) => isRemoval(text) && text.includes(`${LAB_VIP}/`))).toEqual([])
      monitor.killFamily()
    },
  )

  turns.test(
    'a pipe in the place of the file makes the reload fail immediately, and the daemon can still be reloaded and ended',
    async (context) => {
      const { first } = await settled(context, 1)
      rmSync(first.file)
      execFileSync('mkfifo', [first.file])
      const { status, stderr } = await first.command('reload')
      expect(status).toBe(78)
      expect(stderr).toContain(`${first.file}: Cannot read the configuration: it is not a regular file\n`)
      rmSync(first.file)
      expect(await first.reload([steady(200), other('b', 52, 100)])).toMatch(/^b: added$/m)
      expect((await first.router('vip'))?.state).toBe('Active')
      first.daemon.terminate()
      expect((await first.daemon.exited).code).toBe(0)
    },
  )

  turns.test(
    'a router that is removed from one node is answered by another node and leaves nothing, and comes back when added again',
    async (context) => {
      const { lab: network, nodes, first } = await settled(context)
      const [, second] = nodes
      const prober = new Prober(network, network.client, LAB_VIP)
      await prober.answeredBy('r1', WITHIN)
      const sockets = first.rawSockets()
      expect(await first.reload([other('b', 52, 200)])).toMatch(/vip: removed\nb: added\n/)
      await second?.becomes('vip', 'Active', 'its removal on r1')
      await eventually(
        'r1 to have forgotten it',
        async () => (await first.router('vip')) === undefined && network.holders(LAB_VIP).join() === 'r2',
        { sight: async () => [network.holders(LAB_VIP), (await first.snapshot()).routers.map(({ name }) => name)] },
      )
      expect(first.rawSockets(), 'raw sockets of the engine, which router "b" also uses').toEqual(sockets)
      expect(await first.reload([steady(200), other('b', 52, 200)])).toMatch(/vip: added\n/)
      await first.becomes('vip', 'Active', 'its return')
      await eventually(
        'r1 alone to hold it',
        () => network.holders(LAB_VIP).join() === 'r1' && prober.holder === 'r1',
        { sight: () => [network.holders(LAB_VIP), prober.holder] },
      )
      const { lost, sent } = await prober.stop()
      expect(lost, `probes lost of ${sent} over a planned move there and back`).toBeLessThan(HANDED_OVER)
    },
  )

  turns.test('yield gives the address to another node for the given time, and stop leaves nothing', async (context) => {
    const { lab: network, nodes, first } = await settled(context, 2)
    const [, second] = nodes
    if (second === undefined) throw new Error('Cannot find the second node')
    const unknown = await first.command('yield', 'web')
    expect([unknown.status, unknown.stderr]).toEqual([
      1,
      'holdfast: no virtual router or sync group is called "web": known names: vip\n',
    ])
    expect((await first.command('yield', 'vip', '--for', '60')).status).toBe(64)
    const backup = await second.command('yield', 'vip')
    expect([backup.status, backup.stderr]).toEqual([
      1,
      `holdfast: vip is Backup here; run yield on the Active, ${first.host.address}\n`,
    ])

    const done = await first.command('yield', 'vip', '--for', '8s')
    expect([done.status, done.stdout, done.stderr]).toEqual([
      0,
      `vip yields for 8s: ${second.host.address} is Active now\n`,
      '',
    ])
    expect(network.holders(LAB_VIP)).toEqual(['r2'])
    expect((await first.router('vip'))?.priority).toEqual({ base: 200, effective: 1 })
    await first.becomes('vip', 'Active', 'the end of its yield')
    expect((await first.command('yield', '--all', '--for', '10m')).stdout).toContain(
      `: ${second.host.address} is Active now`,
    )
    expect(await first.command('yield', '--all')).toMatchObject({
      status: 1,
      stderr: 'holdfast: no virtual router is Active here\n',
    })
    expect((await first.command('yield', '--cancel')).stdout).toBe('vip: yield period ended\n')
    await first.becomes('vip', 'Active', 'holdfast yield --cancel')

    const at = performance.now()
    const stopped = await first.command('stop')
    expect([stopped.status, stopped.stdout]).toEqual([0, 'holdfast has stopped\n'])
    expect(performance.now() - at, 'ms that the command stop took').toBeLessThan(WITHIN)
    expect((await first.daemon.exited).code).toBe(0)
    expect(network.holders(LAB_VIP)).toEqual(['r2'])
    expect((await first.command('stop')).status, 'exit status of stop without a daemon').toBe(69)

    // A router without another router has no successor to yield to.
    await second.becomes('vip', 'Active', 'the end of r1')
    const alone = await second.command('yield', 'vip')
    expect([alone.status, alone.stderr]).toEqual([1, 'holdfast: No other node took over: vip is Active again\n'])
  })
})
