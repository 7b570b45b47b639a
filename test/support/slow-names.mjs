/**
 * Runs a name server on 127.0.0.1 that answers every name with the address 127.0.0.1, after a delay of so many
 * milliseconds as argv gives.
 */
import { createSocket } from 'node:dgram'

const [thinks] = process.argv.slice(2)
const socket = createSocket('udp4')
socket.on('message', (query, from) => {
  const end = query.indexOf(0, 12) + 5
  const question = query.subarray(12, end)
  const isA = query.readUInt16BE(end - 4) === 1
  const head = Buffer.from(query.subarray(0, 12))
  head.writeUInt16BE(0x8180, 2)
  for (const [at, count] of [
    [4, 1],
    [6, isA ? 1 : 0],
    [8, 0],
    [10, 0],
  ])
    head.writeUInt16BE(count, at)
  const record = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 1, 0, 4, 127, 0, 0, 1])
  const reply = Buffer.concat(isA ? [head, question, record] : [head, question])
  setTimeout(() => socket.send(reply, from.port, from.address), Number(thinks))
})
socket.bind(53, '127.0.0.1', () => console.log('listening'))
