/**
 * The listeners of a running daemon: the control socket in the engine's thread, and the HTTP port in the worker. This
 * file decides which function answers each command. A listener that cannot be opened is logged and does not stop the
 * daemon.
 */

import type { Server } from 'node:http'
import { messageOf } from '../base/message-of.ts'
import { refusedValue } from '../base/refused-value.ts'
import type { Config } from '../config/config.ts'
import type { ControlPeer } from '../files/private-socket.ts'
import type { Command, Commands, LargeCommand, Reply } from '../http/server.ts'
import { LOG } from '../log/log.ts'
import type { EngineProcess } from './compose.ts'
import { handedOver, LARGEST_CONFIGURATION } from './configuration/hand-over.ts'
import type { ReloadAnswer } from './configuration/reload-answer.ts'
import { Upgrade } from './upgrade.ts'

export type Listeners = { close(): Promise<void> }

const COMMAND = 'holdfast'
const NOT_MANAGED =
  'This engine reads its configuration from a file: change the file and reload, or start the engine with --managed'

/**
 * Opens control socket and HTTP port. `isManaged`: the engine accepts a configuration over the control socket. Never
 * rejects.
 */
export async function openListeners(
  { socket }: Config['api'],
  engine: EngineProcess,
  isManaged: boolean,
): Promise<Listeners> {
  const { recorder, worker } = engine
  let server: Server | undefined
  try {
    server = await openSocket(socket, engine, isManaged)
  } catch (error) {
    recorder.log(LOG.controlSocketNotOpened, messageOf(error), { socket })
  }
  worker.serve()
  return {
    async close() {
      server?.closeAllConnections()
      server?.close()
      await worker.close()
    },
  }
}

/** Opens the control socket. Rejects with Error if the path cannot be used. */
async function openSocket(socket: string, engine: EngineProcess, isManaged: boolean): Promise<Server> {
  const { daemon, peerOf, recorder, surroundings, worker } = engine
  const [{ openControlSocket }, { sourceOf }, replies] = await Promise.all([
    import('../http/control-socket.ts'),
    import('../http/event-route.ts'),
    import('../http/server.ts'),
  ])
  return openControlSocket(socket, {
    snapshot: () => daemon.snapshot(),
    events: sourceOf(recorder.chronicle),
    metrics: () => worker.metrics(),
    commands: commandsOf(engine, isManaged, replies),
    peerOf,
    onRefused(peer: ControlPeer | undefined) {
      surroundings.refused()
      const who = peer === undefined ? 'an unknown process' : `the user ${peer.uid} (pid ${peer.pid})`
      recorder.logLimited(`control ${peer?.uid}`, LOG.controlClientRefused, `Refused ${who} at the control socket`, {
        ...peer,
      })
    },
    onUnsafe: (message) => recorder.log(LOG.controlSocketUnsafe, message, { socket }),
  })
}

type Replies = {
  readonly json: (value: unknown, status?: number) => Reply
  readonly text: (status: number, body: string) => Reply
}

function commandsOf(engine: EngineProcess, isManaged: boolean, { json, text }: Replies): Commands {
  const { departure, live, orders } = engine
  const upgrade = new Upgrade(engine)
  const answered = (answer: ReloadAnswer): Reply => json(answer, statusOf(answer))
  const configure: LargeCommand = {
    largest: LARGEST_CONFIGURATION,
    take: async (body, query) => {
      if (!isManaged) return text(403, NOT_MANAGED)
      const handed = handedOver(body, query)
      return typeof handed === 'string' ? text(400, handed) : answered(await live.handOver(handed))
    },
  }
  const yields: Command = (body) => {
    const order = yieldOrder(body)
    if (order === undefined)
      return text(
        400,
        refusedValue(
          'body',
          body,
          '{ "router": NAME of a router or sync group, "forMs": MILLISECONDS, 0 to end a yield }',
        ),
      )
    const problem = orders.yield(order.router, order.forMs)
    return problem === undefined ? json(order) : text(409, problem.message)
  }
  return {
    '/v1/reload': async () => answered(await engine.reload(`${COMMAND} reload`)),
    // The dry run has a path of its own: an older engine would ignore the body of the request and reload.
    '/v1/reload/dry-run': async () => answered(await live.rehearse()),
    '/v1/configuration': configure,
    '/v1/yield': yields,
    '/v1/upgrade': async () => json(await upgrade.run(), 409),
    '/v1/stop': () => {
      departure.leave(`${COMMAND} stop`)
      return text(202, 'stopping')
    },
  }
}

const statusOf = (answer: ReloadAnswer): number => (answer.ok ? 200 : answer.fault === 'invalid' ? 422 : 409)

/**
 * Returns the order in the body of a request; `undefined` for another body. The body may come from any client that can
 * open the socket.
 */
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
