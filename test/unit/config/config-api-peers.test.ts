/** api.peers accepts the location of other nodes, and nothing else. */
import { expect, test } from 'vitest'
import { parseConfig } from '../../../src/config/text/yaml.ts'

function read(peers: string) {
  const parsed = parseConfig(`api: { peers: ${peers} }\nvirtualRouters: []\n`)
  return 'problems' in parsed ? parsed.problems.map(({ message }) => message) : parsed.config.api.peers
}

test('peers of the API are kept as addresses or names with scheme and port', () => {
  expect(read('[http://10.0.0.12:9655, "http://[fd00::12]:9655/", https://node3.example.org]')).toEqual([
    'http://10.0.0.12:9655',
    'http://[fd00::12]:9655',
    'https://node3.example.org',
  ])
  expect(read('[]')).toEqual([])
})

test.each([
  [
    '10.0.0.12:9655',
    'api.peers[0]: cannot use this value, expected the address of a node, such as http://10.0.0.12:9655',
  ],
  [
    'ftp://10.0.0.12',
    'api.peers[0]: cannot use this value, expected the address of a node, such as http://10.0.0.12:9655',
  ],
  [
    'http://10.0.0.12:9655/v1/status',
    'api.peers[0]: cannot use this value, expected the address of a node, such as http://10.0.0.12:9655',
  ],
  [
    'http://10.0.0.12:9655?x=1',
    'api.peers[0]: cannot use this value, expected the address of a node, such as http://10.0.0.12:9655',
  ],
  [
    'http://admin:secret@10.0.0.12:9655',
    'api.peers[0]: cannot use this value, expected an address without user and password',
  ],
])('api.peers refuses %s', (peer, wanted) => {
  const [message] = read(`["${peer}"]`)
  expect(message).toContain(wanted)
  expect(message).not.toContain('secret')
})

test('api.peers refuses more nodes than the status page can show', () => {
  expect(read(JSON.stringify(Array.from({ length: 17 }, (_, i) => `http://10.0.0.${i + 1}:9655`)))).toEqual([
    expect.stringContaining('cannot use this value, expected at most 16 nodes'),
  ])
})
