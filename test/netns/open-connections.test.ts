/**
 * A planned move of the VIP while TCP connections to the VIP are open. Clients of a service that runs on both nodes show the effect, which
 * docs/operations.md describes.
 */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { run } from '../../src/lab/command.ts'
import { Holdfast } from '../../src/lab/daemons/holdfast.ts'
import { packageRoot } from '../../src/lab/installation.ts'
import { type Host, LAB_VIP, type Lab } from '../../src/lab/lab.ts'
import { LoggedProcess } from '../../src/lab/logged-process.ts'
import { eventually, monotonicMs, sleep } from '../../src/lab/wait.ts'
import { Capture } from '../../src/lab/watch/capture.ts'
import { labOfTest } from '../support/lab-of-test.ts'
import { describeNetns } from '../support/require.ts'

const BIN = join(packageRoot(), 'bin', 'holdfast')
const SUPPORT = join(packageRoot(), 'test', 'support')
const PORT = '8080'
const WITHIN = 20_000

type Said = { readonly at: number; readonly event: string; readonly from?: string; readonly code?: string }

class Client {
  readonly #process: LoggedProcess

  /** Connects, and then sends a line after each of these times in ms. */
  constructor(lab: Lab, times: readonly number[]) {
    const argv = ['node', join(SUPPORT, 'tcp-client.mjs'), LAB_VIP, PORT, ...times.map(String)]
    this.#process = new LoggedProcess(lab, lab.client, argv)
  }

  get said(): readonly Said[] {
    return this.#process.lines.map(({ text }) => JSON.parse(text))
  }

  async says(event: string, count = 1): Promise<Said> {
    const found = () => this.said.filter((each) => each.event === event)[count - 1]
    return eventually(`the client to say "${event}" (${count})`, found, { sight: () => this.said.slice(-4) })
  }
}

describeNetns('a TCP connection to the VIP during a planned move', () => {
  async function settled() {
    const network = labOfTest({ routers: 2 })
    const plan = (position: number, priority: number) => ({
      ...{ host: network.router(position), priority, intervalMs: 100, address: LAB_VIP },
    })
    const services = network.routers.map(
      (host) => new LoggedProcess(network, host, ['node', join(SUPPORT, 'tcp-service.mjs'), host.name, PORT]),
    )
    await Promise.all(services.map((service) => service.line(/ready/, WITHIN)))
    const daemons = [new Holdfast(network, plan(1, 200)), new Holdfast(network, plan(2, 100))] as const
    await Promise.all(daemons.map((daemon) => daemon.ready()))
    const holders = () => network.holders(LAB_VIP).join()
    const heldBy = (name: string) =>
      eventually(`${name} to hold the VIP`, () => holders() === name, { sight: holders, every: 10 })
    await heldBy('r1')
    const order = (...argv: readonly string[]) => {
      const command = ['yield', 'vip', '-s', daemons[0].socket, ...argv]
      const { status, stderr } = spawnSync(BIN, command, { encoding: 'utf8', timeout: WITHIN })
      expect([status, stderr], command.join(' ')).toEqual([0, ''])
    }
    /** Returns the number of connections that the kernel of r1 still has. */
    const established = () =>
      run([
        'ip',
        'netns',
        'exec',
        network.router(1).namespace,
        'ss',
        '-Htn',
        'state',
        'established',
        `sport = :${PORT}`,
      ])
        .split('\n')
        .filter((line) => line.includes(LAB_VIP)).length
    return { network, heldBy, order, established }
  }

  test('is reset at the next segment if the connection is active, and a new connection reaches the new holder', async () => {
    const { network, heldBy, order, established } = await settled()
    const ticks = Array.from({ length: 400 }, (_, i) => i * 50)
    const busy = new Client(network, ticks)
    await busy.says('data', 5)
    expect(busy.said.map(({ from }) => from).filter(Boolean)).toEqual(expect.arrayContaining(['r1']))

    const capture = await Capture.start(network, 'resets', 'tcp[tcpflags] & tcp-rst != 0')
    const at = monotonicMs()
    order('--for', '60s')
    const reset = await busy.says('over')
    expect(reset.code).toMatch(/^(ECONNRESET|end)$/)
    console.log(`reset ${(reset.at - at).toFixed(0)} ms after the order`)
    expect(reset.at - at, 'milliseconds from the order to the reset').toBeLessThan(5_000)
    expect(new Set(busy.said.flatMap(({ from }) => from ?? []))).toEqual(new Set(['r1']))
    await heldBy('r2')
    const next = new Client(network, [0])
    expect((await next.says('data')).from).toBe('r2')
    const macOf = (host: Host) =>
      JSON.parse(run(['ip', '-n', host.namespace, '-json', 'link', 'show', 'eth0']))[0].address
    const resets = await capture.stop()
    expect(resets.map(({ mac }) => mac)).toContain(macOf(network.router(2)))
    // The kernel of r1 gets no notice that the client's end is gone.
    expect(established(), 'connections that the kernel of r1 still has').toBe(1)
  })

  test('hangs if a packet filter on the new holder drops segments of unknown connections', async () => {
    const { network, heldBy, order } = await settled()
    const rule = 'add rule ip t i tcp flags & (syn | ack) != syn ct state new drop'
    const filter = `add table ip t; add chain ip t i { type filter hook input priority 0; }; ${rule}`
    network.exec(network.router(2), ['nft', filter])
    const busy = new Client(
      network,
      Array.from({ length: 400 }, (_, i) => i * 50),
    )
    await busy.says('data', 5)
    order('--for', '60s')
    await heldBy('r2')
    await sleep(500)
    const before = busy.said.length
    await sleep(5_000)
    expect(busy.said.slice(before), 'events of the client in the 5 s after the move').toEqual([])
    expect((await new Client(network, [0]).says('data')).from, 'a new connection').toBe('r2')
  })

  test('has no event while it is idle, and is reset when the client sends', async () => {
    const { network, heldBy, order } = await settled()
    const idle = new Client(network, [0, 8_000])
    await idle.says('data')
    order('--for', '60s')
    await heldBy('r2')
    await sleep(3_000)
    expect(idle.said.map(({ event }) => event)).toEqual(['connected', 'data'])
    expect((await idle.says('over')).code).toBe('ECONNRESET')
  })

  test('stays open if it is idle while the VIP moves away and back', async () => {
    const { network, heldBy, order } = await settled()
    const idle = new Client(network, [0, 10_000])
    await idle.says('data')
    order('--for', '60s')
    await heldBy('r2')
    await sleep(1_000)
    order('--cancel')
    await heldBy('r1')
    expect((await idle.says('data', 2)).from).toBe('r1')
    expect(idle.said.map(({ event }) => event)).toEqual(['connected', 'data', 'data'])
  })
})
