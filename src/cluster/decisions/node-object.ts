/**
 * A Node object of the API, read: whatever came, never an exception. A field that makes no sense is named with what was
 * found in it and taken from an earlier reading of the same node where there is one: a node that was garbled once must not
 * lose its place among the peers. Refuses to know what an address or an annotation is good for.
 */
import type { ClusterNode, NodeAddress } from './cluster-node.ts'

export type Malformed = {
  /** Its name, or `?` when that is what is malformed. */
  readonly node: string
  /** As in a JSON path: `status.addresses[1].address`. */
  readonly field: string
  /** JSON, cut. */
  readonly found: string
}

/** `node` undefined: nobody knows which node this was. */
export type NodeReading = { readonly node: ClusterNode | undefined; readonly malformed: readonly Malformed[] }

type Fields = Readonly<Record<string, unknown>>
type Complaint = (field: string, found: unknown) => void

export function readNode(object: unknown, earlier?: ClusterNode): NodeReading {
  const { metadata, status: given } = fieldsOf(object) ?? {}
  const { name, labels, annotations } = fieldsOf(metadata) ?? {}
  if (typeof name !== 'string' || name === '')
    return { node: undefined, malformed: [{ node: '?', field: 'metadata.name', found: shown(name ?? object) }] }
  const malformed: Malformed[] = []
  const complain: Complaint = (field, found) => malformed.push({ node: name, field, found: shown(found) })
  const known = earlier?.name === name ? earlier : undefined
  const status = fieldsOf(given ?? {})
  if (status === undefined) complain('status', given)
  const node = {
    name,
    labels: wordsIn(labels, 'metadata.labels', complain) ?? known?.labels ?? {},
    annotations: wordsIn(annotations, 'metadata.annotations', complain) ?? known?.annotations ?? {},
    addresses: (status && addressesIn(status, complain)) ?? known?.addresses ?? [],
    kubeletVersion: (status && versionIn(status, complain)) ?? known?.kubeletVersion ?? '',
  }
  return { node, malformed }
}

/** Undefined: it makes no sense as a whole. What is merely absent is empty. */
function wordsIn(value: unknown, field: string, complain: Complaint): Readonly<Record<string, string>> | undefined {
  const fields = fieldsOf(value ?? {})
  if (fields === undefined) {
    complain(field, value)
    return undefined
  }
  const words = Object.entries(fields).flatMap(([key, word]): [string, string][] => {
    if (typeof word === 'string') return [[key, word]]
    complain(`${field}["${key}"]`, word)
    return []
  })
  return Object.fromEntries(words)
}

function addressesIn({ addresses: value }: Fields, complain: Complaint): readonly NodeAddress[] | undefined {
  const list = value ?? []
  if (!Array.isArray(list)) {
    complain('status.addresses', value)
    return undefined
  }
  return list.flatMap((entry: unknown, i): NodeAddress[] => {
    const { type, address } = fieldsOf(entry) ?? {}
    if (typeof type === 'string' && typeof address === 'string') return [{ type, address }]
    complain(`status.addresses[${i}]`, entry)
    return []
  })
}

function versionIn({ nodeInfo }: Fields, complain: Complaint): string | undefined {
  const fields = fieldsOf(nodeInfo ?? {})
  const { kubeletVersion = '' } = fields ?? {}
  if (fields !== undefined && typeof kubeletVersion === 'string') return kubeletVersion
  complain('status.nodeInfo', nodeInfo)
  return undefined
}

const fieldsOf = (value: unknown): Fields | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value))
    : undefined

const LONGEST = 80

function shown(value: unknown): string {
  const text = value === undefined ? 'nothing' : (JSON.stringify(value) ?? typeof value)
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text
}
