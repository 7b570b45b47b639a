/** The ways of the main table, both families. */
import type { PresentRoute } from '../daemon/ports.ts'
import { routesRequest } from './netlink/route.ts'
import type { RequestSocket } from './netlink/socket.ts'

/** Undefined: no complete answer. */
export function readRoutes(requests: RequestSocket): readonly PresentRoute[] | undefined {
  return requests.dump(routesRequest)?.flatMap((message) => (message.kind === 'routes' ? message.routes : []))
}
