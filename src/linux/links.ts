/** The interfaces of this network namespace, and what to call one in a sentence. */
import type { Link } from '../daemon/ports.ts'
import { linkRequest } from './netlink/message.ts'
import type { RequestSocket } from './netlink/socket.ts'

/** Undefined: no complete answer. */
export function readLinks(requests: RequestSocket): readonly Link[] | undefined {
  return requests
    .dump((sequence) => linkRequest(sequence))
    ?.flatMap((message) => (message.kind === 'link' ? [message.link] : []))
}

/** Asked only when something failed: an interface may have been renamed since anybody last looked. */
export function interfaceLabel(requests: RequestSocket, index: number): string {
  const link = readLinks(requests)?.find((one) => one.index === index)
  return link === undefined ? `interface ${index}` : `"${link.name}"`
}
