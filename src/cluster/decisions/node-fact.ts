/**
 * A fact about this node, such as a running container, for which a file exists or not. While the fact is unknown, its
 * file stays as it is, so a tool that hangs or is missing does not move an address. After a minute without knowledge,
 * the file is removed. This file knows nothing about how facts are found.
 */

/** True if the fact holds, false if not; `undefined` if not known. */
export type Reading = boolean | undefined
export type NodeFact = {
  readonly present: boolean
  /**
   * Time in milliseconds since which this fact about the node is unknown; `undefined` if the last reading succeeded.
   */
  readonly unknownSince: number | undefined
}

/** Milliseconds for which the last known fact counts. */
export const VOUCHED_FOR = 60_000

/** Returns the fact before the first reading of the node. `present`: true if the file of an earlier run exists. */
export const unreadFact = (present: boolean, now: number): NodeFact => ({ present, unknownSince: now })

/** Returns the fact after a reading of the node. */
export function readFact(fact: NodeFact, reading: Reading, now: number): NodeFact {
  if (reading !== undefined) return { present: reading, unknownSince: undefined }
  const unknownSince = fact.unknownSince ?? now
  return { present: fact.present && now - unknownSince < VOUCHED_FOR, unknownSince }
}

/** Tells whether the output of `crictl ps -o json` has a running container with this name. */
export function hasContainer(listing: string, name: string): Reading {
  return some(listing, 'containers', (container) => field(field(container, 'metadata'), 'name') === name)
}

/** Tells whether the output of `crictl pods -o json` has a pod whose name begins with `start`. */
export function hasPod(listing: string, start: string): Reading {
  return some(listing, 'items', (pod) => {
    const name = field(field(pod, 'metadata'), 'name')
    return typeof name === 'string' && name.startsWith(start)
  })
}

function some(listing: string, key: string, is: (item: unknown) => boolean): Reading {
  try {
    const items = field(JSON.parse(listing), key)
    return Array.isArray(items) ? items.some(is) : undefined
  } catch {
    return undefined
  }
}

const field = (value: unknown, key: string): unknown =>
  typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined
