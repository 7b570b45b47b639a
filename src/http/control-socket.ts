/**
 * Serves status and commands over the unix socket, in the engine's own thread. For this reason the socket answers even
 * if all other threads hang. This file decides that a client without permission gets status 403 and no answer. What a
 * command does is decided elsewhere.
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
  /** Returns the text of /metrics, which the worker thread makes. Rejects with Error if that thread does not answer. */
  readonly metrics: () => Promise<MetricsText>
  readonly commands?: Commands
  /**
   * Returns the process at the other end of a connection; `undefined` if that process is unknown. Requests of an
   * unknown process are refused.
   */
  readonly peerOf: (socket: Socket) => ControlPeer | undefined
  readonly onRefused: (peer: ControlPeer | undefined) => void
  readonly onUnsafe: (message: string) => void
}

/** Opens the control socket. Rejects with Error if the path cannot be used; the message names the path. */
export async function openControlSocket(path: string, ports: ControlPorts): Promise<Server> {
  const { refusal, connected } = gate(ports)
  const server = createApi(
    {
      '/v1/status': () => json(withFormerNames(ports.snapshot())),
      '/v1/events': eventRoute(ports.events, LARGEST_PAGE),
      // The engine's own thread answers this route, so an answer shows that the engine runs.
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

/** Tests the permission of a client when it connects. Later another process may have the client's process id. */
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
      admitted.has(socket) ? undefined : text(403, `Only root and the user ${own} have access`),
  }
}
