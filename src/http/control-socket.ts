/**
 * Status and commands over the unix socket, on the engine's own thread, so that it answers when everything else hangs.
 * Decided here: whoever may not command gets no answer either, and is told so. What a command does is the caller's
 * business.
 */
import type { IncomingMessage, Server } from 'node:http'
import type { Socket } from 'node:net'
import { LARGEST_PAGE } from '../daemon/telemetry/chronicle.ts'
import type { Snapshot } from '../daemon/telemetry/snapshot.ts'
import { type ControlPeer, listenPrivately, mayCommand } from '../files/private-socket.ts'
import { type EventSource, eventRoute } from './event-route.ts'
import { withFormerNames } from './former-names.ts'
import type { MetricsText } from './port-settings.ts'
import { readiness } from './readiness.ts'
import { type Commands, createApi, json, type Reply, text } from './server.ts'

export type ControlPorts = {
  readonly snapshot: () => Snapshot
  readonly events: EventSource
  /** The text is not this thread's to make. Rejects with Error when nobody makes it. */
  readonly metrics: () => Promise<MetricsText>
  readonly commands?: Commands
  /** Undefined: nobody can say; then it is refused. */
  readonly peerOf: (socket: Socket) => ControlPeer | undefined
  readonly onRefused: (peer: ControlPeer | undefined) => void
  readonly onUnsafe: (message: string) => void
}

/** Rejects with Error when the path cannot be used; its message names the path. */
export async function openControlSocket(path: string, ports: ControlPorts): Promise<Server> {
  const { refusal, connected } = gate(ports)
  const server = createApi(
    {
      '/v1/status': () => json(withFormerNames(ports.snapshot())),
      '/v1/events': eventRoute(ports.events, LARGEST_PAGE),
      // Who is answered here is answered by the engine.
      '/healthz': () => text(200, 'ok'),
      '/readyz': () => readiness(ports.snapshot()),
      '/metrics': async () => ({ status: 200, ...(await ports.metrics()) }),
    },
    ports.commands,
    refusal,
  )
  server.on('connection', connected)
  await listenPrivately(server, path, (unsafe) =>
    ports.onUnsafe(`The control socket ${path} is in an unsafe folder: ${unsafe}`),
  )
  return server
}

/** The kernel is asked when somebody connects: later it may be another process that has the pid. */
function gate({ peerOf, onRefused }: ControlPorts) {
  const own = process.geteuid?.() ?? 0
  const admitted = new WeakSet<Socket>()
  return {
    connected(socket: Socket): void {
      const peer = peerOf(socket)
      if (mayCommand(peer)) admitted.add(socket)
      else onRefused(peer)
    },
    refusal: ({ socket }: IncomingMessage): Reply | undefined =>
      admitted.has(socket) ? undefined : text(403, `Only root and the user ${own} may ask here`),
  }
}
