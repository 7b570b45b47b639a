/**
 * The load balancer as the checks of OpenShift see it, with a real HAProxy and real rules. If HAProxy dies, the priority of its node falls
 * from 68 to 48, and the VIP moves to a node whose HAProxy works. One node runs holdfast with its agent, the other node runs keepalived.
 * IPv6 traffic follows the rules of IPv6.
 */
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ip } from '../../src/lab/ip.ts'
import { HOLDFAST, LAB_VIP, LAB_VIP6 } from '../../src/lab/lab.ts'
import { eventually } from '../../src/lab/wait.ts'
import { BalancerLab, type BalancerNode } from '../support/balancer-lab.ts'
import { KeepalivedPod } from '../support/keepalived-pod.ts'
import { describeBalancer } from '../support/require.ts'

const WITHIN = { within: 60_000, every: 100 }
const API = 'ostest_API_0'
/** Output of crictl on a node with the machine-config-server. */
const CONTAINERS = '{"containers":[{"metadata":{"name":"machine-config-server"}}]}'

describeBalancer('the load balancer of a node', () => {
  let all: BalancerLab

  beforeAll(async () => {
    all = new BalancerLab({ ipv6: true })
    await all.start({ holdsVip: false })
    await all.lab.addressesSettle(20_000)
    for (const node of [all.node(1), all.node(2)]) node.vips = `${LAB_VIP},${LAB_VIP6}`
    const run = join(all.lab.directory, 'own-run')
    mkdirSync(run)
    writeFileSync(join(run, 'crictl'), `#!/bin/sh\necho '${CONTAINERS}'\n`)
    chmodSync(join(run, 'crictl'), 0o755)
    const n1 = all.cluster.node(1)
    n1.wrapper = ['unshare', '--mount', 'sh', '-c', `mount --bind ${run} /run && exec "$@"`, 'sh']
    n1.environment = { PATH: `${run}:${process.env.PATH}` }
    n1.startEngine()
    n1.startAgent()
    await Promise.all([all.balance(all.node(1), '--nodes-from', n1.stateDirectory), all.balance(all.node(2))])
  })
  afterAll(() => all?.destroy())

  test('an HAProxy that dies takes the VIP from a node with holdfast, and from a node with keepalived, as its checks fall from 68 to 48', {
    timeout: 180_000,
  }, async () => {
    const { cluster, lab } = all
    const [n1, n2] = [cluster.node(1), cluster.node(2)]
    const pod = new KeepalivedPod(cluster, n2)
    pod.asksServices()
    const router = async () => (await n1.snapshot())?.routers.find(({ name }) => name === API)
    const sight = async () => ({
      router: await router(),
      checks: (await n1.snapshot())?.healthchecks.map(({ name, result }) => `${name} ${result}`),
      holders: lab.holders(LAB_VIP),
      ...pod.sight,
      agent: n1.agent?.lines.slice(-5),
    })
    const holds = (holder: string, own: number, theirs: number) =>
      eventually(
        `${holder} to hold the VIP, with the priorities ${own} and ${theirs}`,
        async () =>
          lab.holders(LAB_VIP).join() === holder &&
          (await router())?.priority.effective === own &&
          pod.priorities.at(-1) === theirs,
        { sight, ...WITHIN },
      )
    await eventually('holdfast to hold the VIP', async () => (await router())?.priority.effective === 68, {
      sight,
      ...WITHIN,
    })
    pod.start()
    await holds('r1', 68, 68)
    await all.startClient()

    all.node(1).haproxy?.killFamily()
    await holds('r2', 48, 68)
    const told = await lab.exec(n1.host, [HOLDFAST, 'explain', '--socket', n1.socket, '--no-ask-peers'])
    expect(told).toMatch(/moved from \S+ to 10\.77\.0\.12: HAProxy did not answer on \S+ \(health check openshift-lb: /)
    all.node(1).startHaproxy()
    await holds('r2', 68, 68)
    all.node(2).haproxy?.killFamily()
    await holds('r1', 68, 48)
  })

  test('an HAProxy that dies leaves a client of the IPv6 VIP with the API server of the node; a living one gives it all of them', async () => {
    const { lab } = all
    const node = all.node(1)
    ip(node.host, `address add ${LAB_VIP6}/128 dev eth0 nodad`)
    const answers = async (host = lab.client) => {
      const asked = `for i in 1 2 3 4 5 6; do curl -sS -m 5 http://[${LAB_VIP6}]:6443/ || true; echo; done`
      const said = await lab.exec(host, ['sh', '-c', asked])
      return [...new Set(said.split('\n').filter(Boolean))].sort().join()
    }
    const answeredBy = (names: string, host = lab.client) =>
      eventually(`${host.name} to be answered by ${names}`, async () => (await answers(host)) === names, {
        sight: () => answers(host),
        ...WITHIN,
      })
    await answeredBy('r1,r2,r3')
    await answeredBy('r1,r2,r3', node.host)
    node.haproxy?.killFamily()
    await answeredBy('r1')
    await answeredBy('r1', node.host)
    expect(await lab.exec(node.host, ['nft', 'list', 'table', 'ip6', 'ocp_nat'])).not.toContain('OCP_API_LB_REDIRECT')
  })

  test('a monitor with --nodes-from follows the nodes that the agent stores, and has no connection to the API', async () => {
    const node = all.node(1)
    const has = (name: string) => readFileSync(node.file, 'utf8').includes(`server ${name} `)
    expect([has('n1'), has('n2'), has('n3')]).toEqual([true, true, true])
    all.cluster.leave('n3')
    await eventually('haproxy.cfg without n3', () => !has('n3'), {
      sight: () => node.monitor?.lines.slice(-5),
      ...WITHIN,
    })
    expect(has('n1')).toBe(true)
    const connections = async ({ host, monitor }: BalancerNode) => {
      const sockets = await all.lab.exec(host, ['ss', '-Htnp', 'state', 'established', 'dport', '=', ':6443'])
      return sockets.split('\n').filter((line) => line.includes(`pid=${monitor?.pid},`)).length
    }
    expect(await connections(node), 'connections of the monitor to the API').toBe(0)
    expect(await connections(all.node(2)), 'connections of the monitor that watches the nodes itself').toBeGreaterThan(
      0,
    )
  })
})
