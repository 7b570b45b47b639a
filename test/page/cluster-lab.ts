/**
 * Runs three nodes that show each other on their status pages, each with a service for two health checks. This file
 * decides names, priorities and weights. This file does not know what a status page derives from them.
 */
import { type Extra, Holdfast } from '../../src/lab/daemons/holdfast.ts'
import { createLab, type Host, LAB_VIP, type Lab } from '../../src/lab/lab.ts'
import { LoggedProcess } from '../../src/lab/logged-process.ts'
import { eventually } from '../../src/lab/wait.ts'

const PORT = 9_655
const INTERVAL = 300
export const BASE = [60, 55, 50] as const
export const WEIGHTS = { 'api-readyz': 50, haproxy: 20 } as const
const WITHIN = 15_000

/** Program of a service that listens on two ports. SIGUSR2 closes the first port. */
const SERVICE = `
  const { createServer } = require('node:http')
  const api = createServer((_, response) => response.end('ok')).listen(6443, '127.0.0.1')
  createServer((_, response) => response.end('ok')).listen(9445, '127.0.0.1', () => console.log('listening'))
  process.on('SIGUSR2', () => { api.close(); api.closeAllConnections() })`

export const urlOf = (host: Host): string => `http://${host.address}:${PORT}`

export class PageCluster {
  readonly lab: Lab
  readonly #nodes = new Map<number, Holdfast>()
  readonly #services = new Map<number, LoggedProcess>()

  constructor() {
    this.lab = createLab({ routers: BASE.length })
  }

  /** Starts all nodes. Resolves when the first node is Active. */
  static async settled(): Promise<PageCluster> {
    const cluster = new PageCluster()
    try {
      for (const position of BASE.keys()) await cluster.serve(position + 1)
      for (const position of BASE.keys()) await cluster.start(position + 1)
      await cluster.activeOn(1, 'all started')
      return cluster
    } catch (error) {
      cluster.lab.destroy()
      throw error
    }
  }

  async serve(position: number): Promise<void> {
    this.#services.get(position)?.signal('SIGKILL')
    await this.#services.get(position)?.exited
    const service = new LoggedProcess(this.lab, this.lab.router(position), [process.execPath, '-e', SERVICE])
    this.#services.set(position, service)
    await service.line(/listening/, WITHIN)
  }

  /** Closes the port of the API on the node at this position. The port of the node's load balancer stays open. */
  failService(position: number): void {
    this.#services.get(position)?.signal('SIGUSR2')
  }

  async start(position: number): Promise<Holdfast> {
    const host = this.lab.router(position)
    const plan = { host, priority: BASE[position - 1] ?? 1, intervalMs: INTERVAL, address: LAB_VIP }
    const track = Object.entries(WEIGHTS).map(([healthcheck, weight]) => ({ healthcheck, weight }))
    const top: Extra = {
      api: { listen: `${host.address}:${PORT}`, public: true, peers: this.lab.routers.map(urlOf) },
      healthchecks: [
        { name: 'api-readyz', http: 'http://127.0.0.1:6443/readyz', interval: '500ms', fall: 1, rise: 1 },
        { name: 'haproxy', tcp: '127.0.0.1:9445', interval: '500ms', fall: 1, rise: 1 },
      ],
    }
    // A host in a network namespace still has the machine's host name, so each daemon also gets a UTS namespace with
    // its own name.
    const named = ['unshare', '--uts', 'sh', '-c', `hostname node${position} && exec "$@"`, 'sh']
    const daemon = new Holdfast(this.lab, plan, { name: 'api', track, minHold: '0s' }, ['--realtime'], top, named)
    this.#nodes.set(position, daemon)
    await daemon.ready()
    await daemon.process.line(/Serving/, WITHIN)
    return daemon
  }

  node(position: number): Holdfast {
    const node = this.#nodes.get(position)
    if (node === undefined) throw new Error(`Cannot use node${position}: it was not started`)
    return node
  }

  url(position: number): string {
    return urlOf(this.lab.router(position))
  }

  async activeOn(position: number, occasion: string): Promise<void> {
    await eventually(
      `node${position} to be Active after ${occasion}`,
      async () => (await this.node(position).state()) === 'Active',
      {
        sight: () => Promise.all([...this.#nodes].map(async ([n, node]) => `node${n} ${await node.state()}`)),
        every: 50,
      },
    )
  }
}
