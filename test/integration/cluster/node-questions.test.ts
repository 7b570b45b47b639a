/** The operator's questions to a node: HAProxy's ports and a DNS server, on an address of loopback. */
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { expect, onTestFinished, test } from 'vitest'
import { nodeQuestions } from '../../../src/cluster/runtime/operator/node-questions.ts'
import { address } from '../../../src/wire/address.ts'

const NODE = address('127.9.27.1')
const OTHER = address('127.9.27.2')

test('HAProxy is ready if it answers 200, and closed only if both ports refuse', async () => {
  let status = 503
  const server = createServer((request, response) => {
    response.statusCode = request.url === '/haproxy_ready' ? status : 404
    response.end()
  })
  server.listen(9444, NODE)
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  expect([await nodeQuestions.isReady(NODE), await nodeQuestions.isClosed(NODE)]).toEqual([false, false])
  status = 200
  expect(await nodeQuestions.isReady(NODE)).toBe(true)
  expect([await nodeQuestions.isReady(OTHER), await nodeQuestions.isClosed(OTHER)]).toEqual([false, true])
})

test('a name is asked at the DNS server of the node, and a server that does not answer is a text', async () => {
  const socket = createSocket('udp4')
  const asked: string[] = []
  socket.on('message', (query, from) => {
    asked.push(query.subarray(12).toString('latin1'))
    // The DNS answer is: a pointer to the name of the question, type A, class IN, 60 s, 10.0.0.200.
    const question = query.subarray(12, query.indexOf(0, 12) + 5)
    const header = Buffer.from([...query.subarray(0, 2), 0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0])
    const answer = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 10, 0, 0, 200])
    socket.send(Buffer.concat([header, question, answer]), from.port, from.address)
  })
  socket.bind(53, NODE)
  await once(socket, 'listening')
  onTestFinished(() => void socket.close())
  expect(await nodeQuestions.names(NODE, 'api-int.ostest.example.com', 'ipv4')).toEqual(['10.0.0.200'])
  expect(asked.join()).toContain('ostest')
  expect(await nodeQuestions.names(OTHER, 'api-int.ostest.example.com', 'ipv4')).toBeTypeOf('string')
})
