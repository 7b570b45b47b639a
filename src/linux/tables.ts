/**
 * Reads the kernel's tables of this network namespace: interfaces, addresses, routes of the main table. The functions
 * return `undefined` if the kernel gave no complete answer.
 */
import type { Link, PresentAddress, PresentRoute } from '../daemon/ports.ts'
import { addressesRequest, linkRequest } from './netlink/message.ts'
import { routesRequest } from './netlink/route.ts'
import type { RequestSocket } from './netlink/socket.ts'

export function readLinks(requests: RequestSocket): readonly Link[] | undefined {
  return requests
    .dump((sequence) => linkRequest(sequence))
    ?.flatMap((message) => (message.kind === 'link' ? [message.link] : []))
}

export function readAddresses(requests: RequestSocket): readonly PresentAddress[] | undefined {
  return requests.dump(addressesRequest)?.flatMap((message) => (message.kind === 'address' ? [message.present] : []))
}

/** Returns the routes of both address families; `undefined` if the kernel gave no complete answer. */
export function readRoutes(requests: RequestSocket): readonly PresentRoute[] | undefined {
  return requests.dump(routesRequest)?.flatMap((message) => (message.kind === 'routes' ? message.routes : []))
}
