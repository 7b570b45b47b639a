/**
 * Creates network namespaces that are joined by one cable instead of a bridge, for tests of one process and one link.
 * This file decides the addresses at both ends of the cable. All namespaces are removed by removeAll(), or when this
 * process ends.
 */
import { ip } from './ip.ts'
import { type Ended, JsonProcess, type Said } from './json-process.ts'
import { createNamespaces } from './lab.ts'
import type { Namespaces } from './namespaces.ts'

let made: Namespaces | undefined

export function namespaces(): Namespaces {
  made ??= createNamespaces()
  return made
}

/**
 * Creates a network namespace and returns its name. The link-local addresses of the namespace are usable immediately,
 * because these tests are not about duplicate address detection.
 */
export const makeNamespace = (): string => namespaces().add()

/** Removes all namespaces that this module has created, and ends the processes in them. Idempotent. */
export function removeAll(): void {
  made?.destroy()
  made = undefined
}

/**
 * Joins two network namespaces by a cable. The two ends of the cable are named eth0 and have interface index 7. The
 * left end has 198.51.100.1 and fe80::1, the right end 198.51.100.2 and fe80::2.
 */
export function cable(left: string, right: string): void {
  ip(left, `link add eth0 index 7 type veth peer name eth0 index 7 netns ${right}`)
  for (const [name, host] of [
    [left, 1],
    [right, 2],
  ] as const) {
    ip(
      name,
      'link set eth0 addrgenmode none',
      'link set eth0 up',
      `address add 198.51.100.${host}/24 dev eth0`,
      `address add fe80::${host}/64 dev eth0 nodad`,
    )
  }
}

/** A process in one of the network namespaces that reads and writes lines of JSON. */
export class Talker extends JsonProcess {
  constructor(namespace: string, argv: readonly string[], take?: (line: Said) => void) {
    super(namespaces(), namespace, argv, take)
  }
}
export type { Ended, Said }
