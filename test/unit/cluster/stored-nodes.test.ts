/** The nodes that the agent stores for the monitors of its node. */
import { expect, test } from 'vitest'
import { readNodes, storedNodes } from '../../../src/cluster/decisions/stored-nodes.ts'

const of = (name: string, address: string) => ({ name, addresses: [{ type: 'InternalIP', address }] })

test('stored nodes have name and addresses alone, in the order of their names', () => {
  const rich = { ...of('b', '10.0.0.2'), labels: { x: '' }, kubeletVersion: 'v1.30.4' }
  expect(storedNodes([rich, of('a', '10.0.0.1')])).toEqual([of('a', '10.0.0.1'), of('b', '10.0.0.2')])
  expect(readNodes(JSON.parse(JSON.stringify(storedNodes([rich]))))).toEqual([of('b', '10.0.0.2')])
})

test('a value of another format is refused as a whole', () => {
  for (const value of [
    undefined,
    {},
    [{ name: '' }],
    [{ name: 'a' }],
    [of('a', '10.0.0.1'), { name: 'b', addresses: ['x'] }],
  ])
    expect(readNodes(value)).toBeUndefined()
})
