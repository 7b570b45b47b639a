/**
 * The doors of a running daemon, opened after the engine runs: the control socket beside it, and the worker thread that
 * serves the port and reads configurations. Nothing in here may stop the engine: a door that does not open is a line
 * in the log. Decides which command answers what; refuses to know how it is carried out.
 */
import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { Config } from '../config/config.ts'
import type { Problem } from '../config/problem.ts'
import type { Recorder } from '../daemon/telemetry/recorder.ts'
import type { Snapshot } from '../daemon/telemetry/snapshot.ts'
import type { ControlPeer } from '../files/private-socket.ts'
import type { Commands } from '../http/server.ts'
import type { WorkerThread } from '../worker/worker-thread.ts'
import { type HandedOver, type HandOverAnswer, handedOver, LARGEST_CONFIGURATION } from './hand-over.ts'
import type { ReloadAnswer } from './live-configuration.ts'

export type Inside = {
  readonly recorder: Recorder
  readonly worker: WorkerThread
  readonly snapshot: () => Snapshot
  readonly reload: (trigger: string) => Promise<ReloadAnswer>
  /** What a reload would do. */
  readonly rehearse: () => Promise<ReloadAnswer>
  /** Undefined: its configuration is in a file, and somebody's. */
  readonly handOver: ((handed: HandedOver) => Promise<HandOverAnswer>) | undefined
  /** Returns why not. */
  readonly yield: (router: string, forMs: number) => Problem | undefined
  readonly leave: (trigger: string) => void
  readonly peerOf: (socket: Socket) => ControlPeer | undefined
  /** Somebody came to the control socket who may not command. */
  readonly onRefused: () => void
}

export type Doors = {
  readonly worker: WorkerThread
  close(): Promise<void>
}

const COMMAND = 'holdfast'
const NOT_MANAGED =
  'The configuration of this engine is a file: change that and reload, or start the engine with --managed'

const statusOf = (answer: ReloadAnswer): number => (answer.ok ? 200 : answer.fault === 'invalid' ? 422 : 409)

export async function openDoors({ socket }: Config['api'], inside: Inside): Promise<Doors> {
  const { recorder, snapshot, worker } = inside
  let server: Server | undefined
  try {
    const { openControlSocket } = await import('../http/control-socket.ts')
    const { sourceOf } = await import('../http/event-route.ts')
    const { json, text } = await import('../http/server.ts')
    const commands: Commands = {
      '/v1/reload': async () => {
        const answer = await inside.reload(`${COMMAND} reload`)
        return json(answer, statusOf(answer))
      },
      // A path of its own: an older engine that ignored the order's body would reload.
      '/v1/reload/dry-run': async () => {
        const answer = await inside.rehearse()
        return json(answer, statusOf(answer))
      },
      '/v1/configuration': {
        largest: LARGEST_CONFIGURATION,
        take: async (body, query) => {
          if (inside.handOver === undefined) return text(403, NOT_MANAGED)
          const handed = handedOver(body, query)
          if (typeof handed === 'string') return text(400, handed)
          const answer = await inside.handOver(handed)
          return json(answer, statusOf(answer))
        },
      },
      '/v1/yield': (body) => {
        const order = yieldOrder(body)
        if (order === undefined)
          return text(
            400,
            'Cannot yield: { "router": NAME of a router or sync group, "forMs": MILLISECONDS, 0 to end a yield } wanted',
          )
        const problem = inside.yield(order.router, order.forMs)
        return problem === undefined ? json(order) : text(409, problem.message)
      },
      '/v1/stop': () => {
        inside.leave(`${COMMAND} stop`)
        return text(202, 'leaving')
      },
    }
    server = await openControlSocket(socket, {
      snapshot,
      events: sourceOf(recorder.chronicle),
      metrics: () => worker.metrics(),
      commands,
      peerOf: inside.peerOf,
      onRefused: (peer) => {
        inside.onRefused()
        const who = peer === undefined ? 'somebody unknown' : `the user ${peer.uid} (pid ${peer.pid})`
        recorder.logLimited(`control ${peer?.uid}`, 'warn', `Refused ${who} at the control socket`, { ...peer })
      },
      onUnsafe: (message) => recorder.log('warn', message, { socket }),
    })
  } catch (error) {
    recorder.log('error', error instanceof Error ? error.message : String(error), { socket })
  }
  worker.serve()
  return {
    worker,
    async close() {
      server?.closeAllConnections()
      server?.close()
      await worker.close()
    },
  }
}

/** Undefined: it is something else. Source: whoever may open the socket. */
function yieldOrder(body: string): { readonly router: string; readonly forMs: number } | undefined {
  try {
    const value: unknown = JSON.parse(body)
    if (typeof value !== 'object' || value === null || !('router' in value && 'forMs' in value)) return undefined
    const { router, forMs } = value
    return typeof router === 'string' && typeof forMs === 'number' ? { router, forMs } : undefined
  } catch {
    return undefined
  }
}
