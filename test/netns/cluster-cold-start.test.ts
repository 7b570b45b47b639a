/**
 * The cold start of a cluster: all nodes lost their power and start together, without the API of the cluster, an operator or other DNS
 * servers. All parts of the nodes start in a random order: engine, agent, API server (a stand-in), HAProxy and its monitor, CoreDNS and its
 * monitor. A client observes when the address and the API are back, and each node asks itself for api-int. COLD_STARTS sets the number of
 * cold starts (default: 3), COLD_START_SEED the order.
 */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { packageRoot } from '../../src/lab/installation.ts'
import { ip } from '../../src/lab/ip.ts'
import { HOLDFAST, type Host, LAB_VIP, type Lab } from '../../src/lab/lab.ts'
import { LoggedProcess } from '../../src/lab/logged-process.ts'
import { eventually, monotonicMs } from '../../src/lab/wait.ts'
import { Prober, startResponder } from '../../src/lab/watch/probe.ts'
import { randomOf } from '../chaos/plan.ts'
import { judgeTime, pressureOf, watchMachine } from '../judge/time.ts'
import { BalancerLab, type BalancerNode } from '../support/balancer-lab.ts'
import { INGRESS_VIP, type LabNode } from '../support/cluster-lab.ts'
import { corednsProgram, describeBalancer } from '../support/require.ts'

const ROUNDS = Number(process.env.COLD_STARTS ?? 3)
const SEED = Number(process.env.COLD_START_SEED ?? Math.floor(Math.random() * 1e9))
const WITHIN = 60_000
/** Longest times in ms from the start of the first process (docs/node-services.md). */
const BACK_WITHIN = 5_000
const NAMED_WITHIN = 1_000
const UNICAST = ['ostest_API_0: unicast to 2 peers', 'ostest_INGRESS_0: unicast to 2 peers']
const DOMAIN = 'ostest.example.com'
const CLUSTER_CONFIG =
  'kind: ConfigMap\ndata:\n  install-config: |\n    metadata: { name: ostest }\n    baseDomain: example.com\n    platform: { baremetal: {} }\n'
/** Without CoreDNS, dnsmasq answers api-int, as it does beside a CoreDNS that is not there. */
const COREDNS = corednsProgram()

/** A node with all its parts. */
class ColdNode {
  readonly host: Host
  readonly name: string
  readonly #lab: Lab
  readonly #vrrp: LabNode
  readonly #balancer: BalancerNode
  readonly #folder: string
  #dns: readonly LoggedProcess[] = []

  constructor(lab: Lab, vrrp: LabNode, balancer: BalancerNode) {
    this.#lab = lab
    this.host = vrrp.host
    this.name = vrrp.name
    this.#vrrp = vrrp
    this.#balancer = balancer
    this.#folder = join(lab.directory, `dns-${vrrp.name}`)
    mkdirSync(this.#folder, { recursive: true })
    writeFileSync(join(this.#folder, 'install-config.yaml'), CLUSTER_CONFIG)
    writeFileSync(join(this.#folder, 'resolv.conf'), 'nameserver 10.77.0.250\n')
  }

  /** Starts of the parts by their names. Each part starts by itself, as the pods and units of a node do. */
  get parts(): Readonly<Record<string, () => void>> {
    return {
      // As the unit of systemd starts it.
      engine: () => void this.#vrrp.startEngine('--realtime'),
      agent: () => void this.#vrrp.startAgent(),
      'API server': () => void this.#balancer.startApi(),
      HAProxy: () => void this.#balancer.startHaproxy(),
      monitor: () => void this.#balancer.startMonitor(),
      corednsmonitor: () => this.#startDns(this.#corednsmonitor),
      CoreDNS: () => this.#startDns(this.#dnsServer),
    }
  }

  get #corefile(): string {
    return join(this.#folder, 'Corefile')
  }

  get #corednsmonitor(): readonly string[] {
    const template = join(packageRoot(), 'deploy', 'dns', 'Corefile.tmpl')
    const places = [join(this.#lab.directory, 'kubeconfig'), template, this.#corefile]
    const files = ['--cluster-config', join(this.#folder, 'install-config.yaml')]
    const vips = ['--api-vips', LAB_VIP, '--ingress-vips', INGRESS_VIP, '--json']
    return [
      HOLDFAST,
      'corednsmonitor',
      ...places,
      ...files,
      ...vips,
      '--resolv-conf',
      join(this.#folder, 'resolv.conf'),
    ]
  }

  get #dnsServer(): readonly string[] {
    if (COREDNS !== undefined) return [COREDNS, '-conf', this.#corefile]
    const alone = ['--keep-in-foreground', '--conf-file=/dev/null', '--pid-file=', '--no-hosts', '--no-resolv']
    return ['dnsmasq', ...alone, `--address=/api-int.${DOMAIN}/${LAB_VIP}`]
  }

  #startDns(argv: readonly string[]): void {
    this.#dns = [...this.#dns, new LoggedProcess(this.#lab, this.host, argv)]
  }

  /** Tells whether the node has the files that a cold start finds on its disk. */
  get isInstalled(): boolean {
    return existsSync(this.#corefile) && existsSync(this.#balancer.file)
  }

  redirectIs(present: boolean): Promise<void> {
    return this.#balancer.redirectIs(present, WITHIN)
  }

  routersAre(expected: readonly string[]): Promise<void> {
    return this.#vrrp.routersAre(expected, WITHIN)
  }

  /** Asks the node itself for api-int until it has the address of the API. Resolves with the time of the answer. */
  async named(): Promise<number> {
    const ask = `dig @127.0.0.1 +time=1 +tries=1 +short api-int.${DOMAIN} | grep -qx ${LAB_VIP}`
    const asking = new LoggedProcess(this.#lab, this.host, [
      'sh',
      '-c',
      `until ${ask}; do sleep 0.05; done; echo answered`,
    ])
    await asking.line(/^answered$/, WITHIN)
    return asking.lines.at(-1)?.at ?? 0
  }

  /** Ends all processes as a power failure does. A node that lost its power has no VIP and no rules after its start. */
  async powerFails(): Promise<void> {
    const { engine, agent } = this.#vrrp
    const { api, haproxy, monitor } = this.#balancer
    const all = [engine, agent, api, haproxy, monitor, ...this.#dns]
    for (const each of all) each?.killFamily()
    await Promise.all(all.map((each) => each?.exited))
    this.#dns = []
    for (const address of this.#lab.addresses(this.host).filter((each) => each.endsWith('/32')))
      ip(this.host, `address delete ${address} dev eth0`)
    this.#lab.exec(this.host, ['sh', '-c', 'nft delete table ip ocp_nat 2>/dev/null || true'])
  }
}

/** Times of one cold start, in ms from the start of the first process. */
type ColdStart = { readonly vip: number; readonly names: number; readonly api: number; readonly pressure: number }

class ColdLab {
  readonly balancer = new BalancerLab()
  readonly lab = this.balancer.lab
  readonly nodes = this.balancer.cluster.nodes.map((vrrp, i) => new ColdNode(this.lab, vrrp, this.balancer.node(i + 1)))
  readonly #random = randomOf(SEED)

  /** Starts the nodes for the first time, with the API of the cluster, until the files of a cold start are on their disks. */
  async install(): Promise<void> {
    await this.balancer.start({ holdsVip: false })
    for (const { host } of this.nodes) startResponder(this.lab, host)
    for (const { api } of this.balancer.nodes) api?.killFamily()
    this.powerReturns()
    for (const node of this.nodes) {
      await node.routersAre(UNICAST)
      await eventually(`the files of ${node.name}`, () => node.isInstalled, { sight: () => node.name, within: WITHIN })
    }
    await this.balancer.cluster.apiDown()
  }

  async powerFails(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.powerFails()))
  }

  /** Starts all parts of the nodes in a random order. Returns the order. */
  powerReturns(nodes = this.nodes): string {
    const starts = nodes.flatMap(({ name, parts }) =>
      Object.entries(parts).map(([part, start]) => ({ name: `${part} of ${name}`, start, place: this.#random() })),
    )
    const order = starts.toSorted((one, other) => one.place - other.place)
    for (const { start } of order) start()
    return order.map(({ name }) => name).join(', ')
  }

  /** Starts the client, which asks the API at the VIP each 10 ms. */
  startClient(): LoggedProcess {
    const client = join(packageRoot(), 'test', 'support', 'api-client.mjs')
    return new LoggedProcess(this.lab, this.lab.client, ['node', client, LAB_VIP, '6443', 'hold', '0'])
  }

  async coldStart(): Promise<ColdStart> {
    await this.powerFails()
    const [prober, client] = [new Prober(this.lab, this.lab.client, LAB_VIP), this.startClient()]
    await client.line(/"ok":false/, WITHIN)
    const lossSince = watchMachine()
    const since = monotonicMs()
    const order = this.powerReturns()
    const sight = () => [order, this.lab.holders(LAB_VIP)]
    const named = Promise.all(this.nodes.map((node) => node.named()))
    const first = await eventually('a node to answer the client', () => prober.holders[0], {
      ...{ sight, within: WITHIN, every: 20 },
    })
    const asked = client.lines.length
    await eventually(
      'the API to answer through the VIP',
      () => client.lines.some(({ text }) => /"ok":true/.test(text)),
      {
        sight: () => [...sight(), asked, client.lines.slice(-2)],
        within: WITHIN,
        every: 20,
      },
    )
    const api = client.lines.find(({ text }) => /"ok":true/.test(text))?.at ?? 0
    const names = Math.max(...(await named))
    const pressure = pressureOf(lossSince())
    await eventually('one node alone to hold the address', () => this.lab.holders(LAB_VIP).length === 1, {
      ...{ sight, within: WITHIN },
    })
    // HAProxy of each node is in force, too.
    for (const node of this.nodes) await node.redirectIs(true)
    client.killFamily()
    await prober.stop()
    return { vip: first.at - since, names: names - since, api: api - since, pressure }
  }
}

const median = (times: readonly number[]): number =>
  times.toSorted((one, other) => one - other)[Math.floor(times.length / 2)] ?? Number.POSITIVE_INFINITY

const PAGE = 'docs/node-services.md, Cold start'

describeBalancer('the cold start of a cluster', () => {
  let made: ColdLab
  beforeAll(async () => {
    process.stdout.write(`cold starts: COLD_START_SEED=${SEED}\n`)
    made = new ColdLab()
    await made.install()
  }, 240_000)
  afterAll(() => made.balancer.destroy())

  test('three nodes that start together without the API have the address within 5 s in half of the cases, in any order of their processes, and the API answers through it', {
    timeout: 60_000 + ROUNDS * 90_000,
  }, async () => {
    const found: ColdStart[] = []
    for (let round = 1; round <= ROUNDS; round++) {
      const times = await made.coldStart()
      const [vip, names, api] = [times.vip, times.names, times.api].map(Math.round)
      process.stdout.write(
        `cold start ${round}: VIP ${vip} ms, api-int on all nodes ${names} ms, API through the VIP ${api} ms, CPU pressure ${Math.round(times.pressure)} %\n`,
      )
      found.push(times)
    }
    expect(found).toHaveLength(ROUNDS)
    // The slowest of a few starts is near the bound on a busy machine. docs/node-services.md has the slowest of twenty.
    judgeTime('median of the times to the address', median(found.map(({ vip }) => vip)), BACK_WITHIN, PAGE)
  })

  test('a node that starts alone without the API answers api-int within 1 s in half of the cases, in any order of its processes', {
    timeout: 60_000 + ROUNDS * 60_000,
  }, async () => {
    const found: number[] = []
    for (let round = 0; round < ROUNDS; round++) {
      await made.powerFails()
      const since = monotonicMs()
      const node = made.nodes[round % made.nodes.length]
      if (node === undefined) throw new Error('Cannot find the node')
      made.powerReturns([node])
      found.push((await node.named()) - since)
    }
    process.stdout.write(`a node alone, api-int: ${found.map(Math.round).join(', ')} ms\n`)
    judgeTime('median of the times to api-int', median(found), NAMED_WITHIN, PAGE)
  })
})
