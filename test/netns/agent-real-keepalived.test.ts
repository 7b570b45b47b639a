/**
 * The agent in the place of dynkeepalived, beside real keepalived, which the agent configures by a file and the command `reload`. The group
 * has one holder. If a node joins, all nodes advertise to the new node, and the holder stays the same. In a mixed group, holdfast with its
 * agent takes over from a keepalived that ends or dies, and gives the address back when keepalived returns.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { ip } from '../../src/lab/ip.ts'
import { LAB_VIP } from '../../src/lab/lab.ts'
import { LoggedProcess } from '../../src/lab/logged-process.ts'
import { eventually, monotonicMs, sleep } from '../../src/lab/wait.ts'
import { Capture, faults } from '../../src/lab/watch/capture.ts'
import { Prober, startResponder } from '../../src/lab/watch/probe.ts'
import { type Authority, createAuthority } from '../support/certificates.ts'
import { ClusterLab, INGRESS_VIP } from '../support/cluster-lab.ts'
import { KeepalivedPod } from '../support/keepalived-pod.ts'
import { addressesOf } from '../support/moved-host.ts'
import { describeInterop } from '../support/require.ts'

/** Limit in ms for process starts, checks that must succeed three times at 2 s, and elections at 1 s. */
const WITHIN = { within: 40_000, every: 20 }
const [API, INGRESS] = ['ostest_API_0', 'ostest_INGRESS_0']

const READY_PORTS = join(import.meta.dirname, '..', 'support', 'ready-ports.mjs')
let authority: Authority
beforeAll(() => {
  authority = createAuthority()
})
afterAll(() => authority?.remove())
let cluster: ClusterLab | undefined
afterEach(async () => {
  await cluster?.destroy()
  cluster = undefined
})

describeInterop("the agent in dynkeepalived's place beside real keepalived", () => {
  test('the group has one holder when a node joins, and a node with holdfast takes over and gives the address back', {
    timeout: 120_000,
  }, async () => {
    const made = new ClusterLab({ nodes: 3, flags: ['--listen', '127.0.0.1:9656'] })
    cluster = made
    const { lab } = made
    const [n1, n2, n3] = [made.node(1), made.node(2), made.node(3)]
    const [first, second] = [new KeepalivedPod(made, n1), new KeepalivedPod(made, n2)]
    for (const { host } of made.nodes) startResponder(lab, host)
    for (const { name, host } of [n1, n2]) made.register({ name, addresses: [host.address] })
    await made.apiUp()
    first.healthy = true
    n2.serveIngress()
    for (const pod of [first, second]) pod.start()

    const [api, ingress] = [new Prober(lab, lab.client, LAB_VIP), new Prober(lab, lab.client, INGRESS_VIP)]
    const engine = async () =>
      (await n3.snapshot())?.routers.map(({ name, state, faults: why }) => [name, state, ...why])
    const sight = async () => ({
      addresses: lab.routers.map(addressesOf),
      holders: [api.holder, ingress.holder],
      pods: [first.sight, second.sight],
      engine: await engine(),
      agent: n3.agent?.lines.slice(-4).map(({ text }) => text),
    })
    const held = (occasion: string, byApi: string, byIngress = 'r2') =>
      eventually(
        `${byApi} alone to hold and answer for the API's address, ${byIngress} for that of ingress, ${occasion}`,
        () =>
          lab.holders(LAB_VIP).join() === byApi &&
          lab.holders(INGRESS_VIP).join() === byIngress &&
          api.holder === byApi &&
          ingress.holder === byIngress,
        { sight, ...WITHIN },
      )
    await held('after the start', 'r1')
    expect([first.peers(API), first.peers(INGRESS)]).toEqual([['10.77.0.12'], ['10.77.0.12']])

    // A node joins: both keepalived daemons advertise to it, and no node changes its state.
    const heard = await Capture.start(lab, 'new-node', 'ip proto 112', n3.host)
    const before = [first.entered, second.entered].map((states) => states.length)
    const holders = [api.holders.length, ingress.holders.length]
    made.register({ name: n3.name, addresses: [n3.host.address] })
    const joined = monotonicMs()
    for (const [pod, other] of [
      [first, '10.77.0.12'],
      [second, '10.77.0.11'],
    ] as const)
      await eventually(
        `${pod.node.name} to list the new node`,
        () => [API, INGRESS].every((name) => pod.peers(name).join() === `${other},10.77.0.13`),
        { sight, ...WITHIN },
      )
    const listed = monotonicMs() - joined
    // Three advertisement intervals.
    await sleep(3_500)
    const frames = await heard.stop()
    const told = new Set(frames.map(({ source, destination, vrid }) => `${vrid} from ${source} to ${destination}`))
    expect([...told].sort()).toEqual(['14 from 10.77.0.11 to 10.77.0.13', '93 from 10.77.0.12 to 10.77.0.13'])
    expect(faults(frames)).toEqual([])

    // The new node runs holdfast's engine and agent, and an API server of its own. The checks of the new node add up to
    // priority 45, which is less than that of n2.
    const { key, cert } = authority.issue('DNS:localhost')
    writeFileSync(join(lab.directory, 'key.pem'), key)
    writeFileSync(join(lab.directory, 'cert.pem'), cert)
    new LoggedProcess(lab, n3.host, [process.execPath, READY_PORTS, lab.directory, '6443s'])
    n3.startEngine()
    n3.startAgent()
    await eventually(
      'our router of the API to be Backup',
      async () => (await engine())?.some(([name, state]) => name === API && state === 'Backup'),
      { sight, ...WITHIN },
    )
    await eventually('it to keep both as peers', () => n3.peers()[API]?.join() === '10.77.0.11,10.77.0.12', {
      sight: () => n3.peers(),
      ...WITHIN,
    })
    await eventually(
      'the priority that its checks come to',
      async () => (await n3.snapshot())?.routers.find(({ name }) => name === API)?.priority.effective === 45,
      { sight: async () => (await n3.snapshot())?.routers, ...WITHIN },
    )
    // Longer than any Active_Down_Interval.
    await sleep(4_000)
    await held('with our engine beside them', 'r1')
    expect(
      [first.entered, second.entered].map((states) => states.length),
      'states that were entered',
    ).toEqual(before)
    expect([api.holders.length, ingress.holders.length], 'holders that the client has seen').toEqual(holders)

    // keepalived is stopped and started, as in an upgrade of its image. The monitor keeps running.
    const figures: [string, number][] = [['listed', listed]]
    const since = async (what: string, at: number, by: string) => {
      await held(what, by)
      figures.push([what, monotonicMs() - at])
      expect(await engine(), what).toContainEqual([API, by === 'r3' ? 'Active' : 'Backup'])
    }
    const stopped = monotonicMs()
    first.keepalived?.signal('SIGTERM')
    await since('keepalived stopped', stopped, 'r3')
    await first.keepalived?.exited
    const started = monotonicMs()
    first.startKeepalived()
    await since('keepalived started', started, 'r1')

    // n1 loses its power. The files of its monitor are still there when the power is back.
    const off = lab.cut(n1.host)
    first.kill()
    ip(n1.host, `address del ${LAB_VIP}/32 dev eth0`)
    await since('without n1', off, 'r3')
    lab.heal(n1.host)
    const on = monotonicMs()
    first.start()
    await since('with n1 again', on, 'r1')
    await sleep(2_000)
    await held('a while later', 'r1')
    expect(n3.engine?.exit, 'exit of the engine on n3, which must still run').toBeUndefined()
    expect([...first.complaints, ...second.complaints], 'what keepalived says of its file').toEqual([])
    console.log(`beside keepalived: ${figures.map(([what, ms]) => `${what} ${ms.toFixed(0)} ms`).join(', ')}`)
  })
})
