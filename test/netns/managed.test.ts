/**
 * An engine that receives its configuration as from an agent: none, one, the next, then garbage. The engine dies and
 * restarts without the agent, and receives a configuration without a router. The test has two nodes and a client that
 * probes every millisecond.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Snapshot } from '../../src/daemon/telemetry/snapshot.ts'
import { ask } from '../../src/files/control-client.ts'
import { HOLDFAST, type Host, LAB_VIP, type Lab } from '../../src/lab/lab.ts'
import { LoggedProcess } from '../../src/lab/logged-process.ts'
import { snapshotOf } from '../../src/lab/status.ts'
import { eventually, sleep } from '../../src/lab/wait.ts'
import { Prober, startResponder } from '../../src/lab/watch/probe.ts'
import { labOfTest } from '../support/lab-of-test.ts'
import { describeNetns } from '../support/require.ts'

const WITHIN = 15_000
/**
 * Interval in ms. The interval is long, so that an engine on a busy machine is not late; late engines are the subject
 * of another test.
 */
const INTERVAL = 1_000

class Node {
  readonly host: Host
  readonly directory: string
  readonly memory: string
  readonly socket: string
  readonly #lab: Lab
  process: LoggedProcess

  constructor(network: Lab, position: number) {
    this.#lab = network
    this.host = network.router(position)
    this.directory = join(network.directory, `managed-${this.host.name}`)
    this.memory = join(this.directory, 'memory', 'managed.yaml')
    this.socket = join(this.directory, 'run', 'holdfast.sock')
    this.process = this.start()
  }

  start(): LoggedProcess {
    const place = ['-c', this.memory, '--run-directory', join(this.directory, 'run'), '--listen', 'false']
    this.process = new LoggedProcess(this.#lab, this.host, [HOLDFAST, 'run', '--managed', ...place])
    return this.process
  }

  /** Runs `holdfast configure` with this text at its standard input. */
  configure(text: string, ...words: readonly string[]) {
    const command = ['configure', '-', '--socket', this.socket, ...words]
    const { status, stdout, stderr } = spawnSync(HOLDFAST, command, { encoding: 'utf8', input: text, timeout: 30_000 })
    return { status, stdout, stderr }
  }

  snapshot(): Promise<Snapshot | undefined> {
    return snapshotOf(this.socket)
  }

  async vip() {
    return (await this.snapshot())?.routers.find(({ name }) => name === 'vip')
  }

  async answers(occasion: string): Promise<Snapshot> {
    return await eventually(`${this.host.name} to answer after ${occasion}`, () => this.snapshot(), {
      sight: () => this.process.lines.slice(-5).map(({ text }) => text),
      every: 50,
    })
  }

  async becomes(state: string, occasion: string): Promise<void> {
    await eventually(
      `"vip" on ${this.host.name} to be ${state} after ${occasion}`,
      async () => (await this.vip())?.state === state,
      { sight: () => this.vip(), every: 50 },
    )
  }

  probe(path: string) {
    return ask(this.socket, { path, within: 3_000 })
  }
}

const text = ({ host }: Node, priority: number, peers: readonly string[]): string => `virtualRouters:
  - name: vip
    vrid: 51
    interface: eth0
    addresses: [${LAB_VIP}]
    priority: ${priority}
    advertisementInterval: ${INTERVAL}ms
    announce: { refresh: false }
    transport: { unicast: { source: ${host.address}, peers: [${peers.join(', ')}] } }
`

function twoNodes(): { network: Lab; first: Node; second: Node } {
  const network = labOfTest({ routers: 2 })
  for (const host of network.routers) startResponder(network, host)
  return { network, first: new Node(network, 1), second: new Node(network, 2) }
}

const transitionsOf = (router: Awaited<ReturnType<Node['vip']>>) =>
  router?.counters.transitions.reduce((sum, { count }) => sum + count, 0)

describeNetns('an engine in managed mode', () => {
  test('the address is where the configuration demands, while configurations are handed over, changed, refused, remembered and removed', {
    timeout: 120_000,
  }, async () => {
    const { network, first, second } = twoNodes()
    for (const node of [first, second]) {
      expect(
        (await node.answers('its start')).config,
        `configuration of ${node.host.name} at its first start`,
      ).toMatchObject({
        file: node.memory,
        hash: null,
        managed: { handedOver: null, waits: 'No configuration has been handed over yet', notKept: null },
      })
      expect((await node.probe('/healthz')).status).toBe(200)
      const ready = await node.probe('/readyz')
      expect([ready.status, ready.body]).toEqual([
        503,
        expect.stringContaining('No configuration has been handed over yet'),
      ])
    }

    const peers = [first.host.address, second.host.address]
    const begun = text(first, 200, peers)
    const given = first.configure(begun, '--by', 'agent', '--revision', '1')
    expect(given, 'exit of the first hand-over to r1').toMatchObject({ status: 0, stderr: '' })
    expect(given.stdout).toMatch(/^vip: added$/m)
    expect(second.configure(text(second, 150, peers)).status, 'the first hand-over to r2').toBe(0)
    await first.becomes('Active', 'the first hand-over')
    await second.becomes('Backup', 'the first hand-over')
    expect(readFileSync(first.memory, 'utf8'), 'remembered configuration of r1').toBe(begun)
    expect(statSync(first.memory).mode & 0o777).toBe(0o600)
    expect((await first.probe('/readyz')).status).toBe(200)

    const prober = new Prober(network, network.client, LAB_VIP)
    await prober.answeredBy('r1', WITHIN)
    const before = transitionsOf(await first.vip())
    const next = text(first, 200, [...peers, '10.77.0.50'])
    const changed = first.configure(next, '--by', 'agent', '--revision', '2')
    expect([changed.status, changed.stdout]).toEqual([0, expect.stringMatching(/^vip: changed \(.+\)$/m)])
    const same = first.configure(next, '--by', 'agent', '--revision', '2')
    expect([same.status, same.stdout]).toEqual([0, expect.stringMatching(/1 router unchanged\n$/)])
    const inForce = (await first.snapshot())?.config.hash

    // No text of this list comes into force or is remembered.
    const wrong = first.configure(next.replace('vrid: 51', 'vrid: 510'))
    expect(wrong).toMatchObject({
      status: 78,
      stderr: expect.stringMatching(/^standard input:3:11: virtualRouters\[0\]\.vrid: cannot use 510, /),
    })
    for (const [what, garbage, status] of [
      ['cut off', next.slice(0, next.indexOf('addresses: [') + 14), 78],
      ['no YAML', '\u0007}{', 78],
      ['nothing', '', 1],
      ['keepalived', 'vrrp_instance x {\n}\n', 78],
      ['too long', `# ${'x'.repeat(600_000)}`, 1],
    ] as const)
      expect(first.configure(garbage).status, `exit status of a hand-over of a text that is ${what}`).toBe(status)
    // A client closes its connection in the middle of a request, and a second client never ends its request.
    const head = 'POST /v1/configuration HTTP/1.1\r\nHost: x\r\nContent-Length: 400000\r\n\r\nvirtualRouters: []\n'
    const gone = connect(first.socket, () => gone.write(head, () => gone.destroy()))
    const late = await new Promise<string>((resolve, reject) => {
      const slow = connect(first.socket, () => slow.write(head))
      slow.once('data', (answer) => resolve(answer.toString('utf8')))
      slow.once('error', reject)
      slow.once('close', () => reject(new Error('The connection was closed without an answer')))
    })
    expect(late).toMatch(/^HTTP\/1\.1 408 /)

    await sleep(2 * INTERVAL)
    const settled = await first.snapshot()
    expect(settled?.config, 'configuration of r1 after all refused texts').toMatchObject({
      hash: inForce,
      lastReload: { ok: false },
      managed: {
        handedOver: { by: 'agent', revision: '2' },
        handOvers: { ok: 2, unchanged: 1, invalid: 4, failed: 0 },
        notKept: null,
      },
    })
    expect(transitionsOf(await first.vip()), 'transitions since the first hand-over').toBe(before)
    expect(readFileSync(first.memory, 'utf8'), 'remembered configuration of r1 after all refused texts').toBe(next)
    expect(readdirSync(join(first.directory, 'memory')), 'files in the folder of the remembered configuration').toEqual(
      ['managed.yaml'],
    )
    const { lost, sent } = await prober.stop()
    expect(lost, `probes without an answer, of ${sent}, until r1 is killed`).toBe(0)

    // r1 restarts without an agent that hands a configuration over.
    first.process.killFamily()
    await first.process.exited
    await second.becomes('Active', 'the death of r1')
    first.start()
    await first.becomes('Active', 'its second start')
    expect((await first.snapshot())?.config, 'configuration of r1 after its second start').toMatchObject({
      hash: inForce,
      managed: { handedOver: null, waits: null },
    })
    await second.becomes('Backup', 'the return of r1')

    const heard = (await second.vip())?.counters.receivedZero ?? 0
    const off = first.configure('virtualRouters: []\n', '--by', 'agent')
    expect([off.status, off.stdout]).toEqual([0, expect.stringMatching(/^vip: removed$/m)])
    await second.becomes('Active', 'an empty configuration on r1')
    expect(
      (await second.vip())?.counters.receivedZero,
      'advertisements with priority 0 that r2 has received',
    ).toBeGreaterThan(heard)
    await eventually('r2 alone to hold the address', () => network.holders(LAB_VIP).join() === 'r2', {
      sight: () => network.holders(LAB_VIP),
    })
    expect((await first.probe('/readyz')).status, 'readiness of r1 with a configuration without routers').toBe(200)
  })

  test('with a damaged remembered file the engine waits and reports the damage, and two concurrent hand-overs repair the file', async () => {
    const network = labOfTest({ routers: 1 })
    const torn = join(network.directory, 'managed-r1', 'memory')
    mkdirSync(torn, { recursive: true })
    writeFileSync(join(torn, 'managed.yaml'), 'virtualRouters:\n  - name: vip\n    vrid: 5')
    const node = new Node(network, 1)
    const { config } = await node.answers('a start with half a file')
    expect(config).toMatchObject({ hash: null, managed: { waits: expect.stringContaining('Cannot use ') } })
    expect(node.process.lines.some(({ text: line }) => line.includes('managed.yaml:2:5: '))).toBe(true)
    const reload = spawnSync(HOLDFAST, ['reload', '--socket', node.socket], { encoding: 'utf8', timeout: 30_000 })
    expect(reload.status, 'exit status of a reload with half a file').toBe(78)

    const whole = text(node, 200, [node.host.address, '10.77.0.50'])
    const [one, two] = await Promise.all(
      ['one', 'two'].map((by) => ask(node.socket, { path: `/v1/configuration?by=${by}`, text: whole, within: 20_000 })),
    )
    expect([one?.status, two?.status], 'two agents at once').toEqual([200, 200])
    await node.becomes('Active', 'two hand-overs at once')
    expect(readFileSync(node.memory, 'utf8')).toBe(whole)

    node.process.signal('SIGTERM')
    expect((await node.process.exited).code).toBe(0)
  })

  test('an engine with a configuration file refuses a configuration that is handed over', async () => {
    const network = labOfTest({ routers: 1 })
    const host = network.router(1)
    const file = join(network.directory, 'own.yaml')
    const run = join(network.directory, 'own')
    writeFileSync(file, JSON.stringify({ runDirectory: run, api: { listen: false }, virtualRouters: [] }))
    const daemon = new LoggedProcess(network, host, [HOLDFAST, 'run', '-c', file])
    const socket = join(run, 'holdfast.sock')
    await eventually('the engine to answer', async () => (await snapshotOf(socket)) !== undefined, {
      sight: () => daemon.lines.slice(-3),
    })
    const refused = spawnSync(HOLDFAST, ['configure', file, '--socket', socket], { encoding: 'utf8', timeout: 30_000 })
    expect([refused.status, refused.stderr]).toEqual([1, expect.stringContaining('(403)')])
    expect(refused.stderr).toContain('This engine reads its configuration from a file')
    daemon.signal('SIGTERM')
    expect((await daemon.exited).code).toBe(0)
  })
})
