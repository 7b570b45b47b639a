/**
 * `holdfast demo`: runs three daemons in network namespaces, with a client that probes the VIP every millisecond. After
 * the start two failures follow: the engine of the holder is killed, then the node of the next holder loses power. This
 * file decides the order of events, their text, and that nothing is left behind. This file does not know how a daemon
 * works.
 */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { EXIT } from '../../app/exit-code.ts'
import { messageOf } from '../../base/message-of.ts'
import { sweepLeftovers } from '../../lab/leftovers.ts'
import { Network } from '../../lab/network.ts'
import { Prober } from '../../lab/watch/probe.ts'
import { DemoNode } from './demo-node.ts'
import { missingRequirement } from './demo-requirement.ts'

const PREFIX = 'hfdemo'
const VIP = '10.77.0.100'
const INTERVAL = 100
const PRIORITIES = [200, 150, 100] as const
const CLIENT = { name: 'client', address: '10.77.0.2' }
const SIGNALS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const

const now = () => Number(process.hrtime.bigint()) / 1e6
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
const skewTime = (priority: number) => ((256 - priority) * INTERVAL) / 256

/** Runs the demo. Returns the exit status; 77 if the machine lacks a requirement. */
export async function demoCommand(): Promise<number> {
  const prefix = `${PREFIX}${process.pid}x`
  const missing = missingRequirement(prefix)
  if (missing !== undefined) {
    process.stderr.write(`holdfast demo: ${missing}\n`)
    return EXIT.privilege
  }
  sweepLeftovers(PREFIX)

  const directory = mkdtempSync(join(tmpdir(), `${prefix}-`))
  let network: Network | undefined
  const cleanUp = () => {
    network?.destroy()
    rmSync(directory, { recursive: true, force: true })
  }
  // The exit handler removes namespaces and processes of the demo even if this process ends early: closed terminal,
  // uncaught error, second Ctrl-C.
  process.on('exit', cleanUp)
  let signalled: number | undefined
  const interrupted = new Promise<void>((resolve) => {
    // The program that reads standard output has closed the pipe (EPIPE).
    process.stdout.once('error', () => {
      signalled = EXIT.failure
      resolve()
    })
    for (const [signal, status] of Object.entries(SIGNALS)) {
      process.once(signal, () => {
        signalled = status
        resolve()
      })
    }
  })
  try {
    const hosts = PRIORITIES.map((_, i) => ({ name: `node${i + 1}`, address: `10.77.0.${11 + i}` }))
    network = new Network(prefix, [...hosts, CLIENT])
    await Promise.race([new Story(network, directory).play(), interrupted])
    if (signalled !== undefined) process.stderr.write('\nholdfast demo: interrupted, cleaning up\n')
    return signalled ?? EXIT.ok
  } catch (error) {
    process.stderr.write(`holdfast demo: ${messageOf(error)}\n`)
    return EXIT.failure
  } finally {
    cleanUp()
  }
}

class Story {
  readonly #network: Network
  readonly #directory: string
  readonly #startedAt = now()
  #nodes: DemoNode[] = []

  constructor(network: Network, directory: string) {
    this.#network = network
    this.#directory = directory
  }

  async play(): Promise<void> {
    process.stdout.write(
      `One virtual address, ${VIP}, on three nodes (network namespaces on a bridge), an advertisement every ${INTERVAL} ms.\n\n`,
    )
    this.#nodes = PRIORITIES.map((priority, i) => {
      const host = this.#network.host(`node${i + 1}`)
      return new DemoNode(this.#network, this.#directory, { host, priority, vip: VIP, interval: INTERVAL })
    })
    this.#say(`started holdfast on ${this.#nodes.map((n) => `${n.host.name} (priority ${n.priority})`).join(', ')}`)
    const [first, second, third] = this.#nodes
    if (first === undefined || second === undefined || third === undefined) throw new Error('The demo has three nodes')

    await this.#until(
      `${first.host.name} to be the only Active`,
      async () => (await this.#states()) === 'Active Backup Backup',
    )
    for (const node of this.#nodes) {
      this.#say(`  ${node.host.name} is ${node === first ? `Active and holds ${VIP}` : 'Backup'}`)
    }
    const prober = new Prober(this.#network, this.#network.host(CLIENT.name), VIP)
    await this.#until(`the client to be answered by ${first.host.name}`, () => prober.holder === first.host.name)
    this.#say('the client probes the address every millisecond')
    await sleep(1_000)

    await this.#failure(
      prober,
      first,
      second,
      `kill -9 of the engine on ${first.host.name}`,
      () => first.killEngine(),
      [
        `its guardian removes the address and sends priority 0; ${second.host.name} waits Skew_Time,`,
        `${skewTime(second.priority).toFixed(0)} ms at priority ${second.priority}`,
      ],
    )
    await sleep(1_000)
    await this.#failure(
      prober,
      second,
      third,
      `power off ${second.host.name}: it cannot send anything`,
      () => second.powerOff(),
      [
        `no node can report it; ${third.host.name} waits Active_Down_Interval since the last advertisement,`,
        `at most ${(3 * INTERVAL + skewTime(third.priority)).toFixed(0)} ms at priority ${third.priority}`,
      ],
    )
    await prober.stop()
    process.stdout.write('\nDone; the demo has removed everything that it created.\n')
  }

  async #failure(
    prober: Prober,
    from: DemoNode,
    to: DemoNode,
    what: string,
    act: () => unknown,
    why: string[],
  ): Promise<void> {
    this.#say(what)
    const at = now()
    act()
    await this.#until(`${to.host.name} to answer the client`, () => prober.movedFrom(from.host.name, at) !== undefined)
    await this.#until(`${to.host.name} to be Active`, async () => (await to.state()) === 'Active')
    // The prober reports a gap without answers when the first answer after the gap arrives.
    await sleep(100)
    const holder = prober.movedFrom(from.host.name, at)?.name
    const gaps = prober.gaps.filter((gap) => gap.to >= at)
    const lost = gaps.reduce((sum, gap) => sum + gap.lost, 0)
    const outage = prober.longestGap(at, now())
    this.#say(`  ${holder} is Active and holds ${VIP}: ${outage.toFixed(0)} ms without an answer (${lost} probes lost)`)
    process.stdout.write(`           (${why.join('\n            ')})\n`)
  }

  async #states(): Promise<string> {
    return (await Promise.all(this.#nodes.map((node) => node.state()))).join(' ')
  }

  async #until(expected: string, look: () => boolean | Promise<boolean>, within = 10_000): Promise<void> {
    const since = now()
    while (!(await look())) {
      const failure = this.#nodes.map((node) => node.startFailure).find((reason) => reason !== undefined)
      if (failure !== undefined) throw new Error(failure)
      if (now() - since > within)
        throw new Error(`Expected ${expected} within ${within} ms; the nodes are ${await this.#states()}`)
      await sleep(10)
    }
  }

  #say(text: string): void {
    process.stdout.write(`[${((now() - this.#startedAt) / 1000).toFixed(1).padStart(5)} s]  ${text}\n`)
  }
}
