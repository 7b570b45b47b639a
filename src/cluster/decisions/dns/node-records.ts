/**
 * Lists the names and addresses of the nodes for DNS. This file decides which node gets no record: a node without a
 * usable name or address. Pure.
 */
import { familyOf, parseAddress } from '../../../wire/address.ts'
import type { StoredNode } from '../stored-nodes.ts'
import { isLabel } from './dns-name.ts'

/** One address of a node, with the field names of the cluster's templates. */
export type NodeRecord = { readonly Address: string; readonly Name: string; readonly Ipv6: boolean }

export type NodeRecords = { readonly records: readonly NodeRecord[]; readonly notes: readonly string[] }

/** Returns the records of all nodes, sorted by name. A node may have several addresses. */
export function nodeRecords(nodes: readonly StoredNode[]): NodeRecords {
  const notes: string[] = []
  const records = nodes.flatMap((node) => {
    const found = recordsOf(node)
    if (typeof found !== 'string') return found
    notes.push(`node ${node.name} gets no DNS record: ${found}`)
    return []
  })
  return { records: records.toSorted((one, other) => compareTexts(one.Name, other.Name)), notes }
}

/** Returns the records of a node, or the reason why it has none. */
function recordsOf({ addresses }: StoredNode): readonly NodeRecord[] | string {
  // As in runtimecfg, the last address of the type Hostname counts, and only its first label.
  const hostname = addresses.filter(({ type }) => type === 'Hostname').at(-1)?.address
  if (hostname === undefined) return 'it has no address of the type Hostname'
  const [name = ''] = hostname.split('.')
  if (!isLabel(name)) return `its Hostname ${JSON.stringify(hostname)} is not a host name`
  const own = addresses
    .filter(({ type }) => type === 'InternalIP')
    .flatMap(({ address }) => parseAddress(address) ?? [])
  if (own.length === 0) return 'it has no address of the type InternalIP'
  return own.map((address) => ({ Address: address, Name: name, Ipv6: familyOf(address) === 'ipv6' }))
}

// Go compares strings by their octets; host names are ASCII.
const compareTexts = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0)
