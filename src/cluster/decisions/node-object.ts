/**
 * Reads a Node object of the API. No input causes an exception. A field with an invalid value is reported with that
 * value, and the value of an earlier reading is used if one exists. By this rule a node whose object was invalid once
 * stays a peer.
 */
import type { ClusterNode, NodeAddress } from './cluster-node.ts'

export type Malformed = {
  /** Name of the node, or `?` if the name is invalid. */
  readonly node: string
  /** Path of the invalid field in the Node object, such as `status.addresses[1].address`. */
  readonly field: string
  /** Invalid value as JSON, shortened. */
  readonly found: string
}

/** The Node object as read; `node` is undefined if its name is not known. */
export type NodeReading = { readonly node: ClusterNode | undefined; readonly malformed: readonly Malformed[] }

type Fields = Readonly<Record<string, unknown>>
type Complaint = (field: string, found: unknown) => void

/** Reads a Node object. `earlier` is the last valid reading of the same node. */
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
    labels: textsIn(labels, 'metadata.labels', complain) ?? known?.labels ?? {},
    annotations: textsIn(annotations, 'metadata.annotations', complain) ?? known?.annotations ?? {},
    addresses: (status && addressesIn(status, complain)) ?? known?.addresses ?? [],
    kubeletVersion: (status && versionIn(status, complain)) ?? known?.kubeletVersion ?? '',
  }
  return { node, malformed }
}

/** Returns a mapping of texts; `undefined` if the value is no mapping. A missing mapping is empty. */
function textsIn(value: unknown, field: string, complain: Complaint): Readonly<Record<string, string>> | undefined {
  const fields = fieldsOf(value ?? {})
  if (fields === undefined) {
    complain(field, value)
    return undefined
  }
  const texts = Object.entries(fields).flatMap(([key, text]): [string, string][] => {
    if (typeof text === 'string') return [[key, text]]
    complain(`${field}["${key}"]`, text)
    return []
  })
  return Object.fromEntries(texts)
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
