/**
 * Engine and agent of a node die together. After this death the remaining nodes take the address by the protocol alone.
 * If all nodes restart without the API, the engines use their remembered configuration, and a node has the address
 * again. A client observes this from outside.
 */
import { rmSync } from 'node:fs'
import { afterEach, expect, test } from 'vitest'
import { GROUP, KIND, PLURAL, readPublished, VERSION } from '../../src/cluster/decisions/status/published-status.ts'
import { ip } from '../../src/lab/ip.ts'
import { LAB_VIP } from '../../src/lab/lab.ts'
import { eventually, monotonicMs } from '../../src/lab/wait.ts'
import { HolderHistory } from '../../src/lab/watch/holder-history.ts'
import { Prober, startResponder } from '../../src/lab/watch/probe.ts'
import { judgeTime } from '../judge/time.ts'
import { ClusterLab, type LabNode } from '../support/cluster-lab.ts'
import { describeNetns } from '../support/require.ts'

const WITHIN = 40_000
const LONGEST = 120_000
const HOSTED = `${GROUP}/${VERSION}/${PLURAL}`
const UNICAST = ['ostest_API_0: unicast to 2 peers', 'ostest_INGRESS_0: unicast to 2 peers']
/** Active_Down_Interval in ms, with version 2, an interval of 1 s and priority 40. */
const ACTIVE_DOWN = 3_844
const INTERVAL = 1_000
/** Longest time in ms from the writing of a log line to its arrival at the test. */
const ABOUT = 500

let cluster: ClusterLab | undefined
afterEach(async () => {
  await cluster?.destroy()
  cluster = undefined
})

async function settled() {
  const made = new ClusterLab({ nodes: 3 })
  cluster = made
  const { lab, nodes, api } = made
  api.store.put(HOSTED, { apiVersion: `${GROUP}/${VERSION}`, kind: KIND, metadata: { name: 'cluster' }, spec: {} })
  made.registerAll()
  await made.apiUp()
  for (const node of nodes) {
    startResponder(lab, node.host)
    begin(node)
  }
  const prober = new Prober(lab, lab.client, LAB_VIP)
  for (const node of nodes) await node.routersAre(UNICAST, WITHIN)
  const holder = await settledHolder(prober, 'after the start')
  return { lab, nodes, api, prober, holder }
}

function begin(node: LabNode): void {
  node.startEngine()
  node.startAgent()
}

/**
 * Kills engine, guardian and agent of a node with SIGKILL, as a dying machine would. The kernel of the node keeps running and removes the
 * addresses when their lifetime ends. Returns the time of the kill.
 */
async function die(node: LabNode): Promise<number> {
  const { engine, agent } = node
  const at = monotonicMs()
  engine?.killFamily()
  agent?.killFamily()
  await Promise.all([engine?.exited, agent?.exited])
  return at
}

/** Returns the holder on which kernels, client and engines agree. Two nodes of equal priority may both have been Active for a moment. */
function settledHolder(prober: Prober, occasion: string): Promise<LabNode> {
  const { lab, nodes = [] } = cluster ?? {}
  const states = () =>
    Promise.all(
      nodes.map(async (node) => (await node.snapshot())?.routers.find(({ name }) => name === 'ostest_API_0')?.state),
    )
  return eventually(
    `one node to have the VIP and to answer ${occasion}`,
    async () => {
      const [name, ...others] = lab?.holders(LAB_VIP) ?? []
      if (others.length > 0 || name !== prober.holder) return undefined
      const holder = nodes.find(({ host }) => host.name === name)
      const active = (await states()).flatMap((state, i) => (state === 'Active' ? [nodes[i]] : []))
      return active.length === 1 && active[0] === holder ? holder : undefined
    },
    { sight: async () => [lab?.holders(LAB_VIP), prober.holder, await states()], within: WITHIN, every: 20 },
  )
}

const tell = (what: string, figures: unknown) =>
  process.stdout.write(
    `${what}: ${JSON.stringify(figures, (_, each) => (typeof each === 'number' ? Math.round(each) : each))}\n`,
  )

const WRITTEN = /"time":(\d+)/
type Lines = readonly { readonly at: number; readonly text: string }[]

/** Returns the ms from `since` to the first matching log line, even if the line arrived later; NaN without such a line. */
function after(since: number, lines: Lines = [], pattern = /./): number {
  const found = lines.find(({ text }) => pattern.test(text) && WRITTEN.test(text))
  const [, time] = WRITTEN.exec(found?.text ?? '') ?? []
  return Math.round(Number(time ?? Number.NaN) - (Date.now() - monotonicMs()) - since)
}

const partsOf = ({ name, engine, agent }: LabNode, since: number) => ({
  name,
  engineSpeaks: after(since, engine?.lines),
  agentBegins: after(since, agent?.lines, /agent started, the role/),
  engineFound: after(since, agent?.lines, /connected to the engine/),
  handedOver: after(since, agent?.lines, /"configuration handed over to the engine"/),
  backup: after(since, engine?.lines, /API_0.*Initialize → Backup/),
  active: after(since, engine?.lines, /API_0.*→ Active/),
})

describeNetns('the death of engine and agent of a node', () => {
  test('the address moves to another node, and when engine and agent are back, peers and status are right', {
    timeout: LONGEST,
  }, async () => {
    const { lab, nodes, api, prober, holder } = await settled()
    const published = () => readPublished(api.store.get(HOSTED, 'cluster'))
    const named = (node: LabNode, occasion: string) =>
      eventually(
        `the status to name ${node.name} alone ${occasion}`,
        () =>
          published()?.apiServerInternalIpOwner === node.name &&
          published()?.holders.find(({ service }) => service === 'API')?.alsoAnswering.length === 0,
        { sight: published, within: WITHIN, every: 20 },
      )
    await named(holder, 'at first')
    const history = new HolderHistory(lab, LAB_VIP)
    const since = await die(holder)
    const moved = await eventually('another node to answer', () => prober.movedFrom(holder.host.name, since), {
      sight: () => [lab.holders(LAB_VIP), prober.holder],
      within: WITHIN,
    })
    const next = await settledHolder(prober, 'after the death')
    await named(next, 'after the death')
    const namedAt = monotonicMs()

    const back = monotonicMs()
    begin(holder)
    await holder.agent?.line(/"configuration handed over to the engine"/, WITHIN)
    for (const node of nodes) await node.routersAre(UNICAST, WITHIN)
    expect(holder.peers().ostest_API_0, 'peers of the node whose engine and agent are back').toEqual(
      nodes.flatMap(({ name, host }) => (name === holder.name ? [] : [host.address])),
    )
    await named(next, 'after the return')
    const to = monotonicMs()
    const account = history.between(since, to)
    const told = api.store.list('v1/events', 'default').map(({ message }) => String(message))
    const figures = {
      ...{ movedAfter: moved.at - since, namedAfter: namedAt - since, longestGap: prober.longestGap(since, to) },
      ...{ ...account, parts: partsOf(holder, back), told },
    }
    tell('holder dies', figures)
    expect(
      figures.movedAfter,
      'ms from the death to the move, at least an Active_Down_Interval after the last advertisement',
    ).toBeGreaterThan(ACTIVE_DOWN - INTERVAL - ABOUT)
    judgeTime('ms until another node answers', figures.movedAfter, 12_000, 'docs/agent-tried.md')
    expect(
      account.holders,
      'holders from the death to the end: the new holder keeps the address, because no node has a higher priority',
    ).toEqual([next.host.name])
    expect(told.join('\n')).toContain(`moved from ${holder.name} to ${next.name}: ${holder.name} fell silent`)
    expect(prober.holder).toBe(next.host.name)
  })

  test('after all nodes restart without the API, the configuration that engine or agent remembers lets one node get the address', {
    timeout: LONGEST,
  }, async () => {
    const { lab, nodes, prober } = await settled()
    await cluster?.apiDown()
    for (const remembers of ['engine', 'agent'] as const) {
      await Promise.all(nodes.map(die))
      // A restarted machine has no VIP: the kernel's addresses are gone.
      for (const { host } of nodes)
        if (lab.holders(LAB_VIP).includes(host.name)) ip(host, `address delete ${LAB_VIP}/32 dev eth0`)
      if (remembers === 'agent') for (const node of nodes) rmSync(node.memory)
      const since = monotonicMs()
      for (const node of nodes) begin(node)
      const silence = await eventually(
        'the client to be answered',
        () => prober.gaps.find(({ from, to }) => from < since && to > since),
        {
          sight: () => [lab.holders(LAB_VIP), prober.gaps.slice(-2), nodes.map((node) => partsOf(node, since))],
          within: WITHIN,
        },
      )
      const answered = silence.to - since
      const holder = await settledHolder(prober, `when the ${remembers} remembers`)
      await holder.engine?.line(/API_0.*→ Active/, WITHIN)
      const parts = partsOf(holder, since)
      tell(`cold, the ${remembers} remembers`, { answered, ...parts })
      judgeTime('ms from the start of all nodes to the first answer', answered, 25_000, 'docs/agent-tried.md')
      expect(parts.active - parts.backup, 'ms that the new holder was Backup before it became Active').toBeGreaterThan(
        ACTIVE_DOWN - ABOUT,
      )
      // The engine takes its remembered configuration before any agent sends one. An agent sends its configuration when the list of nodes
      // has not changed for 5 s.
      if (remembers === 'engine') expect(parts.handedOver > parts.backup || Number.isNaN(parts.handedOver)).toBe(true)
      else
        expect(
          parts.handedOver,
          'ms from the start to the configuration of the agent, which comes before the election',
        ).toBeLessThan(parts.active)
      for (const node of nodes) await node.routersAre(UNICAST, WITHIN)
    }
    await cluster?.apiUp()
    for (const node of nodes) {
      await node.agent?.line(/the watch of the nodes at the API works again/, WITHIN)
      expect(await node.routers(), `routers of ${node.name} after the API returned`).toEqual(UNICAST)
    }
  })
})
