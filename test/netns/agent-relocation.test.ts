/**
 * A cluster of one node that is relocated while engine and agent run. First the NIC becomes a port of a bridge, and the
 * bridge gets the NIC's address. After that, address, route and name of the NIC change, and then the VIPs of the
 * cluster. The test reads three things: the answers to a client that asks for the VIPs, the kernel's tables, and the
 * packets on the wire.
 */
import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import type { Host } from '../../src/lab/lab.ts'
import { eventually, monotonicMs } from '../../src/lab/wait.ts'
import { Capture } from '../../src/lab/watch/capture.ts'
import { Prober, startResponder } from '../../src/lab/watch/probe.ts'
import { ClusterLab, type LabNode } from '../support/cluster-lab.ts'
import { addressesOf, batch, MAKE_BRIDGE } from '../support/moved-host.ts'
import { describeNetns } from '../support/require.ts'

/** Limit in ms from the last command to the evaluated address. Requirement R4 of the agent allows 2 s; the rest is for a busy machine. */
const EVALUATED = 5_000
/** Limit in ms for an evaluation and an election without a neighbour (3.8 s at an interval of 1 s). */
const ELECTED = 10_000
/** Limit in ms for process starts and an election without a neighbour, at an interval of 1 s. */
const WITHIN = 30_000
const HERE = '10.77.0.11/24'
const ELSEWHERE = '10.88.0.11/24'
const GATEWAY = '10.88.0.1'
const VIPS_HERE = { api: '10.77.0.100', ingress: '10.77.0.101' }
const VIPS_ELSEWHERE = { api: '10.88.0.100', ingress: '10.88.0.101' }
type Vips = typeof VIPS_HERE

let cluster: ClusterLab | undefined
afterEach(async () => {
  await cluster?.destroy()
  cluster = undefined
})

const bare = (address: string) => address.replace(/\/.*/, '')

class RelocatedCluster {
  readonly cluster: ClusterLab
  readonly node: LabNode
  readonly host: Host
  readonly pinned: string
  readonly #folder: string

  /** Builds the cluster. With `file`, `holdfast node-ip` has written the node's address to its file. */
  constructor(file: boolean, pinned: string) {
    const flags = ['--control-plane-topology', 'SingleReplica', '--listen', '127.0.0.1:9656', '--stable-for=1s']
    this.cluster = new ClusterLab({ nodes: 1, flags })
    cluster = this.cluster
    this.node = this.cluster.node(1)
    this.host = this.node.host
    this.pinned = pinned
    this.#folder = join(this.cluster.lab.directory, 'nodeip-configuration')
    mkdirSync(this.#folder)
    const at = '/run/nodeip-configuration'
    const mounts = `mount -t tmpfs none /run && mkdir ${at} && mount --bind ${this.#folder} ${at} && exec "$@"`
    this.node.wrapper = ['unshare', '--mount', 'sh', '-c', mounts, 'sh']
    if (file) this.say(HERE)
    batch(this.host, [`address add ${pinned} dev eth0`])
    // The gateway of the other subnet is on the same LAN. The route of this gateway leads back to the first subnet.
    const { lab } = this.cluster
    // systemd sets promote_secondaries: a secondary address stays when the primary address of its network is removed.
    lab.exec(this.host, ['sh', '-c', 'echo 1 >/proc/sys/net/ipv4/conf/all/promote_secondaries'])
    const gateway = lab.host('api')
    batch(gateway, [`address add ${GATEWAY}/24 dev eth0`])
    lab.exec(gateway, ['sh', '-c', 'echo 1 >/proc/sys/net/ipv4/ip_forward'])
    batch(lab.client, ['address add 10.88.0.2/24 dev eth0'])
    startResponder(lab, this.host)
    this.node.serveIngress()
  }

  say(address: string): void {
    const path = join(this.#folder, 'ipv4')
    writeFileSync(`${path}.new`, bare(address))
    renameSync(`${path}.new`, path)
  }

  /** Lists all addresses that the node must have. Any other address is stale: a VIP on another interface, or a former VIP. */
  wanted(own: string, on: string, vips: Vips | undefined): readonly string[] {
    const held = vips === undefined ? [] : Object.values(vips).map((vip) => `${vip}/32`)
    return [own, this.pinned, ...held].map((address) => `${address}@${on}`).sort()
  }

  /**
   * Waits until new requests of the client for both VIPs are answered and the node has exactly the addresses that it must have. Returns the
   * ms since `since`.
   */
  async settles(occasion: string, own: string, on: string, vips: Vips, since = monotonicMs()): Promise<number> {
    const { lab } = this.cluster
    const probers = Object.values(vips).map((vip) => new Prober(lab, lab.client, vip))
    const wanted = JSON.stringify(this.wanted(own, on, vips))
    try {
      await eventually(
        `both VIPs to be answered for, and ${wanted} alone, ${occasion}`,
        () =>
          probers.every(({ holder }) => holder === this.host.name) && JSON.stringify(addressesOf(this.host)) === wanted,
        {
          sight: async () => ({
            here: addressesOf(this.host),
            holders: probers.map(({ holder }) => holder),
            routers: (await this.node.snapshot())?.routers.map(({ name, state, interface: there, source, faults }) =>
              [name, state, there, source, ...faults].join(' '),
            ),
            agent: this.node.agent?.lines.slice(-6).map(({ text }) => text),
          }),
          every: 10,
        },
      )
      return monotonicMs() - since
    } finally {
      await Promise.all(probers.map((prober) => prober.stop()))
    }
  }

  async restartAgent(): Promise<void> {
    this.node.agent?.signal('SIGTERM')
    await this.node.agent?.exited
    this.node.startAgent()
  }
}

type Case = {
  readonly title: string
  readonly file: boolean
  readonly api: boolean
  readonly pinned: string
  readonly environment: Readonly<Record<string, string>>
}

const CASES: readonly Case[] = [
  {
    title: 'by the network of its VIPs, then the default route; told to be in multicast',
    ...{ file: false, api: true, pinned: '192.168.126.10/24', environment: { ENABLE_UNICAST: 'no' } },
  },
  {
    title: 'by the file that names its address, beside another in the network of its VIPs; without the API',
    ...{ file: true, api: false, pinned: '10.77.0.250/24', environment: {} },
  },
]

describeNetns('a relocated single node with its agent', () => {
  test.each(CASES)('$title', { timeout: 120_000 }, async ({ file, api, pinned, environment }) => {
    const relocated = new RelocatedCluster(file, pinned)
    const { node, host } = relocated
    const { lab } = relocated.cluster
    node.environment = environment
    const capture = await Capture.start(lab, 'alone', 'ip proto 112 or dst host 224.0.0.18 or arp')
    relocated.cluster.registerAll()
    await relocated.cluster.apiUp()
    node.startEngine()
    node.startAgent()
    await relocated.settles('after the start', HERE, 'eth0', VIPS_HERE)
    if (!api) {
      await eventually('the peers to be written down', () => node.told.some(({ msg }) => msg === 'stored the peers'), {
        sight: () => node.told.slice(-5),
      })
      await relocated.cluster.apiDown()
      await relocated.restartAgent()
      await node.agent?.line(/no usable|unreachable|Cannot/, WITHIN)
    }

    batch(host, [
      ...MAKE_BRIDGE,
      `address add ${HERE} dev br-ex`,
      `address add ${pinned} dev br-ex`,
      'link set eth0 master br-ex',
      `address del ${pinned} dev eth0`,
      `address del ${HERE} dev eth0`,
    ])
    const moved = monotonicMs()
    const bridge = await relocated.settles('on the bridge', HERE, 'br-ex', VIPS_HERE, moved)
    expect(bridge, 'ms until both VIPs answered on the bridge').toBeLessThan(EVALUATED)

    batch(host, [
      `address del ${HERE} dev br-ex`,
      'link set eth0 down',
      'link set eth0 name ens3',
      'link set ens3 up',
      `address add ${ELSEWHERE} dev br-ex`,
      `route add default via ${GATEWAY}`,
    ])
    const uprooted = monotonicMs()
    if (file) relocated.say(ELSEWHERE)
    await eventually(
      'both routers to go by the new address',
      async () => (await node.snapshot())?.routers.every(({ source }) => source === bare(ELSEWHERE)),
      {
        sight: async () => [(await node.snapshot())?.routers.map(({ source }) => source), node.told.slice(-4)],
        every: 20,
      },
    )
    const evaluated = monotonicMs() - uprooted
    expect(evaluated, "ms until both routers used the node's new address").toBeLessThan(EVALUATED)
    // Another source address changes every tie-break. Without a file of the address, the routers therefore restart.
    const subnet = await relocated.settles('in another subnet', ELSEWHERE, 'br-ex', VIPS_HERE, uprooted)
    expect(subnet, 'ms until both VIPs answered in the other subnet').toBeLessThan(ELECTED)

    // The manifest has other VIPs now, and kubelet starts the agent again.
    node.vips = VIPS_ELSEWHERE
    if (api) relocated.cluster.register({ name: node.name, addresses: [bare(ELSEWHERE)] })
    await relocated.restartAgent()
    const others = await relocated.settles('with other VIPs', ELSEWHERE, 'br-ex', VIPS_ELSEWHERE)
    expect(others, 'ms until the other VIPs answered').toBeLessThan(ELECTED + EVALUATED)
    const took = Object.entries({ bridge, evaluated, subnet, others }).map(
      ([what, ms]) => `${what} ${ms.toFixed(0)} ms`,
    )
    console.log(`relocated: ${took.join(', ')}`)
    expect(await node.routers()).toEqual(['ostest_API_0: unicast to 0 peers', 'ostest_INGRESS_0: unicast to 0 peers'])
    expect(node.engine?.exit, 'exit of the engine, which must still run').toBeUndefined()
    node.engine?.signal('SIGTERM')
    await node.engine?.exited
    expect(addressesOf(host), 'addresses of the node after the engine has ended').toEqual(
      relocated.wanted(ELSEWHERE, 'br-ex', undefined),
    )

    const frames = await capture.stop()
    expect(
      frames.filter(({ arpSender }) => arpSender === VIPS_HERE.api).length,
      'ARP frames for the VIP in the capture, which show that the capture worked',
    ).toBeGreaterThan(0)
    const told = frames.filter(
      ({ destination, versionAndType }) => destination === '224.0.0.18' || versionAndType !== '',
    )
    expect(told, 'advertisements of a node that has no peers').toEqual([])
  })
})
