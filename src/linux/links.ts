/** Reads the interfaces of this network namespace. */
import type { Link } from '../daemon/ports.ts'
import { linkRequest } from './netlink/message.ts'
import type { RequestSocket } from './netlink/socket.ts'

/** Undefined: no complete answer. */
export function readLinks(requests: RequestSocket): readonly Link[] | undefined {
  return requests
    .dump((sequence) => linkRequest(sequence))
    ?.flatMap((message) => (message.kind === 'link' ? [message.link] : []))
}
