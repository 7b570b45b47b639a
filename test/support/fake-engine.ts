/**
 * Imitates an engine without VRRP: serves a status and an event journal on a unix socket, where the agent reads them.
 * The test sets their content. This file decides nothing and does not know VRRP.
 */
import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

export type FakeRouter = {
  readonly address: string
  /**
   * Address of the Active, or `self` if this engine is the Active; `undefined` while the engine has received no
   * advertisement.
   */
  readonly holder: 'self' | string | undefined
  readonly duplicates?: readonly { readonly mac: string; readonly router: string | undefined }[]
  readonly since?: string
}

export class FakeEngine {
  readonly socket: string
  #routers: readonly FakeRouter[] = []
  #seq = 0
  #server: Server | undefined
  readonly #sockets = new Set<Socket>()
  readonly #streams = new Set<ServerResponse>()

  constructor(socket: string) {
    this.socket = socket
  }

  async start(): Promise<this> {
    const server = createServer((request, response) => {
      if (request.headers.accept === 'text/event-stream') {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        response.write('retry: 1000\n\n')
        this.#streams.add(response)
        response.once('close', () => this.#streams.delete(response))
        return
      }
      response.end(JSON.stringify(this.#status()))
    })
    server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket)
      socket.once('close', () => this.#sockets.delete(socket))
    })
    server.listen(this.socket)
    await once(server, 'listening')
    this.#server = server
    return this
  }

  /** Closes the socket and all connections, as the death of an engine would. */
  async kill(): Promise<void> {
    const server = this.#server
    if (server === undefined) return
    this.#server = undefined
    const closed = once(server, 'close')
    server.close()
    for (const socket of this.#sockets) socket.destroy()
    await closed
  }

  sees(...routers: FakeRouter[]): void {
    this.#routers = routers
    this.tell({ kind: 'peerHeard' })
  }

  /** Number of clients that read the event journal. */
  get listeners(): number {
    return this.#streams.size
  }

  /** Sends one event of the journal to all clients that read it. */
  tell(event: Readonly<Record<string, unknown>>): void {
    const text = `id: ${++this.#seq}\ndata: ${JSON.stringify({ seq: this.#seq, at: new Date().toISOString(), ...event })}\n\n`
    for (const stream of this.#streams) stream.write(text)
  }

  #status(): unknown {
    const routers = this.#routers.map(({ address, duplicates = [], holder, since = '2026-11-22T12:00:00.000Z' }) => ({
      ...{
        name: address,
        departing: false,
        state: holder === 'self' ? 'Active' : 'Backup',
        since,
        faults: [],
        source: null,
      },
      holder: {
        self: holder === 'self',
        address: holder === 'self' ? null : (holder ?? null),
        heardMsAgo: holder === undefined ? null : 1,
      },
      ...{ advertisementIntervalMs: 1_000, addresses: [{ address, present: holder === 'self' }] },
      duplicates: duplicates.map(({ mac, router }) => ({
        ...{ address, mac, foundMsAgo: 1 },
        router: router === undefined ? null : { address: router, priority: null },
      })),
    }))
    return { version: 1, takenAt: new Date().toISOString(), routers }
  }
}
