/**
 * Measures the cost of one health check, and how many checks one CPU second pays for. Several nodes run at the same
 * time, each Active on its own. Each node has no check, one check, or many checks of one kind, once a second. This file
 * decides that the CPU time of launchers and check programs belongs to the daemon, the CPU time of the checked service
 * does not. keepalived checks with a program, because it has no built-in check. This file does not judge the figures.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { Holdfast } from '../../src/lab/daemons/holdfast.ts'
import { Keepalived } from '../../src/lab/daemons/keepalived.ts'
import { packageRoot } from '../../src/lab/installation.ts'
import { ip } from '../../src/lab/ip.ts'
import { createLab, type Lab } from '../../src/lab/lab.ts'
import { LoggedProcess } from '../../src/lab/logged-process.ts'
import { eventually, monotonicMs } from '../../src/lab/wait.ts'
import { type Authority, createAuthority } from '../../test/support/certificates.ts'
import type { Span } from './idle-cost.ts'
import { ProcessAccount } from './process-account.ts'
import type { CheckCost, CostDaemon } from './result.ts'

type Question = { readonly daemon: CostDaemon; readonly asks: string; readonly count: number }

const HOLDFAST_ASKS = ['http', 'https', 'tcp', 'exec', 'process', 'file']
/**
 * Programs with which keepalived checks a service, by the kind of check. OpenShift's own script uses curl. The program
 * `true` is the cheapest possible one.
 */
const KEEPALIVED_ASKS: Readonly<Record<string, string>> = {
  http: '/usr/bin/curl -o /dev/null -sf http://127.0.0.1:8080/',
  https: '/usr/bin/curl -o /dev/null -ksf https://127.0.0.1:8443/',
  exec: '/bin/true',
}
const CURLS = ['http', 'https', 'exec']

export function questionsOf(daemons: readonly CostDaemon[], count: number): readonly Question[] {
  const asks = count === 1 ? HOLDFAST_ASKS : CURLS
  const all: readonly Question[] = [
    ...['nothing', ...asks].map((one): Question => ({ daemon: 'holdfast', asks: one, count })),
    ...['nothing', ...CURLS].map((one): Question => ({ daemon: 'keepalived', asks: one, count })),
  ]
  return all.filter(({ daemon }) => daemons.includes(daemon))
}

function probeOf(asks: string, caFile: string): Readonly<Record<string, unknown>> {
  switch (asks) {
    case 'http':
      return { http: 'http://127.0.0.1:8080/' }
    case 'https':
      return { http: 'https://127.0.0.1:8443/', tls: { caFile } }
    case 'tcp':
      return { tcp: '127.0.0.1:8080' }
    case 'exec':
      return { exec: ['/bin/true'] }
    case 'process':
      return { process: 'node' }
    default:
      return { file: '/proc/version' }
  }
}

class AskingNode {
  readonly #daemon: Holdfast | Keepalived
  readonly question: Question
  readonly address: string
  account: ProcessAccount | undefined

  constructor(lab: Lab, question: Question, position: number, caFile: string) {
    const { asks, count, daemon } = question
    const names = Array.from({ length: asks === 'nothing' ? 0 : count }, (_, i) => `${asks}${i + 1}`)
    this.question = question
    this.address = `10.77.0.${100 + position}`
    const plan = { host: lab.router(position), priority: 100, intervalMs: 1_000, address: this.address, vrid: position }
    if (daemon === 'holdfast') {
      const healthchecks = names.map((name) => ({ name, ...probeOf(asks, caFile), interval: '1s' }))
      const track = names.map((healthcheck) => ({ healthcheck, weight: 1 }))
      this.#daemon = new Holdfast(lab, plan, { track }, [], { api: { listen: '127.0.0.1:9655' }, healthchecks })
    } else {
      const command = KEEPALIVED_ASKS[asks] ?? ''
      this.#daemon = new Keepalived(
        lab,
        plan,
        names.map((name) => ({ name, command, interval: 1, weight: 1 })),
      )
    }
  }

  open(): void {
    this.account = new ProcessAccount(this.#daemon.kind === 'holdfast' ? this.#daemon.process.pid : this.#daemon.pid)
  }

  /**
   * Returns the number of finished runs of the node's checks. keepalived does not report that number, so the configured
   * number is used.
   */
  async runs(): Promise<number> {
    const { asks, count } = this.question
    if (asks === 'nothing') return 0
    if (this.#daemon.kind === 'keepalived') return (count * monotonicMs()) / 1_000
    const checks = (await this.#daemon.snapshot())?.healthchecks ?? []
    const failed = checks.filter(({ last }) => last?.ok !== true).map(({ name }) => name)
    if (checks.length < count || failed.length > 0) throw new Error(`checks fail that should not: ${failed.join(' ')}`)
    return checks.reduce((sum, check) => sum + check.runs, 0)
  }

  async end(): Promise<void> {
    this.#daemon.terminate()
    await Promise.race([this.#daemon.exited, wait(10_000)])
    this.account?.close()
  }
}

async function serve(lab: Lab, authority: Authority, position: number): Promise<void> {
  const folder = join(lab.directory, `services-${position}`)
  mkdirSync(folder)
  const { key, cert } = authority.issue('IP:127.0.0.1')
  writeFileSync(join(folder, 'key.pem'), key)
  writeFileSync(join(folder, 'cert.pem'), cert)
  const program = join(packageRoot(), 'test', 'support', 'ready-ports.mjs')
  const service = new LoggedProcess(lab, lab.router(position), [process.execPath, program, folder, '8080', '8443s'])
  await service.line(/listening/, 20_000)
}

/** Measures all nodes at the same time. */
export async function checkCosts(asked: readonly Question[], { warmUp, seconds }: Span): Promise<readonly CheckCost[]> {
  const lab = createLab({ routers: asked.length, clients: [] })
  const authority = createAuthority()
  const nodes: AskingNode[] = []
  try {
    // Bridge ports are isolated from each other, because advertisements of the other nodes would cost CPU time of this
    // node.
    for (const { port } of lab.routers) ip(lab.bridge, `link set dev ${port} type bridge_slave isolated on`)
    for (const [i, question] of asked.entries()) {
      if (question.asks !== 'nothing') await serve(lab, authority, i + 1)
      nodes.push(new AskingNode(lab, question, i + 1, authority.caFile))
    }
    const all = () => nodes.every(({ address }) => lab.holders(address).length === 1)
    await eventually('every node to be Active', all, { sight: () => [], within: 40_000, every: 1_000 })
    for (const node of nodes) node.open()
    await wait(warmUp * 1_000)
    const look = async (node: AskingNode) => {
      const runs = await node.runs()
      return { runs, at: monotonicMs(), cpu: node.account?.cpuSeconds() ?? Number.NaN }
    }
    const before = await Promise.all(nodes.map(look))
    await wait(seconds * 1_000)
    return await Promise.all(
      nodes.map(async (node, i): Promise<CheckCost> => {
        const [now, from = now] = [await look(node), before[i]]
        const took = (now.at - from.at) / 1_000
        const [cpuPerMinute, runsPerSecond] = [((now.cpu - from.cpu) * 60) / took, (now.runs - from.runs) / took]
        return { ...node.question, cpuPerMinute, runsPerSecond, memory: node.account?.memory() ?? [] }
      }),
    )
  } finally {
    await Promise.all(nodes.map((node) => node.end()))
    authority.remove()
    lab.destroy()
  }
}
