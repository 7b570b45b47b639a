import { describe, expect, test } from 'vitest'
import { readNode } from '../../../src/cluster/decisions/node-object.ts'

const WHOLE = {
  metadata: { name: 'cp-0', labels: { a: '' }, annotations: { b: 'c' } },
  status: { addresses: [{ type: 'InternalIP', address: '192.0.2.1' }], nodeInfo: { kubeletVersion: 'v1.33.1' } },
}
const READ = {
  name: 'cp-0',
  labels: { a: '' },
  annotations: { b: 'c' },
  addresses: [{ type: 'InternalIP', address: '192.0.2.1' }],
  kubeletVersion: 'v1.33.1',
}

describe('a Node object', () => {
  test('a Node object is read', () => expect(readNode(WHOLE)).toEqual({ node: READ, malformed: [] }))

  test('a Node object with a name only is a node without anything else', () =>
    expect(readNode({ metadata: { name: 'new' } })).toEqual({
      node: { name: 'new', labels: {}, annotations: {}, addresses: [], kubeletVersion: '' },
      malformed: [],
    }))

  test.each([
    [undefined],
    [null],
    [''],
    [7],
    [[]],
    [{}],
    [{ metadata: [] }],
    [{ metadata: { name: 3 } }],
    [{ metadata: { name: '' } }],
  ])('a Node object without a name is no node: %j', (object) => {
    const { node, malformed } = readNode(object)
    expect(node).toBeUndefined()
    expect(malformed).toHaveLength(1)
    expect(malformed[0]).toMatchObject({ node: '?', field: 'metadata.name' })
  })

  const garbled = {
    metadata: { name: 'cp-0', labels: 'x', annotations: { good: 'yes', 'k8s.ovn.org/host-cidrs': ['192.0.2.9/24'] } },
    status: {
      addresses: [null, { type: 'InternalIP', address: '192.0.2.2' }, { type: 'InternalIP', address: 5 }],
      nodeInfo: [],
    },
  }

  test('invalid fields are named with their values, and the others are read', () => {
    const { node, malformed } = readNode(garbled)
    expect(malformed).toEqual([
      { node: 'cp-0', field: 'metadata.labels', found: '"x"' },
      { node: 'cp-0', field: 'metadata.annotations["k8s.ovn.org/host-cidrs"]', found: '["192.0.2.9/24"]' },
      { node: 'cp-0', field: 'status.addresses[0]', found: 'null' },
      { node: 'cp-0', field: 'status.addresses[2]', found: '{"type":"InternalIP","address":5}' },
      { node: 'cp-0', field: 'status.nodeInfo', found: '[]' },
    ])
    expect(node).toEqual({
      name: 'cp-0',
      labels: {},
      annotations: { good: 'yes' },
      addresses: [{ type: 'InternalIP', address: '192.0.2.2' }],
      kubeletVersion: '',
    })
  })

  test('an invalid field keeps the value of an earlier reading', () => {
    const { node } = readNode(garbled, READ)
    expect(node).toMatchObject({ labels: { a: '' }, kubeletVersion: 'v1.33.1' })
    const { node: other, malformed } = readNode({ metadata: { name: 'cp-0' }, status: 'gone' }, READ)
    expect(other).toEqual({ ...READ, labels: {}, annotations: {} })
    expect(malformed).toEqual([{ node: 'cp-0', field: 'status', found: '"gone"' }])
  })

  test('an earlier reading of another node is not used', () =>
    expect(readNode({ metadata: { name: 'cp-1', labels: 1 } }, READ).node?.labels).toEqual({}))

  test('a reported value is shortened', () => {
    const { malformed } = readNode({ metadata: { name: 'cp-0', labels: 'x'.repeat(5000) } })
    expect(malformed[0]?.found.length).toBeLessThan(100)
  })
})
