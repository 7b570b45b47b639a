/**
 * HAProxy's monitor with a real HAProxy and real rules, as a client of the VIP sees it. HAProxy is killed, reloaded, frozen, and stopped in
 * good order. The monitor is stopped, killed, and started again. While HAProxy does not work, the VIP leads to the node's own API server.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { eventually, monotonicMs, sleep } from '../../src/lab/wait.ts'
import { judgeTime } from '../judge/time.ts'
import { BalancerLab, type BalancerNode, TEMPLATE } from '../support/balancer-lab.ts'
import { describeBalancer } from '../support/require.ts'
import { Turns } from '../support/turns.ts'

const WITHIN = 40_000
const BOUND = 'docs/load-balancer.md'
const REDIRECTED = 'holdfast_monitor_redirect{family="ip"} 1'
/** The tests wait for HAProxy and the monitor on labs of their own. */
const turns = new Turns(3)

describeBalancer('the monitor of HAProxy', () => {
  /** Defines a test with a lab of its own, whose first node has the VIP. */
  function test(title: string, body: (all: BalancerLab, node: BalancerNode) => Promise<void>): void {
    turns.test(title, async ({ onTestFinished }) => {
      const all = new BalancerLab()
      onTestFinished(() => all.destroy())
      await all.start()
      await body(all, all.node(1))
    })
  }

  test('a killed HAProxy costs less than a second of requests, and the rules come back with it', async (all, node) => {
    await all.balance(node)
    await all.startClient()
    const killed = node.haproxy?.killFamily() ?? 0
    const loss = await all.lossSince(killed, 3_000)
    judgeTime(`last lost request after the kill: ${JSON.stringify(loss)}`, loss.until, 1_000, BOUND)
    await node.redirectIs(false)
    expect(await node.metrics()).toContain('holdfast_monitor_haproxy_usable 0')

    const again = monotonicMs()
    node.startHaproxy()
    await node.redirectIs(true)
    expect(await all.lossSince(again, 2_000)).toMatchObject({ lost: 0 })
    await eventually('the metric of the rules', async () => (await node.metrics()).includes(REDIRECTED), {
      sight: () => node.metrics(),
      within: WITHIN,
      every: 200,
    })
  })

  test('a frozen HAProxy is left after the time limit of a check', async (all, node) => {
    await all.balance(node)
    await all.startClient()
    const frozen = node.signalHaproxy('SIGSTOP')
    await node.redirectIs(false)
    const off = monotonicMs()
    const loss = await all.lossSince(off, 1_000)
    expect(loss.lost, 'requests lost after the rules were gone').toBe(0)
    expect(off - frozen, 'ms until the rules were gone').toBeLessThan(10_000)
    node.signalHaproxy('SIGCONT')
    await node.redirectIs(true)
  })

  test('a reload for a new node breaks none of 1 000 open connections and loses no request', async (all, node) => {
    await all.balance(node)
    await all.startClient(1_000)
    const before = monotonicMs()
    all.cluster.leave('n3')
    await eventually('a configuration without n3', () => !readFileSync(node.file, 'utf8').includes('server n3 '), {
      sight: () => node.monitor?.lines.slice(-6),
      within: WITHIN,
    })
    await node.haproxy?.line(/New worker .* forked[\s\S]*/, WITHIN)
    expect(await all.lossSince(before, 5_000)).toMatchObject({ lost: 0 })
    expect(all.broken, 'held connections that ended').toBe(0)
    expect(await node.metrics()).toContain('holdfast_monitor_backends 2')
  })

  test('an API server that dies costs the requests that it had, and without any backend the VIP leads to the node itself', async (all, node) => {
    await all.balance(node)
    await all.startClient()
    const died = all.node(2).api?.killFamily() ?? 0
    // The server has accepted some requests that it can no longer answer.
    const loss = await all.lossSince(died, 3_000)
    judgeTime(`last lost request: ${JSON.stringify(loss)}`, loss.until, 1_000, BOUND)
    expect(loss.lost, `lost requests: ${JSON.stringify(loss)}`).toBeLessThan(10)

    // HAProxy has no backend, while the node's own API server still answers clients.
    for (const each of all.nodes) all.setReady(each, false)
    const bad = monotonicMs()
    await node.redirectIs(false)
    expect(await all.lossSince(bad, 3_000)).toMatchObject({ lost: 0 })
    for (const each of all.nodes) all.setReady(each, true)
    await node.redirectIs(true)
  })

  test('SIGTERM removes rules, chains and table, and loses no request when HAProxy follows', async (all, node) => {
    await all.balance(node)
    await all.startClient()
    const stopped = node.monitor?.signal('SIGTERM') ?? 0
    // timeout(1) and a shell send the signal twice.
    node.monitor?.signal('SIGTERM')
    // kubelet sends it to all containers of a pod together.
    node.haproxy?.signal('SIGTERM')
    expect((await node.monitor?.exited)?.code).toBe(0)
    expect(await node.redirect()).toBe('')
    await node.haproxy?.exited
    expect(await all.lossSince(stopped, 4_000)).toMatchObject({ lost: 0 })
  })

  test('HAProxy that ends by SIGTERM loses no request, and the rules come back with it', async (all, node) => {
    await all.balance(node)
    await all.startClient()
    const stopped = node.haproxy?.signal('SIGTERM') ?? 0
    await node.monitor?.line(/"haproxyUnusable".*about to stop/, WITHIN)
    await node.haproxy?.exited
    expect(await node.redirect()).not.toContain('OCP_API_LB_REDIRECT')
    expect(await all.lossSince(stopped, 4_000)).toMatchObject({ lost: 0 })

    const again = monotonicMs()
    node.startHaproxy()
    await node.redirectIs(true)
    expect(await all.lossSince(again, 2_000)).toMatchObject({ lost: 0 })
  })

  test('rules without a monitor end by themselves, and the next monitor adopts them if HAProxy works', async (all, node) => {
    await all.balance(node)
    await all.startClient()
    node.monitor?.killFamily()
    const next = monotonicMs()
    node.startMonitor()
    await node.monitor?.line(/"redirectChanged".*"installed"/, WITHIN)
    expect(await node.redirect()).toContain('OCP_API_LB_REDIRECT')
    expect(await all.lossSince(next, 1_000)).toMatchObject({ lost: 0 })

    const killed = node.monitor?.killFamily() ?? 0
    await eventually('the VIP to be confirmed no more', async () => !/elements = /.test(await node.redirect()), {
      sight: () => node.redirect(),
      within: 20_000,
      every: 100,
    })
    expect(monotonicMs() - killed, 'ms for which rules live').toBeLessThan(20_000)
    const dead = node.haproxy?.killFamily() ?? 0
    expect(await all.lossSince(dead, 2_000)).toMatchObject({ lost: 0 })

    // HAProxy is dead, so the next monitor removes the rules.
    expect(await node.redirect()).toContain('OCP_API_LB_REDIRECT')
    node.startMonitor()
    await node.redirectIs(false)
  })

  test('a template that cannot be rendered, or that HAProxy refuses, leaves the configuration in force', async (all, node) => {
    node.template = join(node.directory, 'haproxy.cfg.tmpl')
    writeFileSync(node.template, readFileSync(TEMPLATE, 'utf8'))
    await all.balance(node)
    const good = readFileSync(node.file, 'utf8')
    for (const [odd, told] of [
      ['{{ .LBConfig.Nothing }}', /"haproxyFileRefused".*Nothing/],
      ['nonsense 1', /"haproxyFileRefused".*unknown keyword 'nonsense'/],
    ] as const) {
      writeFileSync(node.template, `${readFileSync(TEMPLATE, 'utf8')}\n${odd}\n`)
      all.cluster.register({
        name: `extra${told.source.length}`,
        addresses: [`10.77.0.${200 + (told.source.length % 50)}`],
      })
      await node.monitor?.line(told, WITHIN)
      expect(readFileSync(node.file, 'utf8')).toBe(good)
      expect(await node.metrics()).toContain('holdfast_monitor_configuration_refused 1')
    }
    await node.redirectIs(true)
  })

  test('an API that names no control plane node changes nothing', async (all, node) => {
    await all.balance(node)
    const good = readFileSync(node.file, 'utf8')
    for (const name of ['n1', 'n2', 'n3'])
      all.cluster.register({ name, addresses: ['not-an-address'], roles: ['worker'] })
    await node.monitor?.line(/"backendsUnknown"/, WITHIN)
    await sleep(4_000)
    expect(readFileSync(node.file, 'utf8')).toBe(good)
    await node.redirectIs(true)
  })

  test('a table of another program is logged and not removed, and a taken port leaves the VIP with the node', async (all, node) => {
    const { lab } = all
    await lab.exec(node.host, [
      'nft',
      'add table ip ocp_nat; add chain ip ocp_nat mine { type filter hook input priority 0; }',
    ])
    const taken = lab.spawn(node.host, ['node', '-e', 'require("net").createServer().listen(9445, "::")'])
    node.startMonitor()
    await node.monitor?.line(/"haproxyFileWritten"/, WITHIN)
    await eventually(
      'HAProxy to refuse the port',
      () =>
        node
          .startHaproxy()
          .line(/cannot bind socket/i, 1_500)
          .catch(() => false),
      {
        sight: () => node.haproxy?.lines.slice(-3),
        within: WITHIN,
      },
    )
    await node.monitor?.line(/"haproxyPortTaken".*\[::\]:9445 \(node, process \d+\)/, WITHIN)
    await all.startClient()
    const at = monotonicMs()
    expect(await all.lossSince(at, 1_000)).toMatchObject({ lost: 0 })
    expect(await node.redirect()).not.toContain('OCP_API_LB_REDIRECT')

    taken.kill('SIGKILL')
    node.startHaproxy()
    await node.redirectIs(true)
    await node.monitor?.line(/"redirectForeign".*chain mine/, WITHIN)
    node.monitor?.signal('SIGTERM')
    await node.monitor?.exited
    expect(await node.redirect()).toContain('chain mine')
    expect(await node.redirect()).not.toContain('OCP_API_LB_REDIRECT')
  })
})
