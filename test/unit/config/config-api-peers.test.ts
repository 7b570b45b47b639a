/** api.peers: where other nodes are, and nothing else. */
import { expect, test } from 'vitest'
import { parseConfig } from '../../../src/config/text/yaml.ts'

function read(peers: string) {
  const parsed = parseConfig(`api: { peers: ${peers} }\nvirtualRouters: []\n`)
  return 'problems' in parsed ? parsed.problems.map(({ message }) => message) : parsed.config.api.peers
}

test('addresses and names, as they are asked', () => {
  expect(read('[http://10.0.0.12:9655, "http://[fd00::12]:9655/", https://node3.example.org]')).toEqual([
    'http://10.0.0.12:9655',
    'http://[fd00::12]:9655',
    'https://node3.example.org',
  ])
  expect(read('[]')).toEqual([])
})

test.each([
  ['10.0.0.12:9655', 'the address of a node wanted, written like http://10.0.0.12:9655'],
  ['ftp://10.0.0.12', 'the address of a node wanted, written like http://10.0.0.12:9655'],
  ['http://10.0.0.12:9655/v1/status', 'the address of a node wanted, written like http://10.0.0.12:9655'],
  ['http://10.0.0.12:9655?x=1', 'the address of a node wanted, written like http://10.0.0.12:9655'],
  ['http://admin:secret@10.0.0.12:9655', 'an address without user and password wanted'],
])('%s is refused', (peer, wanted) => {
  const [message] = read(`["${peer}"]`)
  expect(message).toContain(wanted)
  expect(message).not.toContain('secret')
})

test('no more than a page can show', () => {
  expect(read(JSON.stringify(Array.from({ length: 17 }, (_, i) => `http://10.0.0.${i + 1}:9655`)))).toEqual([
    expect.stringContaining('at most 16 nodes wanted'),
  ])
})
