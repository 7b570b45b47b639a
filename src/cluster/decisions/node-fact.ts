/**
 * A fact of this node that a file says by being there. Decided here: what is not known leaves the file as it was, so that a tool
 * that hangs or is missing moves no address, and not for ever: after a minute nobody vouches for it any more. Refuses to know
 * how facts are found.
 */

/** True, false, or not known. */
export type Reading = boolean | undefined
export type NodeFact = {
  readonly present: boolean
  /** Milliseconds; undefined: the last reading said something. */
  readonly unknownSince: number | undefined
}

export const VOUCHED_FOR = 60_000

/** `present`: what the file of an earlier life says. */
export const unreadFact = (present: boolean, now: number): NodeFact => ({ present, unknownSince: now })

export function readFact(fact: NodeFact, reading: Reading, now: number): NodeFact {
  if (reading !== undefined) return { present: reading, unknownSince: undefined }
  const unknownSince = fact.unknownSince ?? now
  return { present: fact.present && now - unknownSince < VOUCHED_FOR, unknownSince }
}

/** A running container of that name, in what `crictl ps -o json` says. */
export function hasContainer(listing: string, name: string): Reading {
  return some(listing, 'containers', (container) => field(field(container, 'metadata'), 'name') === name)
}

/** A pod whose name begins so, in what `crictl pods -o json` says. */
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
