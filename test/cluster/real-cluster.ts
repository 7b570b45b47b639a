/**
 * The cluster of scripts/cluster.sh, as a test uses it: kubectl, commands on nodes, accidents, and two clients on the
 * LAN. The first client sends a probe each millisecond and learns which node answers. The second client makes an HTTPS
 * request to the API each 10 ms. This file does not know what a test is about.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { packageRoot } from '../../src/lab/installation.ts'
import { addressesOf, namespaceOf, type Where } from '../../src/lab/ip.ts'
import type { Site } from '../../src/lab/namespaces.ts'
import type { Host } from '../../src/lab/network.ts'
import { eventually, monotonicMs, sleep } from '../../src/lab/wait.ts'
import { type ProbeProcess, Prober, startResponder } from '../../src/lab/watch/probe.ts'

const SCRIPT = join(packageRoot(), 'scripts', 'cluster.sh')
const CLUSTER = process.env.HOLDFAST_CLUSTER ?? 'cluster'
export const VIP = '10.77.1.100'
export const CONTROL_PLANE = ['n1', 'n2', 'n3']
const START = 400_000

export type Answer = { readonly ok: boolean; readonly text: string }
type Request = { readonly at: number; readonly ok: boolean; readonly ms: number; readonly what: unknown }
/** Losses of the two clients in a period. `silence` is in milliseconds. */
export type Loss = {
  readonly silence: number
  readonly requests: number
  readonly failed: number
  /**
   * Failed requests that began while the node before a move still answered. No protocol can save them: their connection is
   * to that node.
   */
  readonly inFlight: number
  /** Every other failed request: milliseconds from `since` to its begin, its reason, and its duration. */
  readonly lost: readonly string[]
  readonly moves: readonly string[]
}

const hostOf = (name: string): Host => ({
  ...{ name, namespace: `hf${CLUSTER}-${name}`, port: name },
  address: name === 'client' ? '10.77.1.200' : `10.77.1.1${name.slice(1)}`,
})

class ClusterSite implements Site {
  readonly #children = new Set<ChildProcess>()

  spawn(where: Where, argv: readonly string[]): ChildProcess {
    const child = spawn('ip', ['netns', 'exec', namespaceOf(where), ...argv], { stdio: ['ignore', 'pipe', 'pipe'] })
    this.#children.add(child)
    return child
  }

  killAll(): void {
    for (const child of this.#children) child.kill('SIGKILL')
  }
}

export class RealCluster {
  readonly site = new ClusterSite()
  readonly #own: boolean
  readonly #responders: ProbeProcess[] = []
  readonly #requests: Request[] = []
  readonly prober: Prober

  /** Uses the running cluster, or starts a cluster, which destroy() removes. */
  constructor() {
    this.#own = !script('pki').ok
    if (this.#own) {
      const { ok, text } = script('up')
      if (!ok) throw new Error(`Cannot start the cluster: ${text}`)
      process.stdout.write(`${text}\n`)
    }
    for (const name of CONTROL_PLANE) this.#responders.push(startResponder(this.site, hostOf(name)))
    this.prober = new Prober(this.site, hostOf('client'), VIP)
    const client = join(import.meta.dirname, 'request-client.mjs')
    const child = this.site.spawn(hostOf('client'), [process.execPath, client, VIP])
    let rest = ''
    child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
      const lines = (rest + chunk).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) this.#requests.push(JSON.parse(line))
    })
  }

  kubectl(...argv: readonly string[]): Answer {
    return script('kubectl', '--request-timeout=15s', ...argv)
  }

  on(node: string, ...argv: readonly string[]): Answer {
    return script('on', node, ...argv)
  }

  /** Kills all processes of a node and takes its cable away, as a power failure does. */
  off(node: string): void {
    must(script('off', node))
  }

  /** Lets holdfast of a node hand the address over, as an operator does before a reboot. Resolves when the command has ended. */
  yield(node: string): Promise<void> {
    const child = spawn(SCRIPT, ['yield', node], { stdio: 'ignore' })
    return new Promise((resolve, reject) => {
      child.once('error', reject)
      child.once('exit', (code) =>
        code === 0 ? resolve() : reject(new Error(`cluster.sh yield ${node} ended with ${code}`)),
      )
    })
  }

  /** Ends all processes of a node by SIGTERM, as a service manager does, and takes its cable away when they have ended. */
  shutdown(node: string): void {
    must(script('shutdown', node))
  }

  start(node: string): void {
    must(script('start', node))
  }

  /** Returns the names of the nodes whose kernel has the address. */
  holders(vip = VIP): string[] {
    return CONTROL_PLANE.filter((name) => addressesOf(hostOf(name), 'eth0').some((one) => one.startsWith(`${vip}/`)))
  }

  /** Returns the one node that has the address and answers the client. */
  async holder(): Promise<string> {
    return await eventually(
      `one holder of ${VIP} that answers`,
      () => {
        const [name, ...others] = this.holders()
        return others.length === 0 && name === this.prober.holder && name
      },
      { sight: () => [this.holders(), this.prober.holder], within: 60_000, every: 50 },
    )
  }

  /** Returns the fields of a mirror pod; `undefined` if the API has none. */
  pod(namespace: string, name: string): { uid: string; ready: boolean; restarts: number; hash: string } | undefined {
    const { ok, text } = this.kubectl('--namespace', namespace, 'get', 'pod', name, '-o', 'json')
    if (!ok) return undefined
    const { metadata, status } = JSON.parse(text)
    const containers: { ready: boolean; restartCount: number }[] = status.containerStatuses ?? []
    return {
      uid: metadata.uid,
      hash: metadata.annotations?.['kubernetes.io/config.mirror'] ?? '',
      ready: containers.length > 0 && containers.every(({ ready }) => ready),
      restarts: containers.reduce((sum, { restartCount }) => sum + restartCount, 0),
    }
  }

  /** Returns what the clients lost from `since` until now. Requests that have not ended are waited for. */
  async lossSince(since: number): Promise<Loss> {
    const until = monotonicMs()
    await sleep(2_200)
    const requests = this.#requests.filter(({ at }) => at >= since && at <= until)
    const moves = this.prober.holders.filter(({ at }) => at >= since && at <= until)
    const failed = requests.filter(({ ok }) => !ok)
    const isInGap = ({ at }: Request) => this.prober.gaps.some(({ from, to }) => from <= at && at <= to)
    const isOpenAtMove = ({ at, ms }: Request) => moves.some((move) => move.at >= at && move.at <= at + ms)
    const lost = failed.filter((request) => isInGap(request) || !isOpenAtMove(request))
    return {
      silence: Math.round(this.prober.longestGap(since, until)),
      requests: requests.length,
      failed: failed.length,
      inFlight: failed.length - lost.length,
      lost: lost.map(({ at, ms, what }) => `${Math.round(at - since)} ms: ${what} after ${Math.round(ms)} ms`),
      moves: moves.map(({ name }) => name),
    }
  }

  /** Returns the address of the holder, as the engine of a node reports it; `undefined` if the engine does not answer. */
  reportedBy(node: string): string | undefined {
    const argv = ['curl', '-s', '--max-time', '1', 'http://127.0.0.1:9655/v1/status']
    const { status, stdout } = spawnSync('ip', ['netns', 'exec', hostOf(node).namespace, ...argv], { encoding: 'utf8' })
    if (status !== 0) return undefined
    const [router] = JSON.parse(stdout).routers ?? []
    return router?.holder.address ?? undefined
  }

  /** Returns whether the API server of a node is ready. */
  isApiReady(node: string): boolean {
    return this.kubectl('--server', `https://${hostOf(node).address}:6443`, 'get', '--raw', '/readyz').ok
  }

  async destroy(): Promise<void> {
    await Promise.allSettled([this.prober.stop(), ...this.#responders.map((one) => one.stop())])
    this.site.killAll()
    if (this.#own) must(script('down'))
  }
}

function script(...argv: readonly string[]): Answer {
  const { status, stdout, stderr } = spawnSync(SCRIPT, argv, { encoding: 'utf8', timeout: START })
  return { ok: status === 0, text: `${stdout}${stderr}`.trim() }
}

function must({ ok, text }: Answer): void {
  if (!ok) throw new Error(text)
}
