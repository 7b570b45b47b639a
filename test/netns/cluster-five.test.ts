/**
 * Five namespaces are five nodes, each with an engine and an agent. The API is a process on another host of their LAN.
 * Nodes join, leave and change their address. Watches break or become too old, and the API dies and returns. Every
 * engine ends with the peers of the cluster. The kernels' notifications show that both addresses always have exactly
 * one holder.
 */
import { afterEach, expect, test } from 'vitest'
import { ip } from '../../src/lab/ip.ts'
import { LAB_VIP } from '../../src/lab/lab.ts'
import { eventually, monotonicMs, sleep } from '../../src/lab/wait.ts'
import { HolderHistory } from '../../src/lab/watch/holder-history.ts'
import { ClusterLab, INGRESS_VIP, type LabNode } from '../support/cluster-lab.ts'
import { NODES } from '../support/kube-api/node-object.ts'
import { describeNetns } from '../support/require.ts'

/**
 * Time in ms for which the API is away. After this pause, an agent asks again within 8 s. After a minute, within 30 s.
 */
const API_AWAY = Number(process.env.HOLDFAST_API_AWAY_MS ?? 7_000)
const WITHIN = 45_000
const LONGEST = 240_000 + API_AWAY
/**
 * Times in ms after which kubelet reports the new address of its node. TOLD_SOON is before the change has an effect. TOLD_LATE is after the
 * node has left all elections.
 */
const TOLD_SOON = 500
const TOLD_LATE = 6_000
/** Time in ms after which a node without advertisements is Active: 3.85 s at priority 40, and some time for a busy machine. */
const SILENCE = 4_500
const CONTROL_PLANE = 3

let cluster: ClusterLab | undefined
afterEach(async () => {
  await cluster?.destroy()
  cluster = undefined
})

type Member = { readonly name: string; readonly address: string; readonly isControlPlane: boolean }

/** The cluster as it should be: its registered nodes and its running nodes. */
class Membership {
  readonly #cluster: ClusterLab
  readonly #members = new Map<string, Member>()

  constructor(of: ClusterLab) {
    this.#cluster = of
  }

  has(name: string, address: string, isControlPlane = false): void {
    this.#members.set(name, { name, address, isControlPlane })
    this.#cluster.register({ name, addresses: [address], roles: [isControlPlane ? 'master' : 'worker'] })
  }

  leaves(name: string): void {
    this.#members.delete(name)
    this.#cluster.leave(name)
  }

  /** Returns the peers that the engine of this node must have. */
  peersOf({ name }: LabNode): Readonly<Record<string, readonly string[]>> {
    const own = this.#members.get(name)
    if (own === undefined) return {}
    const all = [...this.#members.values()]
    const others = (group: readonly Member[]) =>
      group
        .filter((each) => each.name !== name)
        .map(({ address }) => address)
        .sort()
    return {
      ...(own.isControlPlane ? { ostest_API_0: others(all.filter((each) => each.isControlPlane)) } : {}),
      ostest_INGRESS_0: others(all),
    }
  }

  /** Waits until each of these nodes has the right peers. Returns the ms that passed. */
  async isKnownTo(nodes: readonly LabNode[], occasion: string): Promise<number> {
    const since = monotonicMs()
    for (const node of nodes)
      await eventually(
        `${node.name} to have ${JSON.stringify(this.peersOf(node))} ${occasion}`,
        () => JSON.stringify(node.peers()) === JSON.stringify(this.peersOf(node)),
        {
          sight: () => ({ has: node.peers(), agent: node.agent?.lines.slice(-8).map(({ text }) => text) }),
          within: WITHIN,
          every: 50,
        },
      )
    return Math.round(monotonicMs() - since)
  }
}

/** Returns the only node that has the address. */
async function holderOf(of: ClusterLab, vip: string): Promise<LabNode> {
  const name = await eventually(
    `${vip} to have one holder`,
    () => {
      const [first, ...others] = of.lab.holders(vip)
      return others.length === 0 ? first : undefined
    },
    { sight: () => of.lab.holders(vip), within: WITHIN, every: 100 },
  )
  const node = of.nodes.find(({ host }) => host.name === name)
  if (node === undefined) throw new Error(`Cannot find the node on ${name}`)
  return node
}

/** Waits until all Backups of this router follow the holder. */
const follow = async (nodes: readonly LabNode[], router: string, holder: LabNode) => {
  for (const node of nodes.filter((each) => each !== holder)) {
    const seen = async () => (await node.snapshot())?.routers.find(({ name }) => name === router)
    await eventually(
      `${node.name} to follow ${holder.name} in ${router}`,
      async () => (await seen())?.holder.address === holder.host.address,
      { sight: seen, within: WITHIN, every: 100 },
    )
  }
}

describeNetns('five nodes and their API', () => {
  test(
    'when nodes come, go and move, watches break and the API dies, all peers become right and each VIP always has one holder',
    async () => {
      const made = new ClusterLab({ nodes: 5, flags: ['--stable-for=1s'] })
      cluster = made
      const { api, lab, nodes } = made
      const members = new Membership(made)
      for (const [i, { name, host }] of nodes.entries()) members.has(name, host.address, i < CONTROL_PLANE)
      const controlPlane = nodes.slice(0, CONTROL_PLANE)
      const workers = nodes.slice(CONTROL_PLANE)
      // An ingress router runs on these nodes. A node without an ingress router takes no part in the election of its address.
      const stubs = workers.map((node) => node.serveIngress())
      await Promise.all(stubs.map((stub) => stub.line(/listening/, WITHIN)))
      await made.apiUp()
      const took: Record<string, number> = {}

      for (const node of nodes) {
        node.startEngine()
        node.startAgent()
      }
      took.up = await members.isKnownTo(nodes, 'when all five are up')
      const holder = await holderOf(made, LAB_VIP)
      const ingressHolder = await holderOf(made, INGRESS_VIP)
      expect(controlPlane, 'control plane nodes, one of which holds the address of the API').toContain(holder)
      expect(workers, 'workers, one of which holds the ingress address').toContain(ingressHolder)
      await follow(controlPlane, 'ostest_API_0', holder)
      await follow(workers, 'ostest_INGRESS_0', ingressHolder)
      const histories = { api: new HolderHistory(lab, LAB_VIP), ingress: new HolderHistory(lab, INGRESS_VIP) }
      await sleep(500)
      const begin = monotonicMs()
      let since = begin
      /** Judges the holders since the last call. */
      const judged = (occasion: string) => {
        const until = monotonicMs()
        for (const [name, history] of Object.entries(histories)) {
          const { nobody, several } = history.between(since, until)
          expect({ nobody, several }, `ms without a holder of ${name}, and with two, ${occasion}`).toEqual({
            nobody: 0,
            several: 0,
          })
        }
        since = until
      }

      const leaver = workers.find((node) => node !== ingressHolder)
      if (leaver === undefined) throw new Error('Cannot find a worker that leaves: there is only one worker')
      members.has('n6', '10.77.0.16')
      members.leaves(leaver.name)
      took.joinAndLeave = await members.isKnownTo(nodes, 'when n6 has come and a worker has left')
      judged('while a node came and one left')

      const [mover, other] = controlPlane.filter((node) => node !== holder)
      if (mover === undefined || other === undefined)
        throw new Error('Cannot find two control plane nodes without the address: there are fewer than three')
      const moves = async (node: LabNode, to: string, kubelet: number) => {
        const lines = [`address del ${node.host.address}/24 dev eth0`, `address add ${to}/24 dev eth0`]
        ip(node.host, ...lines)
        await sleep(kubelet)
        members.has(node.name, to, true)
        return members.isKnownTo(nodes, `when ${node.name} has another address, which was told after ${kubelet} ms`)
      }
      took.move = await moves(mover, '10.77.0.41', TOLD_SOON)
      judged('while a node changed its address')
      took.moveUnknown = await moves(other, '10.77.0.42', TOLD_LATE)
      await sleep(SILENCE)
      judged('while a node had an address that nobody knew')

      const nodeWatches = () => [...api.watches].filter(({ path }) => path === '/api/v1/nodes')
      const lists = () => api.asked('list', '/api/v1/nodes').length
      const refusals = () => api.asked('watch', '/api/v1/nodes').filter(({ status }) => status === 410).length
      const [listed, refused] = [lists(), refusals()]
      // The watches of moved nodes are the newest. The former connections of moved nodes end without a notice.
      const [told, cut, ...others] = nodeWatches().reverse()
      api.store.compact()
      told?.error(410, 'Expired')
      cut?.cutInLine('MODIFIED', api.store.get(NODES, 'n6') ?? { metadata: { name: 'n6' } })
      // The watches of the next step resume from a version that the API has forgotten, so the API answers with HTTP
      // status 410.
      for (const watch of others) watch.reset()
      members.has('n7', '10.77.0.17')
      took.gone = await members.isKnownTo(nodes, 'after 410 Gone')
      judged('while watches broke')
      expect(lists() - listed, 'lists of nodes that the agents requested after 410 Gone').toBe(nodes.length)
      expect(refusals() - refused, 'watches that were answered 410').toBeGreaterThan(0)

      const peersBefore = nodes.map((node) => node.peers())
      await made.apiDown()
      await sleep(API_AWAY / 2)
      expect(
        nodes.map((node) => node.peers()),
        'peers while the API is away',
      ).toEqual(peersBefore)
      // The node is switched off, and its node object is deleted while no agent receives the change.
      for (const process of [other.agent, other.engine]) process?.killFamily()
      members.leaves(other.name)
      const left = nodes.filter((node) => node !== other)
      await sleep(API_AWAY / 2)
      for (const [i, node] of nodes.entries()) {
        expect(node.peers(), `peers of ${node.name} while the API is away`).toEqual(peersBefore[i])
        if (node !== other)
          expect(node.told.map(({ msg }) => String(msg)).join()).toContain('cannot read the nodes of the cluster')
      }
      await made.apiUp()
      took.back = await members.isKnownTo(left, 'after the API is back')
      await sleep(SILENCE)
      judged('while the API was away and when it was back')
      expect([await holderOf(made, LAB_VIP), await holderOf(made, INGRESS_VIP)]).toEqual([holder, ingressHolder])
      process.stdout.write(`five nodes: ${JSON.stringify({ ...took, judged: Math.round(monotonicMs() - begin) })}\n`)
    },
    LONGEST,
  )
})
