/** Starts real servers on 127.0.0.1 for a test. Every server is closed together with all of its connections. */
import { once } from 'node:events'
import { createServer as createHttp, type RequestListener } from 'node:http'
import { createServer as createHttps, type ServerOptions } from 'node:https'
import { createServer as createTcp, type Server, type Socket } from 'node:net'
import { afterEach } from 'vitest'

export type LoopbackServer = {
  readonly port: number
  /** Number of connections that clients have opened so far, and number of connections that are open now. */
  readonly accepted: () => number
  readonly open: () => readonly Socket[]
  /**
   * Ends the server as the end of its process would: every connection gets FIN or RST, and the port refuses new
   * connections.
   */
  stop(how?: 'fin' | 'rst'): Promise<void>
}

const running: LoopbackServer[] = []

/** Closes the servers of a test file after each test. A test file that uses servers calls this function once. */
export function closeServersAfterEach(): void {
  afterEach(async () => {
    await Promise.all(running.splice(0).map((server) => server.stop()))
  })
}

async function start(
  server: Server,
  where: { port: number; host: string } | { path: string },
): Promise<LoopbackServer> {
  const sockets = new Set<Socket>()
  let accepted = 0
  server.on('connection', (socket: Socket) => {
    accepted++
    sockets.add(socket)
    socket.on('error', () => {})
    socket.once('close', () => sockets.delete(socket))
  })
  server.listen(where)
  await once(server, 'listening')
  const address = server.address()
  const started: LoopbackServer = {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    accepted: () => accepted,
    open: () => [...sockets],
    async stop(how = 'fin') {
      if (!server.listening) return
      const closed = once(server, 'close')
      server.close()
      for (const socket of sockets) {
        if (how === 'rst') socket.resetAndDestroy()
        else socket.destroy()
      }
      await closed
    },
  }
  running.push(started)
  return started
}

const LOOPBACK = { port: 0, host: '127.0.0.1' }

export const serveHttp = (
  answer: RequestListener,
  where: { port: number; host: string } | { path: string } = LOOPBACK,
) => start(createHttp(answer), where)

export const serveHttps = (options: ServerOptions, answer: RequestListener) =>
  start(createHttps(options, answer), LOOPBACK)

export const serveTcp = (greet: (socket: Socket) => void = () => {}, port = 0) =>
  start(createTcp(greet), { ...LOOPBACK, port })
