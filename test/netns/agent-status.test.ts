/**
 * Two nodes, each with an engine and `holdfast agent`, and the API. The status names the new holder of the addresses when the
 * processes of the old one are killed. If the spec switches an address off, every node gives it up with priority 0.
 */
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { GROUP, KIND, PLURAL, readPublished, VERSION } from '../../src/cluster/decisions/status/published-status.ts'
import { LAB_VIP } from '../../src/lab/lab.ts'
import { LoggedProcess } from '../../src/lab/logged-process.ts'
import { eventually, sleep } from '../../src/lab/wait.ts'
import { ClusterLab, INGRESS_VIP } from '../support/cluster-lab.ts'
import { describeNetns } from '../support/require.ts'

const WITHIN = { within: 60_000, every: 50 }
/** Numeric level `debug` of log records. */
const DEBUG = 20
const READY_PORTS = join(import.meta.dirname, '..', 'support', 'ready-ports.mjs')
const HOSTED = `${GROUP}/${VERSION}/${PLURAL}`
let cluster: ClusterLab | undefined
afterEach(async () => {
  await cluster?.destroy()
  cluster = undefined
})

function built(flags: readonly string[] = []) {
  const made = new ClusterLab({ nodes: 2, flags: ['--stable-for=500ms', ...flags] })
  cluster = made
  made.registerAll()
  // The ingress checks of a node without an ingress router fail, and then the node takes no part in the election.
  for (const { host } of made.nodes)
    new LoggedProcess(made.lab, host, ['node', READY_PORTS, made.lab.directory, '1936'])
  const { api, lab } = made
  const wished = (spec: object) =>
    api.store.put(HOSTED, { apiVersion: `${GROUP}/${VERSION}`, kind: KIND, metadata: { name: 'cluster' }, spec })
  const published = () => readPublished(api.store.get(HOSTED, 'cluster'))
  const holderOf = (vip: string) => lab.holders(vip).join()
  const told = () => made.nodes.map((node) => node.told.slice(-4).map(({ msg }) => msg))
  const eventuallyHeld = (vip: string, by: string, occasion: string) =>
    eventually(`${vip} to be held by "${by}" ${occasion}`, () => holderOf(vip) === by, {
      sight: () => ({ holders: holderOf(vip), told: told() }),
      ...WITHIN,
    })
  const named = (by: string, occasion: string) =>
    eventually(
      `the status to name ${by} ${occasion}`,
      () => published()?.apiServerInternalIpOwner === by && published()?.ingressIpOwner === by,
      {
        sight: () => ({ published: published(), told: told(), holders: [holderOf(LAB_VIP), holderOf(INGRESS_VIP)] }),
        ...WITHIN,
      },
    )
  return { ...{ made, api, lab, wished, published, eventuallyHeld, named, holderOf } }
}

describeNetns("HostedNetServices, written by the agent's process", () => {
  test('the status names the new holder of each address, and the spec switches the ingress address off and on', {
    timeout: 240_000,
  }, async () => {
    const { made, wished, eventuallyHeld, named } = built()
    const [first, second] = [made.node(1), made.node(2)]
    wished({})
    await made.apiUp()
    first.startEngine()
    first.startAgent()
    await eventuallyHeld(LAB_VIP, 'r1', 'which is alone')
    await eventuallyHeld(INGRESS_VIP, 'r1', 'which is alone')
    second.startEngine()
    second.startAgent()
    await named('n1', 'which has both')
    const follows = async (name: string) =>
      (await second.snapshot())?.routers.find((router) => router.name === name)?.holder.address === first.host.address
    for (const name of ['ostest_API_0', 'ostest_INGRESS_0'])
      await eventually(`n2 to follow n1 in ${name}`, () => follows(name), { sight: () => second.snapshot(), ...WITHIN })

    first.agent?.killFamily()
    first.engine?.killFamily()
    await named('n2', 'after the first was killed')

    // The kernel of the first node still has the address, because no process was left to remove the address. The restarted engine removes
    // the address.
    first.startEngine()
    first.startAgent()
    await eventuallyHeld(INGRESS_VIP, 'r2', 'when the first is back')
    const ingressOf = async () =>
      (await first.snapshot())?.routers.find(({ name, departing }) => name === 'ostest_INGRESS_0' && !departing)
    await eventually('n1 to follow n2', async () => (await ingressOf())?.holder.address === second.host.address, {
      sight: ingressOf,
      ...WITHIN,
    })

    // The holder gives the ingress address up with priority 0. The second node still has its router, so this node takes
    // over immediately.
    const zeroBefore = (await ingressOf())?.counters.receivedZero ?? 0
    let zeros = zeroBefore
    const looks = setInterval(() => {
      void ingressOf().then((router) => {
        zeros = Math.max(zeros, router?.counters.receivedZero ?? 0)
      })
    }, 20)
    first.agent?.signal('SIGSTOP')
    wished({ ingressHa: 'Disabled' })
    await eventuallyHeld(INGRESS_VIP, 'r1', 'whose agent does not know yet')
    clearInterval(looks)
    zeros = Math.max(zeros, (await ingressOf())?.counters.receivedZero ?? 0)
    expect(
      zeros,
      'advertisements with priority 0 that n1 has received since ingress was switched off on the holder',
    ).toBeGreaterThan(zeroBefore)
    first.agent?.signal('SIGCONT')
    await eventuallyHeld(INGRESS_VIP, '', 'when both agents know')
    expect(made.lab.holders(LAB_VIP)).toEqual(['r2'])
    await first.routersAre(['ostest_API_0: unicast to 1 peers'])
    await second.routersAre(['ostest_API_0: unicast to 1 peers'])

    wished({ ingressHa: 'Enabled' })
    await eventually('somebody to hold it again', () => made.lab.holders(INGRESS_VIP).length === 1, {
      sight: () => made.lab.holders(INGRESS_VIP),
      ...WITHIN,
    })
    expect(made.lab.holders(LAB_VIP)).toEqual(['r2'])
  })

  test('a missing status resource is logged once, --no-status does not read the resource, and the engine gets its peers in both cases', {
    timeout: 120_000,
  }, async () => {
    const { made, api } = built()
    const [first, second] = [made.node(1), made.node(2)]
    await made.apiUp()
    for (const node of [first, second]) node.startEngine()
    first.startAgent()
    second.startAgent('--no-status')
    for (const node of [first, second])
      await node.routersAre(['ostest_API_0: unicast to 1 peers', 'ostest_INGRESS_0: unicast to 1 peers'])
    await eventually('one of them to hold the address', () => made.lab.holders(LAB_VIP).length === 1, {
      sight: () => made.lab.holders(LAB_VIP),
      ...WITHIN,
    })
    const absent = () =>
      first.told.filter(
        ({ msg, level }) => Number(level) > DEBUG && `${msg}`.startsWith('this cluster has no HostedNetServices'),
      )
    const asked = () => api.requests.filter(({ path }) => path.includes(PLURAL)).length
    await eventually('it to be told', () => absent().length > 0, { sight: absent, ...WITHIN })
    const before = asked()
    await eventually('it to be tried again', () => asked() > before + 2, { sight: asked, ...WITHIN })
    expect(absent()).toHaveLength(1)
    first.agent?.signal('SIGTERM')
    await first.agent?.exited
    const left = asked()
    await sleep(3_000)
    expect(asked(), 'requests for HostedNetServices of an agent with --no-status').toBe(left)
  })
})
