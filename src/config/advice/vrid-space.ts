/**
 * Limits the number of virtual routers on one interface. VRIDs are the numbers from 1 to 255 for each family
 * (VR-PKT-04, VR-MI-01). The number is counted in the configuration as written, because the 256th router cannot have a
 * valid VRID. Entries need not be well formed.
 */
import { familyName } from '../network.ts'
import { type Locate, type Problem, problemAt } from '../problem.ts'

const VRIDS = 255

/** Returns one problem for each interface and family with more routers than VRIDs, at the first router too many. */
export function tooManyRouters(entries: readonly unknown[], locate: Locate): Problem[] {
  const routersOn = new Map<string, number[]>()
  for (const [index, entry] of entries.entries()) {
    const key = spaceOf(entry)
    if (key === undefined) continue
    const indices = routersOn.get(key)
    if (indices === undefined) routersOn.set(key, [index])
    else indices.push(index)
  }
  return [...routersOn].flatMap(([key, indices]) => {
    const excess = indices[VRIDS]
    if (excess === undefined) return []
    const message = `virtualRouters: cannot run ${indices.length} ${key}, expected at most ${VRIDS}, because each needs a VRID of its own`
    return [problemAt(locate, ['virtualRouters', excess], 'error', message)]
  })
}

/**
 * Returns the interface and family of a router's entry. `undefined` for `auto`, which may mean several interfaces;
 * those are checked in resolve.ts.
 */
function spaceOf(entry: unknown): string | undefined {
  if (typeof entry !== 'object' || entry === null) return undefined
  const name: unknown = Reflect.get(entry, 'interface')
  const addresses: unknown = Reflect.get(entry, 'addresses')
  const one: unknown = Array.isArray(addresses) ? addresses[0] : undefined
  const first: unknown = typeof one === 'object' && one !== null ? Reflect.get(one, 'address') : one
  if (typeof name !== 'string' || name === 'auto' || typeof first !== 'string') return undefined
  return `virtual routers for ${familyName(first.includes(':') ? 'ipv6' : 'ipv4')} on "${name}"`
}
